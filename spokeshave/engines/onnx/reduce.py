"""Means, sums and extremes over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import helper

from spokeshave.engines.onnx._constants import at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.graph import Node
from spokeshave.ops import reduce


def _over(op_type: str) -> Callable[[Draft, Node], None]:
    """Writes a node as a reduction whose axes are an attribute; without axes it takes all of them."""

    def emit(draft: Draft, node: Node) -> None:
        axes = draft.constants.integers(node, "axis")
        over: dict[str, Any] = {"axes": list(axes)} if axes else {}
        draft.put(op_type, node, [draft.read(at(node, "x"))], keepdims=int(node.attrs["keepdim"]), **over)

    return emit


def _sum(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    held, axes = draft.read(x), draft.constants.integers(node, "axis")
    kinds = [numpy_dtype(draft.view.value(value_id)) for value_id in (x, node.out)]
    if kinds[0] != kinds[1]:
        # Booleans and small integers are summed in a wider type.
        held = draft.put_step("Cast", node, "wide", [held], to=helper.np_dtype_to_tensor_dtype(kinds[1]))
    inputs = [held, draft.initializer(f"{node.id}:axes", np.array(axes, np.int64))] if axes else [held]
    draft.put("ReduceSum", node, inputs, keepdims=int(node.attrs["keepdim"]))


MEAN = Emitter(reduce.MEAN.name, "ReduceMean.", _over("ReduceMean"))
MAX = Emitter(reduce.MAX.name, "ReduceMax.", _over("ReduceMax"))
MIN = Emitter(reduce.MIN.name, "ReduceMin.", _over("ReduceMin"))
SUM = Emitter(reduce.SUM.name, "ReduceSum, in the type of its result.", _sum)
