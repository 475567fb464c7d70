"""From a float model to INT8 in one call: proven by engines that know nothing of this package."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import paddle
import pytest
from e2e_nets import NETS, Nets, build, save

import spokeshave
from spokeshave import models
from spokeshave.data import digits
from spokeshave.quant import QuantPlan

pytest_plugins = ["e2e_nets"]
LEAST_AGREEMENT = 0.995  # an engine's sums may differ in the last bit and end in the next code
MOST_LOST = 0.005

every_net = pytest.mark.parametrize("name", NETS)


def in_onnxruntime(path: Path, images: Any, **options: Any) -> list[Any]:
    session_options = onnxruntime.SessionOptions()
    session_options.log_severity_level = 4
    for option, value in options.items():
        setattr(session_options, option, value)
    session = onnxruntime.InferenceSession(str(path), session_options, providers=["CPUExecutionProvider"])
    return list(session.run(None, {"image": images}))


def in_paddle(prefix: Path, images: Any) -> list[Any]:
    """What Paddle's own loader and Executor make of a saved model."""
    paddle.enable_static()
    try:
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor = paddle.static.Executor(paddle.CPUPlace())
            program, _, outputs = paddle.static.load_inference_model(str(prefix), executor)
            return list(executor.run(program, feed={"image": images}, fetch_list=outputs))
    finally:
        paddle.disable_static()


def hits(scores: Any, labels: Any) -> float:
    return float((scores.argmax(axis=1) == labels[:, 0]).mean())


@every_net
def test_the_engine_agrees_with_the_simulation(nets: Nets, name: str) -> None:
    _, out = nets.quantized(name)
    images, _ = digits("test")
    engine = in_onnxruntime(out / "onnx/model.onnx", images)
    simulation, packed = (in_paddle(out / form / "model", images) for form in ("float", "int8"))
    assert len(engine) == len(simulation) == len(packed)
    for ours, theirs, bits in zip(engine, simulation, packed):
        assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() >= LEAST_AGREEMENT
        np.testing.assert_array_equal(theirs, bits)


@every_net
def test_little_accuracy_is_lost(nets: Nets, name: str) -> None:
    # All digits: of the 397 that are held out, two are half a point already.
    images, labels = digits("all")
    plain = in_paddle(nets.trained(name) / "model", images)
    engine = in_onnxruntime(nets.quantized(name)[1] / "onnx/model.onnx", images)
    assert hits(plain[0], labels) > 0.85
    assert hits(engine[0], labels) >= hits(plain[0], labels) - MOST_LOST


@every_net
def test_the_verdict_says_what_the_engines_show(nets: Nets, name: str) -> None:
    result, out = nets.quantized(name)
    images, labels = digits("test")
    engine = in_onnxruntime(out / "onnx/model.onnx", images)
    assert result.verdict.holds
    assert result.verdict.accuracy == pytest.approx(hits(engine[0], labels), abs=1.5 / len(labels))
    for output in result.verdict.to_simulation.outputs:
        assert (output.top1_agreement or 0) >= LEAST_AGREEMENT
    assert [row.did for row in result.report.rows].count("against simulation") == len(engine)


@every_net
def test_the_engine_computes_in_integers(nets: Nets, name: str, tmp_path: Path) -> None:
    result, out = nets.quantized(name)
    optimized = tmp_path / "optimized.onnx"
    in_onnxruntime(out / "onnx/model.onnx", digits("test")[0][:1], optimized_model_filepath=str(optimized))
    kinds = Counter(node.op_type for node in onnx.load(optimized).graph.node)
    assert not {"Conv", "Gemm", "MatMul", "FusedConv", "FusedGemm", "FusedMatMul"} & set(kinds), kinds
    weights = {site.value: site for site in result.plan.weights}
    readers = [reader for site in weights.values() for reader in site.readers]
    convs = sum("conv2d" in reader for reader in readers)
    assert kinds["QLinearConv"] == convs
    assert kinds["QGemm"] + kinds["MatMulIntegerToFloat"] == len(readers) - convs
    # ONNX Runtime 1.19 leaves the one behind the input standing beside it.
    assert kinds["DequantizeLinear"] <= (1 if onnxruntime.__version__.startswith("1.19.") else 0)
    if name == "third":
        assert kinds["QLinearAdd"] == kinds["QLinearConcat"] == kinds["QLinearAveragePool"] == 1


