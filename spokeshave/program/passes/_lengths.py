"""Lengths that only the data tells, followed back to where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from spokeshave.graph import GraphView, Node
from spokeshave.ops.elementwise import ADD, MULTIPLY
from spokeshave.ops.lengths import keeps_length
from spokeshave.ops.linear import MATMUL
from spokeshave.ops.shape import FLATTEN, RESHAPE, SLICE, TRANSPOSE


@dataclass(frozen=True)
class Length:
    """A length that only the data tells: that of a value along one of its axes."""

    value: str
    axis: int


@dataclass(frozen=True)
class Origins:
    """Tells for a length the first one that is the same whatever the data is.

    `known` are the numbers that are known of values, which may be lengths.
    """

    view: GraphView
    known: Mapping[str, np.ndarray]
    _found: dict[Length, Length] = field(default_factory=dict)

    def of(self, value: str, axis: int) -> Length:
        """Where the length of a value along an axis comes from; itself where nothing is certain."""
        length = Length(value, axis)
        return self._found.get(length, length)

    def follow(self, node: Node) -> None:
        """Takes up the open lengths of what a node makes; to be called for each node, in order."""
        for axis, length in enumerate(self.view.value(node.out).shape if node.outputs else ()):
            before = self._before(node, axis) if length < 0 else None
            if before is not None:
                self._found[Length(node.out, axis)] = self.of(before.value, before.axis)

    def _before(self, node: Node, axis: int) -> _Maybe:
        if keeps_length(node.op, axis):
            return Length(node.inputs[0][1], axis)
        if node.op in (ADD.name, MULTIPLY.name):
            return self._of_both(node, axis)
        if node.op == MATMUL.name:
            return self._of_product(node, axis)
        if node.op == RESHAPE.name:
            return self._of_reshape(node, axis)
        return _moved(node, axis)

    def _of_both(self, node: Node, axis: int) -> _Maybe:
        """The side that the other is stretched to, or either where both have one length."""
        x, y = (node.operand(name) or "" for name in ("x", "y"))
        rank, own, other = (len(self.view.value(v).shape) for v in (node.out, x, y))
        if own != rank:
            return None
        if other < rank - axis or self.view.value(y).shape[axis - rank] == 1:
            return Length(x, axis)
        return Length(x, axis) if self.of(x, axis) == self.of(y, axis + other - rank) else None

    def _of_product(self, node: Node, axis: int) -> _Maybe:
        x, y = (node.operand(name) or "" for name in ("x", "y"))
        rank, own, other = (len(self.view.value(v).shape) for v in (node.out, x, y))
        # The last axis is that of the channels; before it lie the rows of x, and before these the batch.
        is_row = axis == rank - 2 and not node.attrs.get("transpose_x")
        if own != rank or other < 2 or not (is_row or axis < rank - 2):
            return None
        if is_row or other == 2:
            return Length(x, axis)
        return self._of_both(node, axis)

    def _of_reshape(self, node: Node, axis: int) -> _Maybe:
        parts = [self.known.get(value) for value in node.operands("shape")]
        there = [part.reshape(-1) for part in parts if part is not None]
        if not there or len(there) < len(parts):
            return None
        number = [n for part in there for n in part][axis]
        if isinstance(number, Length):
            return number
        is_kept = isinstance(number, (int, np.integer)) and number == 0
        return Length(node.operand("x") or "", axis) if is_kept else None


_Maybe = Optional[Length]


def _moved(node: Node, axis: int) -> _Maybe:
    """The length of the operand that an op which moves axes, or takes parts of some, leaves whole."""
    x = node.operand("x") or ""
    if node.op == TRANSPOSE.name:
        return Length(x, int(node.attrs["perm"][axis]))
    if node.op == FLATTEN.name and axis < node.attrs["start_axis"]:
        return Length(x, axis)
    if node.op == SLICE.name:
        gone, cut = (set(node.attrs.get(name, ())) for name in ("decrease_axis", "axes"))
        for lost in sorted(gone):
            axis += lost <= axis
        return Length(node.operand("input") or "", axis) if axis not in cut else None
    return None
