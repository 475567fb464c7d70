"""The runner on ONNX Runtime: what it gives, what it fetches, what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spokeshave.engines import OnnxRunner, Runner, to_onnx
from spokeshave.errors.engines import (
    EngineFileMissing,
    InputMismatch,
    InputMissing,
    InputUnknown,
    NotAnOnnxFile,
    RunFailed,
    RunnerClosed,
    ValueNotInEngine,
)
from spokeshave.graph import ViewBuilder

Array = np.ndarray[Any, Any]


def model() -> bytes:
    """`softmax(dropout(relu(x @ w + b)))`, the dropout in test mode."""
    build = ViewBuilder()
    x, w, b = build.input("x", (-1, 4)), build.parameter("w", (4, 3)), build.parameter("b", (3,))
    y = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 3)})
    y = build.node("pd_op.add", {"x": y, "y": b}, {"out": (-1, 3)})
    y = build.node("pd_op.relu", {"x": y}, {"out": (-1, 3)})
    y = build.node("pd_op.dropout", {"x": y}, {"out": (-1, 3)}, {"is_test": True, "mode": "upscale_in_train"})
    y = build.node("pd_op.softmax", {"x": y}, {"out": (-1, 3)}, {"axis": -1})
    return to_onnx(build.view({"y": y}), WEIGHTS).to_bytes()


WEIGHTS = {"w": np.arange(12, dtype=np.float32).reshape(4, 3) - 5, "b": np.ones(3, np.float32)}
X = np.array([[1, -1, 0.5, 2], [0, 1, 2, -3]], np.float32)
LINEAR = X @ WEIGHTS["w"] + WEIGHTS["b"]


def test_run_gives_the_outputs_by_name() -> None:
    runner: Runner = OnnxRunner(model(), threads=1)
    assert (runner.engine, runner.inputs, runner.outputs) == ("onnxruntime", ("x",), ("y",))
    exponentials = np.exp(np.maximum(LINEAR, 0))
    expected = exponentials / exponentials.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(runner.run({"x": X})["y"], expected, rtol=1e-5, atol=1e-7)


def test_fetch_gives_inner_values_by_the_ids_of_the_view() -> None:
    runner = OnnxRunner(model())
    found = runner.fetch({"x": X}, ["relu_0.out", "dropout_0.out", "add_0.out", "softmax_0.out", "x", "y"])
    np.testing.assert_allclose(found["add_0.out"], LINEAR, rtol=1e-6)
    np.testing.assert_allclose(found["relu_0.out"], np.maximum(LINEAR, 0), rtol=1e-6)
    np.testing.assert_array_equal(found["dropout_0.out"], found["relu_0.out"])
    np.testing.assert_array_equal(found["softmax_0.out"], runner.run({"x": X})["y"])
    np.testing.assert_array_equal(found["y"], found["softmax_0.out"])
    np.testing.assert_array_equal(found["x"], X)


def test_fetching_the_same_values_opens_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, opened = OnnxRunner(model()), list[object]()
    open_again = runner._open

    def counted(source: Any) -> Any:
        opened.append(source)
        return open_again(source)

    monkeypatch.setattr(runner, "_open", counted)
    for values in (["relu_0.out", "add_0.out"], ["add_0.out", "relu_0.out"], ["x"]):
        runner.fetch({"x": X}, values)
    assert len(opened) == 1


def test_a_value_that_was_fused_away_is_named_with_its_nearest() -> None:
    with pytest.raises(ValueNotInEngine, match=r"matmul_0\.out"):
        OnnxRunner(model()).fetch({"x": X}, ["matmul_0.out"])


def test_a_file_runs_as_its_bytes_do(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model())
    found, expected = OnnxRunner(path), OnnxRunner(model())
    np.testing.assert_array_equal(found.run({"x": X})["y"], expected.run({"x": X})["y"])
    np.testing.assert_allclose(found.fetch({"x": X}, ["add_0.out"])["add_0.out"], LINEAR, rtol=1e-6)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.onnx", tmp_path):
        with pytest.raises(EngineFileMissing, match=str(path)) as caught:
            OnnxRunner(path)
        assert isinstance(caught.value, FileNotFoundError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no model at all", model()[:-20], model()[:60]])
def test_a_file_that_is_no_onnx_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(NotAnOnnxFile, match=r"broken\.onnx"):
        OnnxRunner(path)


def test_bytes_that_are_no_onnx_are_refused() -> None:
    with pytest.raises(NotAnOnnxFile, match="5 bytes in memory"):
        OnnxRunner(b"wrong")


@pytest.mark.parametrize("method", ["run", "fetch"])
def test_a_feed_that_does_not_fit_is_refused_before_the_engine_sees_it(method: str) -> None:
    runner = OnnxRunner(model())

    def feed(**arrays: Any) -> None:
        runner.run(arrays) if method == "run" else runner.fetch(arrays, ["relu_0.out"])

    with pytest.raises(InputMismatch, match=r"float32 \[any, 4\], was given float64 \[2, 4\]"):
        feed(x=X.astype(np.float64))
    with pytest.raises(InputMismatch, match=r"was given float32 \[2, 5\]"):
        feed(x=np.zeros((2, 5), np.float32))
    with pytest.raises(InputMismatch, match=r"was given float32 \[4\]"):
        feed(x=X[0])
    with pytest.raises(InputMismatch, match="a list"):
        feed(x=X.tolist())
    with pytest.raises(InputMissing, match=r"'x' \(float32 \[any, 4\]\)"):
        feed()
    with pytest.raises(InputUnknown, match="Nearest: x"):
        feed(x=X, label=X)


def test_a_shape_that_fits_one_batch_only_is_reported() -> None:
    build = ViewBuilder()
    shape = build.node("pd_op.full_int_array", {}, {"out": (2,)}, {"value": (2, 2)}, dtype="int64")
    y = build.node("pd_op.reshape", {"x": build.input("x", (-1, 4)), "shape": shape}, {"out": (2, 2)})
    runner = OnnxRunner(to_onnx(build.view({"y": y}), {}).to_bytes())
    assert runner.run({"x": X[:1]})["y"].shape == (2, 2)
    with pytest.raises(RunFailed, match="onnxruntime"):
        runner.run({"x": X})


def test_a_closed_runner_says_so() -> None:
    runner = OnnxRunner(model())
    runner.close()
    with pytest.raises(RunnerClosed):
        runner.run({"x": X})
    with pytest.raises(RunnerClosed):
        runner.fetch({"x": X}, ["relu_0.out"])
