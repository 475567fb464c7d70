"""The reference pages say what the code says, and every figure comes from a benchmark's file."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from walking import ROOT, check_none, plant

RESULT = {
    "machine": {"cpu": "Some CPU", "cores": 2},
    "rows": [
        {"case": "LeNet, batch 1", "metric": "speed", "value": 2.06249, "spread": 0.1, "unit": "x"},
        {"case": "lenet", "metric": "time", "value": 12, "unit": "ms"},
    ],
}


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """`docs/build.py`, which is a script and lies in no package."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_build(*options: str) -> tuple[int, list[str]]:
    """Its exit code and what it printed; where it printed nothing and failed, what it said of the failure."""
    command = [sys.executable, str(ROOT / "docs/build.py"), *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    # Paddle warns on stderr while it loads, so that only a failure makes it worth reading.
    said = answer.stdout or (answer.stderr if answer.returncode else "")
    return answer.returncode, said.splitlines()


def with_readme(root: Path, text: str) -> Path:
    return plant(root, {"README.md": text, "benchmarks/results/speed.json": json.dumps(RESULT)})


def test_the_pages_in_the_repository_are_current() -> None:
    code, said = run_build("--check")
    check_none(said if code else [])


def test_a_stale_page_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path))
    assert run_build(*out)[0] == 0
    assert run_build("--check", *out) == (0, [])
    page = tmp_path / "docs/reference/errors.md"
    page.write_text(page.read_text("utf-8") + "more\n", "utf-8")
    code, said = run_build("--check", *out)
    assert (code, said[1:]) == (1, ["  docs/reference/errors.md"])
    assert page.read_text("utf-8").endswith("more\n")


def test_a_page_that_lost_its_source_goes_away(build: ModuleType, tmp_path: Path) -> None:
    plant(tmp_path, {"docs/reference/gone.md": build.MARK, "docs/reference/own.md": "written by hand"})
    stale = build.stale_pages(tmp_path, {})
    assert stale == ["docs/reference/gone.md"]
    build.write(tmp_path, {}, stale)
    assert [path.name for path in (tmp_path / "docs/reference").iterdir()] == ["own.md"]


def test_a_figure_comes_with_unit_and_machine(build: ModuleType, tmp_path: Path) -> None:
    before = "It is <!-- figure: speed.json 'LeNet, batch 1' speed -->old<!-- /figure --> faster."
    pages = build.with_figures(with_readme(tmp_path, before))
    assert pages == {"README.md": before.replace("old", "2.062x (Some CPU, 2 cores)")}


def test_filling_in_twice_changes_nothing(build: ModuleType, tmp_path: Path) -> None:
    text = "<!-- figure: speed.json lenet time --><!-- /figure -->"
    once = build.with_figures(with_readme(tmp_path, text))["README.md"]
    assert "12 ms (Some CPU, 2 cores)" in once
    assert build.with_figures(with_readme(tmp_path, once))["README.md"] == once


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("slow.json a b", "slow.json does not exist"),
        ("speed.json a b", "0 rows"),
        ("speed.json a", "not 'speed"),
    ],
)
def test_a_figure_without_a_source_is_refused(
    build: ModuleType, tmp_path: Path, figure: str, words: str
) -> None:
    root = with_readme(tmp_path, f"<!-- figure: {figure} -->1<!-- /figure -->")
    with pytest.raises(build.FigureMissing, match=words):
        build.with_figures(root)


def test_a_page_without_figures_is_nobody_elses_business(build: ModuleType, tmp_path: Path) -> None:
    assert build.with_figures(with_readme(tmp_path, "No number here.")) == {}


def test_every_error_and_op_has_its_entry(build: ModuleType) -> None:
    pages = build.all_pages(ROOT)
    assert "## unknown-name\n" in pages["docs/reference/errors.md"]
    assert "| `pd_op.matmul` | mixes | x | y | any |" in pages["docs/reference/ops.md"]
    assert "[Every op](reference/ops.md)" in pages["docs/README.md"]


def test_the_drawing_leaves_out_arrows_that_follow_from_others(build: ModuleType) -> None:
    arrows: dict[str, list[str]] = {"floor": [], "middle": ["floor"], "top": ["floor", "middle"]}
    assert build._direct(arrows["top"], arrows) == ["middle"]


def test_a_command_is_shown_with_its_options(build: ModuleType) -> None:
    options = [
        click.Argument(["model"]),
        click.Option(["--kind"], type=click.Choice(["a", "b"]), help="Which."),
    ]
    command = click.Command("cut", params=options, help="Cuts.\n\n    \b\n    Clean.")
    page = build._cli_page(click.Group("house", commands={"cut": command}, help="All of it."))
    assert page.startswith("# Every command\n\nAll of it.\n\n## cut\n")
    assert "spokeshave cut [OPTIONS] MODEL" in page
    assert "\nCuts.\n\nClean.\n" in page
    assert "| `--kind [a\\|b]` | Which. |" in page


def test_headings_of_docstrings_go_below_those_of_the_page(build: ModuleType) -> None:
    assert build._lowered("## Why\nC# is # no heading", 1) == "### Why\nC# is # no heading"
