"""A draft as an ONNX model: inputs, outputs, their shapes, and the check."""

from __future__ import annotations

import json
from typing import Union

import onnx
from onnx import checker, helper, numpy_helper, shape_inference

from spokeshave.engines.onnx._constants import numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.errors.engines import OnnxNotValid
from spokeshave.graph import Value

OPSET = 17  # LayerNormalization, and DequantizeLinear along an axis
IR_VERSION = 8  # what ONNX Runtime 1.19 reads
RENAMED = "spokeshave.values"  # metadata: view id -> ONNX name, as JSON, where they differ

Dimension = Union[int, str, None]


def assemble(draft: Draft, name: str) -> onnx.ModelProto:
    """The checked model; the same draft gives the same bytes."""
    view = draft.view
    graph = helper.make_graph(
        draft.nodes,
        name,
        [_info(i, view.value(i), _input_shape(view.value(i))) for i in view.inputs],
        [_info(n, view.value(i), _known_shape(view.value(i))) for n, i in view.outputs],
        [numpy_helper.from_array(array, key) for key, array in draft.initializers.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="spokeshave",
    )
    renamed = draft.renamed()
    if renamed:
        helper.set_model_props(model, {RENAMED: json.dumps(renamed, sort_keys=True)})
    _name_open_dimensions(model)
    _check(model)
    return model


def _info(name: str, value: Value, shape: list[Dimension]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy_dtype(value)), shape)


def _input_shape(value: Value) -> list[Dimension]:
    return [_symbol(value.id, i) if length < 0 else length for i, length in enumerate(value.shape)]


def _symbol(name: str, axis: int) -> str:
    return "batch" if axis == 0 else f"{name}_dim{axis}"


def _known_shape(value: Value) -> list[Dimension]:
    return [None if length < 0 else length for length in value.shape]


def _name_open_dimensions(model: onnx.ModelProto) -> None:
    """Names the open dimensions of outputs: after the input's where they are the same, else their own."""
    symbols = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim}
    for output, inferred in zip(model.graph.output, _inferred_outputs(model)):
        for axis, (dim, guess) in enumerate(zip(_dims(output), _dims(inferred))):
            if not dim.HasField("dim_value"):
                known = guess.dim_param if guess.dim_param in symbols else ""
                dim.dim_param = known or f"{output.name}_dim{axis}"


def _inferred_outputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    try:
        return list(shape_inference.infer_shapes(model).graph.output)
    except shape_inference.InferenceError as error:
        raise OnnxNotValid(detail=str(error)) from error


def _dims(info: onnx.ValueInfoProto) -> list[onnx.TensorShapeProto.Dimension]:
    return list(info.type.tensor_type.shape.dim)


def _check(model: onnx.ModelProto) -> None:
    try:
        checker.check_model(model, full_check=True)
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        raise OnnxNotValid(detail=str(error)) from error
