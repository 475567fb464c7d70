"""Parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._sizes import read_numbers
from spokeshave.errors.engines import DimensionsUnknown
from spokeshave.graph import Node
from spokeshave.ops import shape


def _slice(draft: Draft, node: Node) -> None:
    axes, dropped = node.attrs["axes"], node.attrs.get("decrease_axis") or ()
    inputs = [
        draft.read(at(node, "input")),
        *(read_numbers(draft, node, name) for name in ("starts", "ends")),
    ]
    inputs.append(_stored(draft, node, "axes", axes))
    if not dropped:
        draft.put("Slice", node, inputs)
        return
    part = draft.put_step("Slice", node, "part", inputs)
    draft.put("Squeeze", node, [part, _stored(draft, node, "dropped", dropped)])


def _strided_slice(draft: Draft, node: Node) -> None:
    starts, ends, strides = (read_numbers(draft, node, name) for name in ("starts", "ends", "strides"))
    axes = _stored(draft, node, "axes", node.attrs["axes"])
    draft.put("Slice", node, [draft.read(at(node, "x")), starts, ends, axes, strides])


def _split(draft: Draft, node: Node) -> None:
    axis = int(draft.constants.number(node, "axis"))
    sections = list(draft.constants.integers(node, "sections"))
    if -1 in sections:
        sections[sections.index(-1)] = _rest(draft, node, axis, sections)
    inputs = [draft.read(at(node, "x")), _stored(draft, node, "sections", sections)]
    draft.put_all("Split", node, inputs, axis=axis)


def _rest(draft: Draft, node: Node, axis: int, sections: Sequence[int]) -> int:
    """What is left for the section whose length is not given."""
    sizes = draft.view.value(at(node, "x")).shape
    if sizes[axis] < 0:
        raise DimensionsUnknown(node=node.id, op=node.op, shape=str(list(sizes)))
    return sizes[axis] - sum(n for n in sections if n >= 0)


def _split_evenly(draft: Draft, node: Node) -> None:
    # Parts of one length are what ONNX makes where no lengths are given.
    axis = int(draft.constants.number(node, "axis"))
    draft.put_all("Split", node, [draft.read(at(node, "x"))], axis=axis)


def _stored(draft: Draft, node: Node, part: str, numbers: Sequence[int]) -> str:
    return draft.initializer(f"{node.id}:{part}", np.array(numbers, np.int64))


SLICE = Emitter(shape.SLICE.name, "Slice, and Squeeze for axes that are indexed away.", _slice)
STRIDED_SLICE = Emitter(shape.STRIDED_SLICE.name, "Slice with steps.", _strided_slice)
SPLIT = Emitter(shape.SPLIT.name, "Split into sections of given lengths.", _split, gives_all=True)
SPLIT_WITH_NUM = Emitter(
    shape.SPLIT_WITH_NUM.name, "Split into sections of one length.", _split_evenly, gives_all=True
)
