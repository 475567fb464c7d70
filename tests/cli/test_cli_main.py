"""The door: what it costs to ask for help, how failures are told, how things may be spelt."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

import spokeshave
from spokeshave.cli.main import group
from spokeshave.errors.engines import NotAnOnnxFile

Run = Callable[..., Result]
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = group.list_commands(click.Context(group))
inspect_module = importlib.import_module("spokeshave.cli.inspect")

# Modules that were imported before would hide a heavy import, so this runs in a fresh interpreter.
WITHOUT_ENGINES = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"paddle", "onnx", "onnxruntime"}:
            raise ImportError(f"needs {name}")

sys.meta_path.insert(0, Blocker())
from click.testing import CliRunner
from spokeshave.cli.main import group
from spokeshave.errors.engines import NotAnOnnxFile

pytest_plugins = ["cli_fixtures"]
for line in sys.argv[1:]:
    result = CliRunner().invoke(group, line.split())
    if result.exit_code:
        print(line, result.output, result.exception)
"""


def process(*words: str, code: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "spokeshave.cli"]
    return subprocess.run(
        [sys.executable, *start, *words], capture_output=True, text=True, check=False, cwd=ROOT
    )


def fail_with(error: BaseException) -> Callable[..., None]:
    def portrait_of(*_: object) -> None:
        raise error

    return portrait_of


def test_all_commands_are_there() -> None:
    assert {"demo", "doctor", "inspect", "list", "quantize", "verify"} <= set(COMMANDS)


def test_help_and_light_commands_import_no_engine() -> None:
    helps = ["--help", "--version", *(f"{name} --help" for name in COMMANDS)]
    light = ["doctor --json", "list targets", "list observers", "list ops", "list engines"]
    answer = process(*helps, *light, code=WITHOUT_ENGINES)
    assert (answer.returncode, answer.stdout) == (0, "")


def test_a_command_is_a_file(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "import click\n@click.command\ndef command() -> None:\n    'Planes.'\n    click.echo('planed')\n"
    (tmp_path / "plane.py").write_text(text)
    package = importlib.import_module("spokeshave.cli")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    try:
        assert run("plane").output == "planed\n"
        assert "plane " in run("--help").output
    finally:
        sys.modules.pop("spokeshave.cli.plane", None)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_opens_with_a_sentence_that_the_overview_shows_whole(run: Run, name: str) -> None:
    first = run(name, "--help").output.split("\n\n")[1].strip()
    assert first.endswith(".")
    assert first in run("--help").output


def test_the_version_is_the_packages(run: Run) -> None:
    assert run("--version").output == f"spokeshave {spokeshave.__version__}\n"


def test_a_known_failure_is_one_line_and_exit_code_2() -> None:
    answer = process("inspect", "nowhere")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error [model-not-found]: No Paddle model at nowhere")
    assert answer.stderr.count("\n") == 1


def test_a_failure_of_several_lines_is_told_in_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = NotAnOnnxFile(file="model.onnx", detail="first\n  second")
    monkeypatch.setattr(inspect_module, "portrait_of", fail_with(told))
    result = run("inspect", "x")
    assert "first second" in result.stderr
    assert result.stderr.count("\n") == 1


def test_paddles_own_notes_stay_out(lenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOG_minloglevel")
    answer = process("quantize", str(lenet), "--data", "digits", "--limit", "8", "-o", str(tmp_path / "out"))
    assert (answer.returncode, answer.stderr) == (0, "")


def test_the_level_of_paddles_notes_that_was_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOG_minloglevel", "1")
    code = "import os; from spokeshave.cli import main; main._quiet_paddle(); print(os.environ)"
    assert "'GLOG_minloglevel': '1'" in process(code=code).stdout


def test_an_unexpected_error_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    surprise = ZeroDivisionError("surprise")
    monkeypatch.setattr(inspect_module, "portrait_of", fail_with(surprise))
    assert run("inspect", "x").exception is surprise


def test_an_import_that_fails_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    surprise = ImportError("broken")
    monkeypatch.setattr(inspect_module, "portrait_of", fail_with(surprise))
    assert run("inspect", "x").exception is surprise


def interrupted_import() -> ImportError:
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), interrupted_import()])
def test_an_interruption_is_one_line_and_exit_code_130(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(inspect_module, "portrait_of", fail_with(error))
    result = run("inspect", "x")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\nInterrupted.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["quantise"], "There is no command 'quantise'. Nearest: quantize."),
        (["inspect"], "Missing argument 'MODEL'"),
        (["inspect", "x", "y"], "unexpected extra argument"),
        (["inspect", "x", "--jsn"], "--json"),
        (["quantize", "x", "--data", "digits"], "--output"),
        (["quantize", "x", "--data", "digits", "-o", "y", "--limit", "0"], "'--limit'"),
        (["quantize", "x", "--data", "digits", "-o", "y", "--batch-size", "many"], "'--batch-size'"),
        (["--nope"], "No such option"),
    ],
)
def test_wrong_arguments_show_the_usage_and_what_is_nearest(run: Run, words: list[str], says: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: spokeshave")
    assert says in result.stderr


def test_options_take_dashes_and_underscores(run: Run) -> None:
    words = ("quantize", "nowhere", "--data", "digits", "--save_path", "y", "--batch_size", "2")
    assert "model-not-found" in run(*words, "--verify_data", "digits").stderr
    assert "model-not-found" in run(*(word.replace("_", "-") for word in words)).stderr


def test_a_reader_that_goes_away_is_no_noise() -> None:
    listing = subprocess.Popen(
        [sys.executable, "-m", "spokeshave.cli", "list", "ops"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert listing.stdout is not None
    listing.stdout.close()
    assert listing.stderr is not None
    assert listing.stderr.read() == b""
    listing.stderr.close()
    listing.wait()
