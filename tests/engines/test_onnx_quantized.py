"""Quantizers of a program become Q/DQ pairs that compute the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from spokeshave.engines import Written, to_onnx
from spokeshave.errors.engines import GridNotExportable, ScaleNotExportable
from spokeshave.graph import ViewBuilder

Array = np.ndarray[Any, Any]
Bounds = tuple[float, float]

CONV = {
    "strides": (1, 1),
    "paddings": (1, 1),
    "dilations": (1, 1),
    "groups": 1,
    "padding_algorithm": "EXPLICIT",
    "data_format": "NCHW",
}


class Net:
    """A view that is being built, with its weights."""

    def __init__(self) -> None:
        self.build = ViewBuilder()
        self.weights: dict[str, Array] = {}
        self.last = ""

    def parameter(self, name: str, array: Array) -> str:
        self.weights[name] = array
        return self.build.parameter(name, array.shape, str(array.dtype))

    def number(self, value: float) -> str:
        return self.build.node("pd_op.full", {}, {"out": (1,)}, {"shape": (1,), "value": value})

    def fake_quant(
        self, x: str, shape: tuple[int, ...], scale: str, bounds: Bounds, *, flip: bool = False
    ) -> str:
        """The four steps of a quantizer; `flip` writes the last product the other way round."""
        out = {"out": shape}
        divided = self.build.node("pd_op.divide", {"x": x, "y": scale}, out)
        rounded = self.build.node("pd_op.round", {"x": divided}, out, {"decimals": 0})
        lo, hi = self.number(bounds[0]), self.number(bounds[1])
        clipped = self.build.node("pd_op.clip", {"x": rounded, "min": lo, "max": hi}, out)
        sides = (scale, clipped) if flip else (clipped, scale)
        return self.build.node("pd_op.multiply", {"x": sides[0], "y": sides[1]}, out)

    def int_weight(self, name: str, integers: Array, scale: Array) -> str:
        stored, factor = self.parameter(name, integers), self.parameter(f"{name}.scale", scale)
        floats = self.build.node("pd_op.cast", {"x": stored}, {"out": integers.shape}, {"dtype": "float32"})
        return self.build.node("pd_op.multiply", {"x": floats, "y": factor}, {"out": integers.shape})

    def write(self, y: str) -> Written:
        return to_onnx(self.build.view({"y": y}), self.weights)


def fake_quant(x: Array, scale: Array, bounds: Bounds) -> Array:
    """What the four steps compute."""
    return np.clip(np.round(x / scale), *bounds) * scale


def run(written: Written, x: Array) -> Array:
    """As the graph says: nothing fused, nothing folded."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(written.to_bytes(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": x})[0])


def stored(written: Written) -> dict[str, Array]:
    return {i.name: numpy_helper.to_array(i) for i in written.model.graph.initializer}


def op_types(written: Written) -> list[str]:
    return [node.op_type for node in written.model.graph.node]


def node_making(written: Written, name: str) -> onnx.NodeProto:
    (found,) = [node for node in written.model.graph.node if name in node.output]
    assert isinstance(found, onnx.NodeProto)
    return found


def attrs_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(-127, 128, shape).astype(np.int8)


