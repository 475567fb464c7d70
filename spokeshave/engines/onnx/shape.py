"""Ops that move values and change none."""

from __future__ import annotations

from math import prod

import numpy as np

from spokeshave.engines.onnx._constants import Constants, at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.errors.engines import DimensionsUnknown
from spokeshave.graph import Node
from spokeshave.ops import shape


def _reshape(draft: Draft, node: Node) -> None:
    # Zero keeps and -1 infers a dimension, in Paddle as in ONNX.
    target = draft.constants.of(node, "shape").astype(np.int64).reshape(-1)
    stored = draft.initializer(at(node, "shape"), target)
    draft.put("Reshape", node, [draft.read(at(node, "x")), stored])


def _transpose(draft: Draft, node: Node) -> None:
    draft.put("Transpose", node, [draft.read(at(node, "x"))], perm=tuple(node.attrs["perm"]))


def _concat(draft: Draft, node: Node) -> None:
    axis = int(draft.constants.number(node, "axis"))
    draft.put("Concat", node, [draft.read(x) for x in node.operands("x")], axis=axis)


def _flatten(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    sizes = draft.view.value(x).shape
    start, stop = _span(node, len(sizes))
    if start == 1 and stop == len(sizes) - 1:
        draft.put("Flatten", node, [draft.read(x)], axis=1)
        return
    target = np.array(_flat_shape(node, sizes, start, stop), np.int64)
    draft.put("Reshape", node, [draft.read(x), draft.initializer(f"{node.id}:shape", target)])


def _passed_by_flatten(constants: Constants, node: Node) -> str | None:
    x = at(node, "x")
    rank = len(constants.view.value(x).shape)
    start, stop = _span(node, rank)
    return x if rank and start == stop else None


def _span(node: Node, rank: int) -> tuple[int, int]:
    start, stop = node.attrs.get("start_axis", 1), node.attrs.get("stop_axis", -1)
    return start % max(rank, 1), stop % max(rank, 1)


def _flat_shape(node: Node, sizes: tuple[int, ...], start: int, stop: int) -> tuple[int, ...]:
    """The shape for a Reshape: what stands before the span keeps its place, what comes after moves."""
    span, after = sizes[start : stop + 1], sizes[stop + 1 :]
    merged = -1 if min(span, default=1) < 0 else prod(span)
    target = (merged, *after)
    if sum(length < 0 for length in target) > 1:
        raise DimensionsUnknown(node=node.id, op=node.op, shape=str(list(sizes)))
    return (0,) * start + target


RESHAPE = Emitter(shape.RESHAPE.name, "Reshape, to a shape that is a constant.", _reshape)
TRANSPOSE = Emitter(shape.TRANSPOSE.name, "Transpose.", _transpose)
CONCAT = Emitter(shape.CONCAT.name, "Concat.", _concat)
FLATTEN = Emitter(
    shape.FLATTEN.name,
    "Flatten, or Reshape where other axes than all but the first merge.",
    _flatten,
    _passed_by_flatten,
)
