"""Both thin paths on every convolutional net of the shelf: in each form it takes, it is one model."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import paddle
import pytest
from zoo_nets import CONVOLUTIONAL, SIDE, SLOW_TO_TRAIN, Zoo, proof, start_static, stop_static

from spokeshave.compress import Quantized
from spokeshave.compress.calibrating import prepare
from spokeshave.engines import OnnxRunner, to_onnx
from spokeshave.graph import GraphView, block_of, roundings
from spokeshave.ops import OPS
from spokeshave.program import for_inference, load
from spokeshave.quant import plan
from spokeshave.quant.moving import unchanged_source
from spokeshave.targets import TARGETS

# A sum in another order ends in the next code, a few in a million at first. A deep net that has hardly
# learned makes much of that, also where nothing is fused: 14 dB were left of the differences between samples.
# It stays below what the rounding itself changes.
LEAST_SNR_DB, LEAST_MARGIN_DB = 8.0, 3.0
# So the codes themselves are compared where nothing has grown yet.
EARLY, MOST_OTHER_CODES = 8, 0.005
# Each int8 channel brings a float scale and a bias, and in the narrowest nets a channel has few weights.
LEAST_SMALLER = 2.2

# What ONNX Runtime has no integer kernel for, or none that is faster.
RUN_IN_FLOAT = {"pd_op.hardswish", "pd_op.hardsigmoid", "pd_op.multiply", "pd_op.scale"}


every_net = pytest.mark.parametrize("zoo", CONVOLUTIONAL, indirect=True)
every_trained_net = pytest.mark.parametrize(
    "zoo",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_TO_TRAIN else []) for name in CONVOLUTIONAL],
    indirect=True,
)


@pytest.fixture(scope="module")
def zoo(request: pytest.FixtureRequest) -> Iterator[Zoo]:
    """Each net in turn; what is made of it goes when the next one comes."""
    with tempfile.TemporaryDirectory() as folder:
        paddle.seed(0)
        yield Zoo(request.param, Path(folder))


@pytest.fixture
def static_mode(zoo: Zoo) -> Iterator[None]:
    """Paddle as a script for Paddle 2 has it, once the net is trained as a layer."""
    assert zoo.model.view.inputs == ("image",)
    start_static()
    yield
    stop_static()


def snr_db(reference: Any, other: Any) -> float:
    """Signal to noise, where the signal is what tells one sample from another."""
    signal = reference - reference.mean(axis=0)
    noise = np.mean((other - reference).astype(np.float64) ** 2)
    return float(10 * np.log10(np.mean(signal.astype(np.float64) ** 2) / max(noise, 1e-30)))


def scores(runner: Any, images: Any) -> Any:
    return next(iter(runner.run({"image": images}).values()))


@every_net
def test_float_onnx_is_the_model_at_any_batch_and_size(zoo: Zoo) -> None:
    model = zoo.model
    runner = OnnxRunner(to_onnx(model.view, model.weights()).to_bytes())
    sides = (SIDE, 45) if model.inputs[0].shape[-1] < 0 else (SIDE,)
    for batch, side in [(1, SIDE), *((3, side) for side in sides)]:
        images = np.random.default_rng(side).random((batch, 1, side, side), np.float32)
        expected = scores(model, images)
        assert expected.shape == (batch, 10)
        # Sums of thousands of products in another order, through up to 56 layers.
        np.testing.assert_allclose(
            scores(runner, images), expected, rtol=1e-4, atol=1e-4 * abs(expected).max()
        )


@every_net
def test_calibrated_forms_agree(zoo: Zoo) -> None:
    result, (images, _) = zoo.quantized, proof()
    simulation, packed = (scores(m, images) for m in (result.simulation, result.packed))
    np.testing.assert_array_equal(packed, simulation)
    engine = scores(OnnxRunner(result.artifact.path), images)
    assert snr_db(simulation, engine) >= LEAST_SNR_DB
    rounding = snr_db(scores(zoo.model, images), simulation)
    assert snr_db(simulation, engine) >= rounding + LEAST_MARGIN_DB
    smaller = result.report.facts["weights_smaller_times"]
    assert isinstance(smaller, float)
    assert smaller > LEAST_SMALLER


@every_net
def test_the_engine_has_the_codes_of_the_simulation(zoo: Zoo) -> None:
    result, feed = zoo.quantized, {"image": proof()[0]}
    ours, theirs = (roundings(m.view)[:EARLY] for m in (result.simulation, result.packed))
    expected = result.simulation.run(feed, [r.out for r in ours])
    found = OnnxRunner(result.artifact.path).fetch(feed, [r.out for r in theirs])
    for ours_one, theirs_one in zip(ours, theirs):
        step = result.simulation.weight(ours_one.scale)
        others = np.rint((found[theirs_one.out] - expected[ours_one.out]) / step) != 0
        assert others.mean() <= MOST_OTHER_CODES


@every_net
def test_the_files_are_the_model(zoo: Zoo) -> None:
    result, (images, _) = zoo.quantized, proof()
    folder = result.artifact.path.parents[1]
    for form in ("float", "int8"):
        np.testing.assert_array_equal(scores(load(folder / form), images), scores(result.simulation, images))


@every_net
def test_every_layer_with_a_weight_runs_in_integers(zoo: Zoo, tmp_path: Path) -> None:
    result = zoo.quantized
    weighted = [node for node in zoo.model.view.nodes if _is_weighted(zoo.model.view, node)]
    kinds = Counter(reader.rsplit("_", 1)[0] for site in result.plan.weights for reader in site.readers)
    assert sum(kinds.values()) == len(weighted)
    fused = kernels(result, tmp_path)
    assert not {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"} & set(fused)
    assert fused["QLinearConv"] == kinds["conv2d"] + kinds["depthwise_conv2d"]
    assert fused["QGemm"] + fused["MatMulIntegerToFloat"] == kinds["matmul"]


@every_net
def test_nothing_stays_float_without_a_reason(zoo: Zoo) -> None:
    view = prepare(for_inference(zoo.model).owned())[0].view
    drawn = plan(view, TARGETS["onnxruntime"])
    served = {site.node for site in drawn.sites} | {reason.subject for reason in drawn.left_out}
    biases = {bias.add.id for bias in (block_of(view, node).bias for node in view.nodes) if bias}
    assert [n.id for n in view.nodes if n.id not in served | biases and _computes(view, n)] == []
    assert {view.node(reason.subject).op for reason in drawn.left_out} <= RUN_IN_FLOAT


@every_trained_net
def test_trained_forms_agree_to_the_bit(zoo: Zoo, static_mode: None) -> None:
    session, (images, labels) = zoo.session, proof()
    feed = {"image": images, "label": labels}
    expected = session.run(session.aware_test, feed, session.scores)[0]
    for program in session.converted():
        np.testing.assert_array_equal(session.run(program, feed, session.scores)[0], expected)
    assert np.isfinite(session.losses).all()
    plain = session.run(session.test, feed, session.scores)[0]
    assert snr_db(plain, expected) < 60  # the quantizers do something


@every_trained_net
def test_the_engine_runs_what_was_trained(zoo: Zoo, static_mode: None) -> None:
    session, result, (images, labels) = zoo.session, zoo.frozen, proof()
    feed = {"image": images, "label": labels}
    expected = session.run(session.aware_test, feed, session.scores)[0]
    np.testing.assert_array_equal(scores(result.simulation, images), expected)
    assert snr_db(expected, scores(OnnxRunner(result.artifact.path), images)) >= LEAST_SNR_DB
    weighted = [node for node in zoo.model.view.nodes if _is_weighted(zoo.model.view, node)]
    assert sum(len(site.readers) for site in result.plan.weights) == len(weighted)


def kernels(result: Quantized, folder: Path) -> Counter[str]:
    """The operators that ONNX Runtime is left with once it has fused what it can."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(str(result.artifact.path), options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node)


def _is_weighted(view: GraphView, node: Any) -> bool:
    weight = OPS[node.op].weight
    return weight is not None and view.is_parameter(node.operand(weight))


def _computes(view: GraphView, node: Any) -> bool:
    facts = OPS[node.op]
    return bool(facts.data) and not facts.is_activation and unchanged_source(view, node.out) is None
