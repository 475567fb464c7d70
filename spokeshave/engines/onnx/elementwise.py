"""Sums, products, scalings, and dropout in test mode."""

from __future__ import annotations

import numpy as np

from spokeshave.engines.onnx._constants import Array, Constants, at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.errors.engines import TrainingNotExportable
from spokeshave.graph import Node
from spokeshave.ops import elementwise


def _add(draft: Draft, node: Node) -> None:
    draft.put("Add", node, [draft.read(at(node, side)) for side in ("x", "y")])


def _multiply(draft: Draft, node: Node) -> None:
    draft.put("Mul", node, [draft.read(at(node, side)) for side in ("x", "y")])


def _scale(draft: Draft, node: Node) -> None:
    factor, bias = draft.constants.number(node, "scale"), node.attrs.get("bias", 0.0)
    steps = [("Mul", "factor", factor)] if factor != 1 else []
    if bias != 0:
        steps.insert(len(steps) if node.attrs.get("bias_after_scale", True) else 0, ("Add", "bias", bias))
    x = at(node, "x")
    held, dtype = draft.read(x), numpy_dtype(draft.view.value(x))
    for op_type, part, number in steps[:-1]:
        held = draft.put_step(
            op_type, node, part, [held, _stored(draft, node, part, np.array(number, dtype))]
        )
    op_type, part, number = steps[-1]
    draft.put(op_type, node, [held, _stored(draft, node, part, np.array(number, dtype))])


def _passed_by_scale(constants: Constants, node: Node) -> str | None:
    does_nothing = node.attrs.get("bias", 0.0) == 0 and constants.number(node, "scale") == 1
    return node.operand("x") if does_nothing else None


def _dropout(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    # Paddle takes the difference in float32.
    kept = np.float32(1) - np.float32(_rate(draft.constants, node))
    array = np.array(kept, numpy_dtype(draft.view.value(x)))
    draft.put("Mul", node, [draft.read(x), _stored(draft, node, "kept", array)])


def _passed_by_dropout(constants: Constants, node: Node) -> str | None:
    if not node.attrs.get("is_test"):
        raise TrainingNotExportable(node=node.id, op=node.op)
    return node.operand("x") if node.attrs.get("mode") == "upscale_in_train" else None


def _rate(constants: Constants, node: Node) -> float:
    return constants.number(node, "p") if node.operand("p") is not None else float(node.attrs["p"])


def _stored(draft: Draft, node: Node, part: str, number: Array) -> str:
    return draft.initializer(f"{node.id}:{part}_value", number)


ADD = Emitter(elementwise.ADD.name, "Add, unless it is the bias of the node before it.", _add)
MULTIPLY = Emitter(elementwise.MULTIPLY.name, "Mul, unless it is the last step of a quantizer.", _multiply)
SCALE = Emitter(
    elementwise.SCALE.name, "Mul and Add, each only where it changes something.", _scale, _passed_by_scale
)
DROPOUT = Emitter(
    elementwise.DROPOUT.name, "Nothing, or Mul where training did not scale up.", _dropout, _passed_by_dropout
)
