"""`list`: every shelf has its kind, and a plug-in shows up by being there."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from spokeshave.cli._shelves import KINDS
from spokeshave.quant import observers
from spokeshave.quant.observers import OBSERVERS

Run = Callable[..., Result]
PACKAGE = Path(__file__).resolve().parents[2] / "spokeshave"

MEDIAN = '''
"""Half of what was seen lies below."""
from spokeshave.quant.observers import Observer

pytest_plugins = ["cli_fixtures"]

class Median(Observer):
    """The magnitude in the middle. A second sentence."""

    name = "median"

    def _take(self, magnitudes):
        pass

    def _bound(self):
        return 1.0
'''


def test_every_shelf_of_the_package_has_its_kind() -> None:
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    shelves = {name for text in texts for name in re.findall(r"^(\w+): Shelf\[", text, re.M)}
    assert shelves
    assert {kind.home.partition(":")[2] for kind in KINDS} == shelves | {"engines"}


def test_without_a_kind_all_are_counted(run: Run) -> None:
    counted = json.loads(run("list", "--json").stdout)
    assert [kind["name"] for kind in counted] == sorted(kind.name for kind in KINDS)
    assert all(
        kind["count"] == len(json.loads(run("list", kind["name"], "--json").stdout)) for kind in counted
    )
    assert all(kind["count"] for kind in counted)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_each_plug_in_has_a_sentence(run: Run, kind: str) -> None:
    entries = json.loads(run("list", kind, "--json").stdout)
    assert [entry["name"] for entry in entries if not entry["doc"] or "\n" in entry["doc"]] == []


@pytest.mark.parametrize(
    ("kind", "name", "doc"),
    [
        ("observers", "abs-max", "The largest magnitude seen."),
        ("ops", "pd_op.matmul", "`x @ y`."),
        ("models", "lenet", "LeNet for 28-pixel pictures, 61,610 parameters"),
        ("quantizers", "abs-max", "The largest magnitude of the tensor as it is"),
    ],
)
def test_the_sentence_is_the_first_of_its_page(run: Run, kind: str, name: str, doc: str) -> None:
    lines = run("list", kind).stdout.splitlines()
    assert [line for line in lines if re.match(rf"{re.escape(name)}  +{re.escape(doc)}", line)] != []


def test_an_observer_is_listed_by_being_a_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "median.py").write_text(MEDIAN)
    assert "median" not in OBSERVERS
    monkeypatch.setattr(observers, "__path__", [*observers.__path__, str(tmp_path)])
    monkeypatch.delitem(OBSERVERS.__dict__, "_items")
    try:
        listed = run("list", "observers").stdout
    finally:
        sys.modules.pop("spokeshave.quant.observers.median", None)
    assert re.search(r"^median   The magnitude in the middle\.$", listed, re.M)


def test_an_unknown_kind_is_an_error_with_the_nearest(run: Run) -> None:
    result = run("list", "observer")
    assert result.exit_code == 2
    assert result.stderr == (
        "error [unknown-name]: There is no kind of plug-in named 'observer'. Nearest: observers.\n"
    )
