"""Lists of sizes: known before the model runs, taken from a value's shape, or computed while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

import numpy as np
from onnx import TensorProto

from spokeshave.engines.onnx._constants import Constants, at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.errors.engines import OperandMissing
from spokeshave.graph import Node
from spokeshave.ops import shape


@dataclass(frozen=True)
class SizeOf:
    """The size of a value along an axis, which is open until the model runs."""

    value: str
    axis: int


Size = Union[int, SizeOf]
# What hands a list of sizes on as it is.
_MOVES = (shape.CAST.name, shape.ASSIGN.name, shape.SQUEEZE.name, shape.UNSQUEEZE.name, shape.RESHAPE.name)
_JOINS = (shape.STACK.name, shape.CONCAT.name)


def sizes_of(constants: Constants, value_id: str) -> tuple[Size, ...] | None:
    """A list of sizes, each a number or the size of some value; None where anything is computed from them."""
    array = constants.get(value_id)
    if array is not None:
        return tuple(int(n) for n in array.reshape(-1))
    maker = constants.view.maker(value_id)
    if maker is None:
        return None
    if maker.op in (shape.SHAPE.name, shape.SHAPE64.name):
        return _all_sizes(constants, at(maker, "input"))
    if maker.op == shape.SLICE.name:
        return _sliced(constants, maker)
    if maker.op in _MOVES:
        return sizes_of(constants, at(maker, "x"))
    return joined_sizes(constants, maker.operands("x")) if maker.op in _JOINS else None


def joined_sizes(constants: Constants, value_ids: Iterable[str]) -> tuple[Size, ...] | None:
    """Several lists of sizes one behind the other."""
    found: list[Size] = []
    for value_id in value_ids:
        sizes = sizes_of(constants, value_id)
        if sizes is None:
            return None
        found.extend(sizes)
    return tuple(found)


def read_numbers(draft: Draft, node: Node, operand: str) -> str:
    """The name of a list of integers at an operand: stored where all are known, else computed."""
    known = joined_sizes(draft.constants, node.operands(operand)) or ()
    numbers = [n for n in known if isinstance(n, int)]
    if numbers and len(numbers) == len(known):
        return draft.initializer(f"{node.id}:{operand}", np.array(numbers, np.int64))
    return read_sizes(draft, node, operand)


def read_sizes(draft: Draft, node: Node, operand: str) -> str:
    """The name of a list of sizes as int64, which is what ONNX takes; computed while the model runs."""
    parts = node.operands(operand)
    if not parts:
        raise OperandMissing(node=node.id, op=node.op, operand=operand)
    flat = draft.initializer("sizes:flat", np.array([-1], np.int64))
    held = []
    for i, part in enumerate(parts):
        wide = draft.put_step("Cast", node, f"{operand}_{i}", [draft.read(part)], to=TensorProto.INT64)
        held.append(draft.put_step("Reshape", node, f"{operand}_{i}_flat", [wide, flat]))
    return held[0] if len(held) == 1 else draft.put_step("Concat", node, operand, held, axis=0)


def _all_sizes(constants: Constants, value_id: str) -> tuple[Size, ...]:
    sizes = constants.view.value(value_id).shape
    return tuple(SizeOf(value_id, i) if length < 0 else length for i, length in enumerate(sizes))


def _sliced(constants: Constants, node: Node) -> tuple[Size, ...] | None:
    whole = sizes_of(constants, at(node, "input"))
    ends = [joined_sizes(constants, node.operands(name)) for name in ("starts", "ends")]
    if whole is None or any(end is None or not isinstance(end[0], int) for end in ends):
        return None
    start, stop = (end[0] for end in ends if end is not None)
    return whole[start:stop] if isinstance(start, int) and isinstance(stop, int) else None
