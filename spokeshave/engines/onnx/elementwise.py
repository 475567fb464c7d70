"""Arithmetic on each element or each pair, and dropout in test mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spokeshave.engines.onnx._constants import Array, Constants, at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.errors.engines import DtypeNotExportable, TrainingNotExportable
from spokeshave.graph import Node
from spokeshave.ops import elementwise


def _pairwise(op_type: str) -> Callable[[Draft, Node], None]:
    """Writes a node of two operands as the one ONNX operator that does the same; both broadcast alike."""

    def emit(draft: Draft, node: Node) -> None:
        draft.put(op_type, node, [draft.read(at(node, side)) for side in ("x", "y")])

    return emit


def _each(op_type: str) -> Callable[[Draft, Node], None]:
    """Writes a node of one operand as the one ONNX operator that does the same."""

    def emit(draft: Draft, node: Node) -> None:
        draft.put(op_type, node, [draft.read(at(node, "x"))])

    return emit


def _divide(draft: Draft, node: Node) -> None:
    # ONNX rounds the quotient of integers towards zero; Paddle gives it as a float, or rounds it otherwise.
    dtype = draft.view.value(at(node, "x")).dtype
    if not dtype.startswith("float"):
        raise DtypeNotExportable(value=at(node, "x"), dtype=f"{dtype} in a division")
    _pairwise("Div")(draft, node)


def _round(draft: Draft, node: Node) -> None:
    x, factor = at(node, "x"), 10.0 ** node.attrs.get("decimals", 0)
    if factor == 1:
        _each("Round")(draft, node)
        return
    stored = _stored(draft, node, "factor", np.array(factor, numpy_dtype(draft.view.value(x))))
    wide = draft.put_step("Mul", node, "wide", [draft.read(x), stored])
    whole = draft.put_step("Round", node, "whole", [wide])
    draft.put("Div", node, [whole, stored])


def _clip(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    dtype = numpy_dtype(draft.view.value(x))
    ends = [
        _stored(draft, node, end, np.array(draft.constants.number(node, end), dtype))
        for end in ("min", "max")
    ]
    draft.put("Clip", node, [draft.read(x), *ends])


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


ADD = Emitter(elementwise.ADD.name, "Add, unless it is the bias of the node before it.", _pairwise("Add"))
SUBTRACT = Emitter(elementwise.SUBTRACT.name, "Sub.", _pairwise("Sub"))
MULTIPLY = Emitter(
    elementwise.MULTIPLY.name, "Mul, unless it is the last step of a quantizer.", _pairwise("Mul")
)
DIVIDE = Emitter(
    elementwise.DIVIDE.name, "Div of floats, unless it is the first step of a quantizer.", _divide
)
MAXIMUM = Emitter(elementwise.MAXIMUM.name, "Max.", _pairwise("Max"))
MINIMUM = Emitter(elementwise.MINIMUM.name, "Min.", _pairwise("Min"))
ELEMENTWISE_POW = Emitter(elementwise.ELEMENTWISE_POW.name, "Pow.", _pairwise("Pow"))
ABS = Emitter(elementwise.ABS.name, "Abs.", _each("Abs"))
ROUND = Emitter(elementwise.ROUND.name, "Round, between Mul and Div where decimals are kept.", _round)
CLIP = Emitter(elementwise.CLIP.name, "Clip, between bounds that are constants.", _clip)
SCALE = Emitter(
    elementwise.SCALE.name, "Mul and Add, each only where it changes something.", _scale, _passed_by_scale
)
DROPOUT = Emitter(
    elementwise.DROPOUT.name, "Nothing, or Mul where training did not scale up.", _dropout, _passed_by_dropout
)
