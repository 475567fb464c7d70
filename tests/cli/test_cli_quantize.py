"""`quantize`: what it writes and says, and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from spokeshave.deploy import verifying
from spokeshave.files import check_sums
from spokeshave.report import Report

pytest_plugins = ["cli_fixtures"]

Run = Callable[..., Result]
FILES = ("float/model.json", "int8/model.pdiparams", "onnx/model.onnx", "plan.json", "report.json")


def test_the_folder_holds_the_promised_files(quantized: Path) -> None:
    assert [name for name in FILES if not (quantized / name).is_file()] == []
    check_sums(quantized / "SHA256SUMS")


def test_text_ends_with_one_line_of_where_size_and_accuracy(run: Run, lenet: Path, tmp_path: Path) -> None:
    result = run("quantize", lenet, "--data", "digits", "--limit", "64", "-o", tmp_path / "out")
    closing = result.stdout.splitlines()[-1]
    assert (result.exit_code, result.stderr) == (0, "")
    assert closing.startswith(f"Wrote {tmp_path / 'out'}: weights 246,440 -> 63,")
    assert "accuracy " in closing
    assert closing.endswith(" on 397 samples.")


def test_no_table_of_the_text_has_an_empty_column(run: Run, lenet: Path, tmp_path: Path) -> None:
    text = run("quantize", lenet, "--data", "digits", "--limit", "64", "-o", tmp_path / "out").stdout
    activations = [line for line in text.splitlines() if "  activation " in line]
    assert activations
    assert max(line.count(" -") for line in activations) <= 2  # its grid's lower end, and the axis


def test_json_on_stdout_is_the_report_that_was_written(run: Run, lenet: Path, tmp_path: Path) -> None:
    result = run("quantize", lenet, "--data", "digits", "--limit", "64", "-o", tmp_path / "out", "--json")
    assert result.stdout == (tmp_path / "out/report.json").read_text()
    assert Report.from_json(result.stdout.encode()).facts["agrees_with_simulation"] is True
    assert result.stderr.startswith("Wrote ")


def test_settings_reach_the_plan(run: Run, lenet: Path, tmp_path: Path) -> None:
    words = ("--exclude", "conv2d_0", "--exclude", "type:pool2d", "--target", "paddle")
    result = run("quantize", lenet, "--data", "digits", "--limit", "8", "-o", tmp_path / "out", *words)
    assert result.exit_code == 0
    plan = json.loads((tmp_path / "out/plan.json").read_text())
    assert plan["target"] == "paddle"
    assert "conv2d_0.w_0" not in [site["value"] for site in plan["sites"]]
    assert "excluded" in result.stdout


def test_without_labels_the_closing_line_tells_agreement(run: Run, lenet: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "pictures.npy", np.random.RandomState(0).rand(16, 1, 28, 28).astype(np.float32))
    result = run("quantize", lenet, "--data", tmp_path / "pictures.npy", "-o", tmp_path / "out")
    assert "of 16 samples in the same class as before" in result.stdout.splitlines()[-1]


def test_verify_data_is_what_it_is_verified_on(run: Run, lenet: Path, tmp_path: Path) -> None:
    words = ("--limit", "8", "--verify-data", "digits:all")
    result = run("quantize", lenet, "--data", "digits", "-o", tmp_path / "out", *words)
    assert result.stdout.splitlines()[-1].endswith(" on 1797 samples.")


def test_a_verdict_that_does_not_hold_is_written_and_exit_code_1(
    run: Run, lenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "LEAST_AGREEMENT", 1.1)
    result = run("quantize", lenet, "--data", "digits", "--limit", "8", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("does not hold: ")
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "out/onnx/model.onnx").is_file()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--data", "nowhere.npy"], "data-not-readable"),
        (["--data", "digits:none"], "unknown-name"),
        (["--data", "digits", "--include", "conv9*"], "rule-matched-nothing"),
        (["--data", "digits", "--target", "openvno"], "unknown-name"),
        (["--data", "digits", "--observer", "abs"], "unknown-name"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    run: Run, lenet: Path, tmp_path: Path, words: list[str], code: str
) -> None:
    result = run("quantize", lenet, "-o", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error [{code}]: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_elses_is_refused(run: Run, lenet: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = run("quantize", lenet, "--data", "digits", "--limit", "8", "-o", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("error [folder-holds-other-files]: ")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