def quantized_conv(*, bias: Array | None = None, s_x: float = 0.02, narrow: bool = False) -> Net:
    """`conv(q(x), dq(w)) + b`; gives the net with `y` as the view id of its result in `last`."""
    net = Net()
    x = net.build.input("x", (-1, 3, 6, 6))
    bounds = (-127.0, 127.0) if narrow else (-128.0, 127.0)
    data = net.fake_quant(x, (-1, 3, 6, 6), net.parameter("x.scale", np.array([s_x], np.float32)), bounds)
    scale = (np.arange(1, 5, dtype=np.float32) / 500).reshape(4, 1, 1, 1)
    weight = net.int_weight("w", integers(1, 4, 3, 3, 3), scale)
    out = {"out": (-1, 4, 6, 6)}
    y = net.build.node("pd_op.conv2d", {"input": data, "filter": weight}, out, CONV)
    if bias is not None:
        shape = net.build.node(
            "pd_op.full_int_array", {}, {"out": (4,)}, {"value": (1, -1, 1, 1)}, dtype="int64"
        )
        operands = {"x": net.parameter("b", bias), "shape": shape}
        term = net.build.node("pd_op.reshape", operands, {"out": (1, 4, 1, 1)})
        y = net.build.node("pd_op.add", {"x": y, "y": term}, out)
    net.last = y
    return net


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize(
    ("bounds", "zero"),
    [((-128.0, 127.0), 128), ((0.0, 255.0), 0), ((-77.0, 178.0), 77), ((-127.0, 127.0), 128)],
)
def test_activation_becomes_a_pair_of_unsigned_bytes(bounds: Bounds, zero: int, flip: bool) -> None:
    net = Net()
    scale = np.array([0.03], np.float32)
    x = net.build.input("x", (-1, 5))
    written = net.write(net.fake_quant(x, (-1, 5), net.parameter("s", scale), bounds, flip=flip))
    # Values within the grid: behind its ends the narrow one may grow by a step.
    inside = np.random.default_rng(0).uniform(bounds[0] * 0.03, bounds[1] * 0.03, (3, 5)).astype(np.float32)
    assert op_types(written) == ["QuantizeLinear", "DequantizeLinear"]
    assert stored(written)["s:zero"].dtype == np.uint8
    assert int(stored(written)["s:zero"]) == zero
    np.testing.assert_allclose(run(written, inside), fake_quant(inside, scale, bounds), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("bounds", [(-128.0, 127.0), (0.0, 255.0), (-77.0, 178.0)])
def test_activation_saturates_and_rounds_half_to_even(bounds: Bounds) -> None:
    net, scale = Net(), np.array([0.5], np.float32)
    x = net.build.input("x", (-1, 6))
    written = net.write(net.fake_quant(x, (-1, 6), net.parameter("s", scale), bounds))
    values = np.array([[-1e6, 1e6, 0.25, 0.75, 1.25, -0.75]], np.float32)
    np.testing.assert_array_equal(run(written, values), fake_quant(values, scale, bounds))


def test_narrow_grid_grows_by_one_step_only() -> None:
    net, scale = Net(), np.array([0.5], np.float32)
    x = net.build.input("x", (-1, 2))
    written = net.write(net.fake_quant(x, (-1, 2), net.parameter("s", scale), (-127.0, 127.0)))
    np.testing.assert_array_equal(run(written, np.array([[-1e6, 1e6]], np.float32)), [[-64.0, 63.5]])


def test_activation_scales_per_channel_have_their_axis() -> None:
    net, scale = Net(), np.array([0.1, 0.2, 0.3], np.float32).reshape(1, 3, 1, 1)
    x = net.build.input("x", (-1, 3, 3, 3))
    written = net.write(net.fake_quant(x, (-1, 3, 3, 3), net.parameter("s", scale), (-128.0, 127.0)))
    values = random(0, 2, 3, 3, 3)
    np.testing.assert_allclose(run(written, values), fake_quant(values, scale, (-128, 127)), rtol=1e-5)
    assert attrs_of(node_making(written, "y"))["axis"] == 1


def test_a_scale_of_fewer_dimensions_is_aligned_from_behind() -> None:
    net, scale = Net(), np.array([0.1, 0.2, 0.3], np.float32).reshape(3, 1, 1)
    x = net.build.input("x", (-1, 3, 3, 3))
    written = net.write(net.fake_quant(x, (-1, 3, 3, 3), net.parameter("s", scale), (-128.0, 127.0)))
    values = random(0, 2, 3, 3, 3)
    np.testing.assert_allclose(run(written, values), fake_quant(values, scale, (-128, 127)), rtol=1e-5)


@pytest.mark.parametrize("batch", [1, 3])
def test_conv_with_stored_integers_computes_the_same(batch: int) -> None:
    net = quantized_conv(bias=random(3, 4))
    written, x = net.write(net.last), random(batch, batch, 3, 6, 6)
    held = stored(written)
    scale = net.weights["w.scale"]
    data = fake_quant(x, np.full(1, 0.02, np.float32), (-128, 127))
    weight = net.weights["w"].astype(np.float32) * scale
    steps = np.round(random(3, 4).astype(np.float64) / (np.float64(np.float32(0.02)) * scale.reshape(-1)))
    bias = steps * (np.float64(np.float32(0.02)) * scale.reshape(-1))
    expected = _conv(data, weight) + bias.reshape(1, 4, 1, 1)
    np.testing.assert_allclose(run(written, x), expected, rtol=1e-5, atol=1e-5)
    assert held["w"].dtype == np.int8
    assert held["w"].tobytes() == net.weights["w"].tobytes()


def _conv(x: Array, w: Array) -> Array:
    """A convolution with padding 1 and stride 1, in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.asarray(np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64)))


def test_bias_becomes_int32_on_the_product_of_scales() -> None:
    bias = random(3, 4)
    net = quantized_conv(bias=bias)
    written = net.write(net.last)
    held, product = stored(written), 0.02 * np.arange(1, 5) / 500
    assert held["b:int32"].dtype == np.int32
    np.testing.assert_allclose(held["b:int32"] * product, bias, atol=product.max() / 2 * 1.01)
    np.testing.assert_allclose(held["b:scale"], product, rtol=1e-6)
    assert held["b:scale"].dtype == np.float32
    assert op_types(written) == [
        "QuantizeLinear",
        "DequantizeLinear",
        "DequantizeLinear",
        "DequantizeLinear",
        "Conv",
    ]
    assert attrs_of(node_making(written, "b:dequantized"))["axis"] == 0
    assert written.reasons == ()


def test_bias_beyond_int32_stays_float_and_says_so() -> None:
    bias = np.array([0.5, 1e6, 0.0, -1.0], np.float32)
    net = quantized_conv(bias=bias)
    written = net.write(net.last)
    assert [reason.code for reason in written.reasons] == ["bias-overflow"]
    assert written.reasons[0].subject == "add_0"
    np.testing.assert_array_equal(stored(written)["b"], bias)
    assert "b:int32" not in stored(written)


def test_bias_under_a_vanishing_scale_stays_float_and_says_so() -> None:
    net = quantized_conv(bias=np.zeros(4, np.float32), s_x=1e-37)
    assert [reason.code for reason in net.write(net.last).reasons] == ["bias-scale-tiny"]


def test_bias_behind_many_input_scales_stays_float_and_says_so() -> None:
    net, scale = Net(), np.full((1, 5), 0.1, np.float32)
    x = net.build.input("x", (-1, 5))
    data = net.fake_quant(x, (-1, 5), net.parameter("s", scale), (-128.0, 127.0))
    weight = net.int_weight("w", integers(1, 5, 5), np.full((1, 5), 0.01, np.float32))
    y = net.build.node("pd_op.matmul", {"x": data, "y": weight}, {"out": (-1, 5)})
    y = net.build.node("pd_op.add", {"x": y, "y": net.parameter("b", random(0, 5))}, {"out": (-1, 5)})
    written = net.write(y)
    assert [reason.code for reason in written.reasons] == ["bias-without-scale"]
    assert stored(written)["b"].dtype == np.float32


def test_bias_stays_float_when_the_input_is() -> None:
    net = Net()
    weight = net.int_weight("w", integers(1, 5, 3), np.full((1, 3), 0.01, np.float32))
    x = net.build.input("x", (-1, 5))
    y = net.build.node("pd_op.matmul", {"x": x, "y": weight}, {"out": (-1, 3)})
    y = net.build.node("pd_op.add", {"x": y, "y": net.parameter("b", random(0, 3))}, {"out": (-1, 3)})
    written = net.write(y)
    assert op_types(written) == ["DequantizeLinear", "Gemm"]
    assert stored(written)["b"].dtype == np.float32


@pytest.mark.parametrize("is_transposed", [False, True])
def test_gemm_keeps_the_layout_of_its_integers(is_transposed: bool) -> None:
    net, shape = Net(), (3, 5) if is_transposed else (5, 3)
    scale = np.array([0.01, 0.02, 0.03], np.float32).reshape((3, 1) if is_transposed else (1, 3))
    x = net.build.input("x", (-1, 5))
    data = net.fake_quant(x, (-1, 5), net.parameter("s", np.array([0.02], np.float32)), (-128.0, 127.0))
    weight = net.int_weight("w", integers(1, *shape), scale)
    attrs = {"transpose_x": False, "transpose_y": is_transposed}
    y = net.build.node("pd_op.matmul", {"x": data, "y": weight}, {"out": (-1, 3)}, attrs)
    y = net.build.node("pd_op.add", {"x": y, "y": net.parameter("b", random(0, 3))}, {"out": (-1, 3)})
    written = net.write(y)
    gemm = node_making(written, "y")
    assert (gemm.op_type, attrs_of(gemm)["transB"]) == ("Gemm", int(is_transposed))
    assert attrs_of(node_making(written, gemm.input[1]))["axis"] == (0 if is_transposed else 1)
    np.testing.assert_array_equal(stored(written)["w"], net.weights["w"])
    floats = net.weights["w"] * scale
    values = random(4, 3, 5)
    product = fake_quant(values, np.full(1, 0.02, np.float32), (-128, 127)) @ (
        floats.T if is_transposed else floats
    )
    # The bias moves by half a step of the product of scales at most.
    np.testing.assert_allclose(run(written, values), product + random(0, 3), rtol=1e-5, atol=0.02 * 0.03)


@pytest.mark.parametrize("by_node", [False, True])
def test_integers_of_a_sequence_are_stored_swapped(by_node: bool) -> None:
    """MatMul has no transB: the integers are turned when they are written, and their axis with them."""
    net, scale = Net(), np.array([0.01, 0.02, 0.03], np.float32).reshape(3, 1)
    x = net.build.input("x", (-1, 4, 5))
    weight = net.int_weight("w", integers(1, 3, 5), scale)
    if by_node:
        weight = net.build.node("pd_op.transpose", {"x": weight}, {"out": (5, 3)}, {"perm": (1, 0)})
    attrs = {"transpose_x": False, "transpose_y": not by_node}
    written = net.write(net.build.node("pd_op.matmul", {"x": x, "y": weight}, {"out": (-1, 4, 3)}, attrs))
    assert op_types(written) == ["DequantizeLinear", "MatMul"]
    assert attrs_of(written.model.graph.node[0])["axis"] == 1
    values = random(4, 2, 4, 5)
    expected = values @ (net.weights["w"] * scale).T
    np.testing.assert_allclose(run(written, values), expected, rtol=1e-5, atol=1e-5)


def test_one_scale_for_the_whole_weight_is_a_number() -> None:
    net = Net()
    weight = net.int_weight("w", integers(1, 5, 3), np.array([0.01], np.float32))
    x = net.build.input("x", (-1, 5))
    written = net.write(net.build.node("pd_op.matmul", {"x": x, "y": weight}, {"out": (-1, 3)}))
    assert stored(written)["w.scale"].shape == ()
    assert attrs_of(written.model.graph.node[0]) == {}


@pytest.mark.parametrize("bounds", [(-8.0, 7.0), (-32768.0, 32767.0), (1.0, 256.0), (-0.5, 254.5)])
def test_a_grid_of_other_width_is_refused(bounds: Bounds) -> None:
    net = Net()
    x = net.build.input("x", (-1, 5))
    y = net.fake_quant(x, (-1, 5), net.parameter("s", np.array([0.1], np.float32)), bounds)
    with pytest.raises(GridNotExportable, match="multiply_0"):
        net.write(y)


@pytest.mark.parametrize("scale", [0.0, float("nan"), float("inf"), -0.1, 1e-42])
def test_a_scale_that_is_no_scale_is_refused(scale: float) -> None:
    net = Net()
    x = net.build.input("x", (-1, 5))
    y = net.fake_quant(x, (-1, 5), net.parameter("s", np.array([scale], np.float32)), (-128.0, 127.0))
    with pytest.raises(ScaleNotExportable, match="denormal"):
        net.write(y)


def test_scales_along_two_axes_are_refused() -> None:
    net = Net()
    weight = net.int_weight("w", integers(1, 5, 3), np.full((5, 3), 0.1, np.float32))
    x = net.build.input("x", (-1, 5))
    with pytest.raises(ScaleNotExportable, match="several axes"):
        net.write(net.build.node("pd_op.matmul", {"x": x, "y": weight}, {"out": (-1, 3)}))


def test_what_only_looks_like_a_quantizer_is_left_alone() -> None:
    """Another scale at the end computes something else: it is written step by step."""
    net = Net()
    x = net.build.input("x", (-1, 5))
    scale = net.parameter("s", np.array([0.1], np.float32))
    other = net.parameter("t", np.array([0.2], np.float32))
    net.fake_quant(x, (-1, 5), scale, (-128.0, 127.0))
    clipped = net.build.view({}).node("clip_0").out
    y = net.build.node("pd_op.multiply", {"x": clipped, "y": other}, {"out": (-1, 5)})
    written, feed = net.write(y), random(0, 3, 5)
    assert op_types(written) == ["Div", "Round", "Clip", "Mul"]
    steps = np.rint(feed / np.float32(0.1))
    np.testing.assert_array_equal(run(written, feed), steps * np.float32(0.2))


def test_rounding_to_decimals_is_no_quantizer() -> None:
    net = Net()
    x = net.build.input("x", (-1, 5))
    y = net.fake_quant(x, (-1, 5), net.parameter("s", np.array([0.1], np.float32)), (-128.0, 127.0))
    view = net.build.view({"y": y})
    nodes = tuple(replace(n, attrs={"decimals": 1}) if n.op == "pd_op.round" else n for n in view.nodes)
    found = to_onnx(replace(view, nodes=nodes), net.weights).model.graph.node
    assert [node.op_type for node in found] == ["Div", "Mul", "Round", "Div", "Clip", "Mul"]
