"""`demo`: what a newcomer runs first, and the examples of all commands that build on its files."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import Result

from spokeshave.cli import _training
from spokeshave.cli._training import steps, untrained
from spokeshave.cli.main import group
from spokeshave.data import digits
from spokeshave.files import check_sums

pytest_plugins = ["cli_fixtures"]

Run = Callable[..., Result]
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = group.list_commands(click.Context(group))


def example_of(name: str) -> list[str]:
    """The words of the example in a command's help."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    found = re.findall(r"Example:\n +spokeshave (.+)", command.help or "")
    assert len(found) == 1
    return shlex.split(found[0])


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder where the demo's own example was run, shortened, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from spokeshave.cli.main import main; main()"
    words = [*example_of("demo"), "--steps", "60"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, cwd=folder
    )
    return folder, done


def test_it_compares_size_accuracy_and_latency(
    shown: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    done = shown[1]
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"LeNet: accuracy +\d\d\.\d\d% +\d\d\.\d\d% +[+-]\d\.\d\d points", done.stdout)
    assert re.search(r"LeNet: ONNX file .+ 3\.\d\dx smaller", done.stdout)
    assert (
        len(re.findall(r"one picture +[\d.]+ ms \([\d.]+ - [\d.]+\) .+x (?:fast|slow)er", done.stdout)) == 2
    )
    assert "both in ONNX Runtime, batch 1, one thread" in done.stdout


def test_it_keeps_what_it_promised(shown: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    kept = shown[0] / "demo"
    names = {path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()}
    assert {"lenet.json", "lenet.pdiparams", "lenet.onnx", "quantized/onnx/model.onnx"} <= names
    check_sums(kept / "SHA256SUMS")
    assert [path.name for path in shown[0].iterdir()] == ["demo"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_the_example_in_the_help_runs(
    run: Run,
    shown: tuple[Path, subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(shown[0])
    assert run(*example_of(name)).exit_code == 0


def test_it_refuses_a_folder_with_other_files_before_it_trains(run: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("error [folder-holds-other-files]: ")
    assert "Training" not in result.stdout


def test_training_goes_the_same_way_every_time() -> None:
    images, labels = digits("train")
    runs = [list(steps(untrained("lenet", 3), images, labels, 30, 3)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert np.mean(runs[0][-5:]) < np.mean(runs[0][:5]) / 2


def test_every_picture_is_seen_once_before_one_is_seen_twice() -> None:
    batches = list(_training._batches(128, 4, seed=0))
    for epoch in (batches[:2], batches[2:]):
        assert sorted(np.concatenate(epoch)) == list(range(128))
