"""`verify`: a folder that is as it was passes, one that is not is told apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import spokeshave
from spokeshave.cli import verify
from spokeshave.errors.cli import NotAQuantizedFolder
from spokeshave.files import write_sums

pytest_plugins = ["cli_fixtures"]

Run = Callable[..., Result]


@pytest.fixture
def copied(quantized: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(quantized, tmp_path / "copied"))


def test_what_quantize_wrote_passes_with_the_same_figures(run: Run, lenet: Path, quantized: Path) -> None:
    result = run("verify", lenet, quantized, "--data", "digits:test", "--json")
    assert result.exit_code == 0
    again, first = json.loads(result.stdout)["facts"], json.loads((quantized / "report.json").read_text())
    assert again == {name: first["facts"][name] for name in again}


def test_text_ends_with_one_line(run: Run, lenet: Path, quantized: Path) -> None:
    result = run("verify", lenet, quantized, "--data", "digits:test", "--limit", "50")
    assert result.stdout.splitlines()[-1].startswith(f"Checked {quantized}: accuracy ")
    assert result.stdout.endswith(" on 50 samples.\n")


def test_a_changed_file_is_found_before_anything_runs(run: Run, lenet: Path, copied: Path) -> None:
    with (copied / "onnx/model.onnx").open("ab") as file:
        file.write(b"\0")
    result = run("verify", lenet, copied, "--data", "nowhere.npy")
    assert result.exit_code == 2
    assert result.stderr.startswith("error [checksum-wrong]: ")


def test_another_simulation_than_the_onnx_file_does_not_hold(
    run: Run, lenet: Path, other_lenet: Path, copied: Path
) -> None:
    spokeshave.save(spokeshave.load(other_lenet), copied / "float/model")
    files = [path for path in copied.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    write_sums(copied / "SHA256SUMS", files)
    result = run("verify", lenet, copied, "--data", "digits:test")
    assert result.exit_code == 1
    assert result.stderr.startswith("does not hold: ")
    assert "agrees with simulation: no" in result.stdout


@pytest.mark.parametrize("name", ["SHA256SUMS", "float/model.json", "onnx/model.onnx"])
def test_another_folder_is_refused(lenet: Path, copied: Path, name: str) -> None:
    (copied / name).unlink()
    words = [str(lenet), str(copied), "--data", "digits"]
    with pytest.raises(NotAQuantizedFolder, match=name):
        verify.command.main(words, standalone_mode=False)


def test_a_folder_that_is_not_there_is_one_line(run: Run, lenet: Path) -> None:
    result = run("verify", lenet, "nowhere", "--data", "digits")
    assert result.exit_code == 2
    assert result.stderr.startswith("error [not-a-quantized-folder]: nowhere is not a folder that")
