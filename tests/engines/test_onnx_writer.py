"""Names, fusions, folding and refusals of the ONNX writer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from spokeshave.engines import OnnxRunner, Written, to_onnx
from spokeshave.engines.onnx._model import RENAMED
from spokeshave.errors.engines import (
    DtypeNotExportable,
    OnnxNotValid,
    OpNotExportable,
    OutputNameTaken,
    ResultNotExportable,
    WeightMismatch,
)
from spokeshave.graph import ViewBuilder

Array = np.ndarray[Any, Any]

CONV = {
    "strides": (1, 1),
    "paddings": (0, 0),
    "dilations": (1, 1),
    "groups": 1,
    "padding_algorithm": "EXPLICIT",
    "data_format": "NCHW",
}
TEST_MODE = {"is_test": True, "mode": "upscale_in_train"}


def random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def op_types(written: Written) -> list[str]:
    return [node.op_type for node in written.model.graph.node]


def initializers(written: Written) -> dict[str, Array]:
    return {i.name: numpy_helper.to_array(i) for i in written.model.graph.initializer}


def dims(info: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in info.type.tensor_type.shape.dim]


def add_conv(build: ViewBuilder, x: str) -> str:
    weight = build.parameter("w", (6, 3, 3, 3))
    return build.node("pd_op.conv2d", {"input": x, "filter": weight}, {"out": (-1, 6, 4, 4)}, CONV)


def reshaped(build: ViewBuilder, x: str, shape: tuple[int, ...]) -> str:
    wanted = {"value": shape}
    target = build.node("pd_op.full_int_array", {}, {"out": (len(shape),)}, wanted, dtype="int64")
    return build.node("pd_op.reshape", {"x": x, "shape": target}, {"out": shape})


def add_bias(build: ViewBuilder, y: str, *, through_reshape: bool) -> str:
    shape = (6,) if through_reshape else (1, 6, 1, 1)
    term = build.parameter("b", shape)
    if through_reshape:
        term = reshaped(build, term, (1, 6, 1, 1))
    return build.node("pd_op.add", {"x": y, "y": term}, {"out": (-1, 6, 4, 4)})


@pytest.mark.parametrize("through_reshape", [True, False])
def test_conv_takes_its_bias_in(through_reshape: bool) -> None:
    build = ViewBuilder()
    y = add_bias(build, add_conv(build, build.input("x", (-1, 3, 6, 6))), through_reshape=through_reshape)
    bias = random(6) if through_reshape else random(1, 6, 1, 1)
    weights = {"w": random(6, 3, 3, 3), "b": bias}
    written = to_onnx(build.view({"y": y}), weights)
    assert op_types(written) == ["Conv"]
    assert {name: array.shape for name, array in initializers(written).items()} == {
        "w": (6, 3, 3, 3),
        "b": (6,),
    }
    x = random(2, 3, 6, 6)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, weights["w"]) + bias.reshape(1, 6, 1, 1)
    found = OnnxRunner(written.to_bytes()).run({"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_conv_that_is_read_twice_keeps_its_add() -> None:
    build = ViewBuilder()
    conv = add_conv(build, build.input("x", (-1, 3, 6, 6)))
    y = add_bias(build, conv, through_reshape=True)
    z = build.node("pd_op.relu", {"x": conv}, {"out": (-1, 6, 4, 4)})
    written = to_onnx(build.view({"y": y, "z": z}), {"w": random(6, 3, 3, 3), "b": random(6)})
    assert op_types(written) == ["Conv", "Add", "Relu"]


def test_linear_becomes_gemm() -> None:
    build = ViewBuilder()
    x, w, b = build.input("x", (-1, 5)), build.parameter("w", (5, 3)), build.parameter("b", (3,))
    y = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 3)})
    y = build.node("pd_op.add", {"x": y, "y": b}, {"out": (-1, 3)})
    weights = {"w": random(5, 3), "b": random(3)}
    written = to_onnx(build.view({"y": y}), weights)
    assert op_types(written) == ["Gemm"]
    found = OnnxRunner(written.to_bytes()).run({"x": random(4, 5)})["y"]
    np.testing.assert_allclose(found, random(4, 5) @ weights["w"] + weights["b"], rtol=1e-5, atol=1e-5)


def test_linear_over_a_sequence_stays_matmul_and_add() -> None:
    build = ViewBuilder()
    x, w, b = build.input("x", (-1, 2, 5)), build.parameter("w", (5, 3)), build.parameter("b", (3,))
    y = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 2, 3)})
    y = build.node("pd_op.add", {"x": y, "y": b}, {"out": (-1, 2, 3)})
    assert op_types(to_onnx(build.view({"y": y}), {"w": random(5, 3), "b": random(3)})) == ["MatMul", "Add"]


def test_what_moves_a_parameter_is_done_when_it_is_written() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 5)), build.parameter("w", (3, 5), "float64")
    cast = build.node("pd_op.cast", {"x": w}, {"out": (3, 5)}, {"dtype": "float32"})
    turned = build.node("pd_op.transpose", {"x": cast}, {"out": (5, 3)}, {"perm": (1, 0)})
    y = build.node("pd_op.matmul", {"x": x, "y": turned}, {"out": (-1, 3)})
    weight = random(3, 5).astype(np.float64)
    written = to_onnx(build.view({"y": y}), {"w": weight})
    assert op_types(written) == ["MatMul"]
    (stored,) = initializers(written).values()
    np.testing.assert_array_equal(stored, weight.T.astype(np.float32))


def test_a_constant_shape_keeps_dimensions_by_zero() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 3, 4)), build.parameter("w", (3, 2, 2))
    target = build.node("pd_op.full_int_array", {}, {"out": (2,)}, {"value": (0, -1)}, dtype="int64")
    folded = build.node("pd_op.reshape", {"x": w, "shape": target}, {"out": (3, 4)})
    y = build.node("pd_op.add", {"x": x, "y": folded}, {"out": (-1, 3, 4)})
    (stored,) = initializers(to_onnx(build.view({"y": y}), {"w": random(3, 2, 2)})).values()
    np.testing.assert_array_equal(stored, random(3, 2, 2).reshape(3, 4))


def test_values_keep_their_ids_and_interfaces_their_names() -> None:
    build = ViewBuilder()
    a = build.node("pd_op.relu", {"x": build.input("x", (-1, 4))}, {"out": (-1, 4)})
    b = build.node("pd_op.relu6", {"x": a}, {"out": (-1, 4)})
    c = build.node("pd_op.softmax", {"x": b}, {"out": (-1, 4)}, {"axis": -1})
    model = to_onnx(build.view({"probabilities": c}), {}, name="toy").model
    assert [node.name for node in model.graph.node] == ["relu_0", "relu6_0", "softmax_0"]
    assert [node.output[0] for node in model.graph.node] == ["relu_0.out", "relu6_0.out", "probabilities"]
    assert (model.graph.name, model.producer_name) == ("toy", "spokeshave")
    assert (model.ir_version, model.opset_import[0].version) == (8, 17)
    assert json.loads(model.metadata_props[0].value) == {"softmax_0.out": "probabilities"}
    assert model.metadata_props[0].key == RENAMED


def test_an_output_may_bear_the_id_of_an_inner_value() -> None:
    build = ViewBuilder()
    a = build.node("pd_op.relu", {"x": build.input("x", (-1, 4))}, {"out": (-1, 4)})
    b = build.node("pd_op.softmax", {"x": a}, {"out": (-1, 4)}, {"axis": -1})
    runner = OnnxRunner(to_onnx(build.view({"relu_0.out": b}), {}).to_bytes())
    x = random(2, 4)
    np.testing.assert_allclose(runner.run({"x": x})["relu_0.out"].sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(runner.fetch({"x": x}, [a])[a], np.maximum(x, 0))


def test_open_dimensions_are_named_and_carried_to_the_outputs() -> None:
    build = ViewBuilder()
    x = build.input("x", (-1, 3, -1, -1))
    y = build.node("pd_op.relu", {"x": x}, {"out": (-1, 3, -1, -1)})
    wide = build.node("pd_op.concat", {"x.0": y, "x.1": y, "axis": _axis(build)}, {"out": (-1, 3, -1, -1)})
    model = to_onnx(build.view({"y": y, "wide": wide}), {}).model
    assert dims(model.graph.input[0]) == ["batch", 3, "x_dim2", "x_dim3"]
    assert dims(model.graph.output[0]) == ["batch", 3, "x_dim2", "x_dim3"]
    assert dims(model.graph.output[1]) == ["batch", 3, "x_dim2", "wide_dim3"]


def _axis(build: ViewBuilder) -> str:
    return build.node("pd_op.full", {}, {"out": (1,)}, {"shape": (1,), "value": 3.0}, dtype="int32")


def test_only_outputs_that_nothing_makes_are_copied() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 4)), build.parameter("w", (4,))
    y = build.node("pd_op.relu", {"x": x}, {"out": (-1, 4)})
    dropped = build.node("pd_op.dropout", {"x": y}, {"out": (-1, 4)}, TEST_MODE)
    view = build.view({"y": dropped, "again": y, "raw": x, "weight": w})
    written = to_onnx(view, {"w": random(4)})
    assert op_types(written) == ["Relu", "Identity", "Identity", "Identity"]
    found = OnnxRunner(written.to_bytes()).run({"x": random(2, 4)})
    np.testing.assert_array_equal(found["y"], np.maximum(random(2, 4), 0))
    np.testing.assert_array_equal(found["again"], found["y"])
    np.testing.assert_array_equal(found["raw"], random(2, 4))
    np.testing.assert_array_equal(found["weight"], random(4))


def test_what_no_output_needs_is_not_written() -> None:
    build = ViewBuilder()
    x = build.input("x", (-1, 4))
    build.node("pd_op.mystery", {"x": x, "y": build.parameter("unused", (4,))}, {"out": (-1, 4)})
    y = build.node("pd_op.relu", {"x": x}, {"out": (-1, 4)})
    written = to_onnx(build.view({"y": y}), {})
    assert op_types(written) == ["Relu"]
    assert initializers(written) == {}


def test_the_same_view_gives_the_same_bytes() -> None:
    def once() -> bytes:
        build = ViewBuilder()
        conv = add_conv(build, build.input("x", (-1, 3, 6, 6)))
        y = add_bias(build, conv, through_reshape=True)
        return to_onnx(build.view({"y": y}), {"b": random(6), "w": random(6, 3, 3, 3)}).to_bytes()

    assert once() == once()


def test_all_operators_without_an_emitter_are_named_at_once() -> None:
    build = ViewBuilder()
    y = build.node("pd_op.relu66", {"x": build.input("x", (-1, 4))}, {"out": (-1, 4)})
    for _ in range(11):
        y = build.node("pd_op.erf", {"x": y}, {"out": (-1, 4)})
    with pytest.raises(OpNotExportable) as caught:
        to_onnx(build.view({"y": y}), {})
    assert (
        caught.value.facts["ops"]
        == "pd_op.erf (erf_0, erf_1, erf_2, erf_3 and 7 more), pd_op.relu66 (relu66_0)"
    )
    assert "pd_op.relu6" in caught.value.facts["nearest"]


def test_a_side_result_that_is_read_is_refused() -> None:
    build = ViewBuilder()
    x = build.input("x", (-1, 4))
    build.node("pd_op.dropout", {"x": x}, {"out": (-1, 4), "mask": (-1, 4)}, TEST_MODE)
    with pytest.raises(ResultNotExportable, match="'mask' of node 'dropout_0'"):
        to_onnx(build.view({"y": "dropout_0.mask"}), {})


@pytest.mark.parametrize(
    ("weights", "given"),
    [
        ({}, "nothing"),
        ({"w": np.zeros((3,), np.float32)}, r"float32 \[3\]"),
        ({"w": np.zeros((4,), np.float64)}, "float64"),
    ],
)
def test_weights_of_another_model_are_refused(weights: dict[str, Array], given: str) -> None:
    build = ViewBuilder()
    operands = {"x": build.input("x", (-1, 4)), "y": build.parameter("w", (4,))}
    y = build.node("pd_op.add", operands, {"out": (-1, 4)})
    with pytest.raises(WeightMismatch, match=given):
        to_onnx(build.view({"y": y}), weights)


def test_a_type_that_onnx_has_not_here_is_refused() -> None:
    build = ViewBuilder()
    x = build.input("x", (-1, 4), "bfloat16")
    y = build.node("pd_op.relu", {"x": x}, {"out": (-1, 4)}, dtype="bfloat16")
    with pytest.raises(DtypeNotExportable, match="bfloat16"):
        to_onnx(build.view({"y": y}), {})


def test_an_output_may_not_take_the_name_of_an_input() -> None:
    build = ViewBuilder()
    y = build.node("pd_op.relu", {"x": build.input("x", (-1, 4))}, {"out": (-1, 4)})
    with pytest.raises(OutputNameTaken, match="'x'"):
        to_onnx(build.view({"x": y}), {})


def test_shapes_that_contradict_one_another_are_found() -> None:
    build = ViewBuilder()
    y = build.node("pd_op.relu", {"x": build.input("x", (-1, 4))}, {"out": (-1, 5)})
    with pytest.raises(OnnxNotValid):
        to_onnx(build.view({"y": y}), {})