@every_net
def test_every_layer_with_a_weight_is_quantized(nets: Nets, name: str) -> None:
    result, _ = nets.quantized(name)
    layers = {"lenet": 5, "mobilenet_v1": 28, "third": 7}
    assert len(result.plan.weights) == layers[name]
    assert [r.code for r in result.plan.left_out] == []
    assert result.artifact.reasons == ()


@every_net
def test_weights_take_about_a_quarter_of_the_bytes(nets: Nets, name: str) -> None:
    _, out = nets.quantized(name)
    before = (nets.trained(name) / "model.pdiparams").stat().st_size
    after = (out / "int8/model.pdiparams").stat().st_size
    # Every channel brings a scale and a bias of 4 bytes, and a depthwise channel has 9 weights only.
    least = {"lenet": 3.8, "mobilenet_v1": 3.2, "third": 3.4}[name]
    assert least < before / after < 4.2


def test_transposed_products_of_either_kind_are_quantized_along_their_outputs(nets: Nets) -> None:
    result, _ = nets.quantized("third")
    transposed = {s.value: s for s in result.plan.weights if s.node.startswith("matmul") and s.axis == 0}
    shapes = {result.packed.parameters[f"{value}.int8"][0] for value in transposed}
    assert shapes == {(24, 588), (10, 24)}


def test_the_same_model_gives_the_same_bytes_in_another_process(nets: Nets, tmp_path: Path) -> None:
    result, out = nets.quantized("third")
    paths = str(nets.trained("third")), str(tmp_path / "o")
    call = f"import spokeshave; spokeshave.quantize({paths[0]!r}, 'digits', {paths[1]!r})"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "GLOG_minloglevel": "2"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", call], check=True, env=environment, capture_output=True
    )
    assert result.artifact.path.is_file()
    files = sorted(f.relative_to(out) for f in out.rglob("*") if f.is_file())
    assert files == sorted(f.relative_to(tmp_path / "o") for f in (tmp_path / "o").rglob("*") if f.is_file())
    for file in files:
        assert (tmp_path / "o" / file).read_bytes() == (out / file).read_bytes(), file


def test_the_sums_are_those_that_sha256sum_checks(nets: Nets) -> None:
    _, out = nets.quantized("lenet")
    lines = [line.split("  ") for line in (out / "SHA256SUMS").read_text("utf-8").splitlines()]
    assert {name for _, name in lines} == {
        f.relative_to(out).as_posix() for f in out.rglob("*") if f.is_file() and f.name != "SHA256SUMS"
    }
    for digest, name in lines:
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest


def test_a_plan_edited_by_hand_is_applied(nets: Nets, tmp_path: Path) -> None:
    result, out = nets.quantized("lenet")
    text = (out / "plan.json").read_text("utf-8")
    (tmp_path / "plan.json").write_text(text.replace('"bits": 8', '"bits":  8'), "utf-8")
    assert QuantPlan.load(tmp_path / "plan.json") == result.plan


def test_pictures_of_full_size_from_a_file(tmp_path: Path) -> None:
    with paddle.utils.unique_name.guard():
        net = models.create("mobilenet_v1", num_classes=10, scale=0.25)
    folder = save(net, tmp_path / "net", 224, 3)
    images = np.random.RandomState(0).rand(8, 3, 224, 224).astype(np.float32)
    np.save(tmp_path / "images.npy", images)
    result = spokeshave.quantize(folder, tmp_path / "images.npy", tmp_path / "out")
    assert result.verdict.samples == 8
    assert result.verdict.holds
    assert [o.shape for o in in_onnxruntime(tmp_path / "out/onnx/model.onnx", images)] == [(8, 10)]


def test_the_batch_stays_open(nets: Nets) -> None:
    _, out = nets.quantized("third")
    images = digits("test")[0]
    whole = in_onnxruntime(out / "onnx/model.onnx", images[:6])[0]
    parts = [in_onnxruntime(out / "onnx/model.onnx", images[i : i + 1])[0] for i in range(6)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-5)


def test_a_model_in_hand_is_quantized_as_its_files_are(nets: Nets, tmp_path: Path) -> None:
    _, out = nets.quantized("third")
    spokeshave.quantize(spokeshave.load(nets.trained("third")), "digits", tmp_path / "out")
    for file in ("plan.json", "onnx/model.onnx", "int8/model.pdiparams"):
        assert (tmp_path / "out" / file).read_bytes() == (out / file).read_bytes()


def test_nets_are_built_under_the_same_names_each_time() -> None:
    names = [[p.name for p in build("third").parameters()] for _ in range(2)]
    assert names[0] == names[1]
