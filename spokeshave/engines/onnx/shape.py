"""Ops that move values and change none."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import helper

from spokeshave.engines.onnx._constants import Constants, at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._sizes import Size, SizeOf, joined_sizes, read_sizes
from spokeshave.engines.onnx._windows import refuse_channels_last
from spokeshave.engines.onnx.pad import put_pad_around
from spokeshave.errors.engines import DimensionsUnknown
from spokeshave.graph import Node
from spokeshave.ops import shape

CHANNELS = 1


def _reshape(draft: Draft, node: Node) -> None:
    known = joined_sizes(draft.constants, node.operands("shape"))
    target = _numbers(draft, node, known) if known else None
    if target is None:
        wanted = read_sizes(draft, node, "shape")
    else:
        parts = node.operands("shape")
        name = parts[0] if len(parts) == 1 else f"{node.id}:shape"
        wanted = draft.initializer(name, np.array(target, np.int64))
    draft.put("Reshape", node, [draft.read(at(node, "x")), wanted])


def _numbers(draft: Draft, node: Node, sizes: tuple[Size, ...]) -> tuple[int, ...] | None:
    """The shape as numbers, where zero keeps and -1 infers a dimension; None where that cannot say it."""
    kept = draft.survey.root(at(node, "x"))
    target = [0 if _is_kept(draft, size, i, kept) else size for i, size in enumerate(sizes)]
    others = [i for i, size in enumerate(target) if isinstance(size, SizeOf)]
    if len(others) > 1 or (others and -1 in target):
        return None
    return tuple(-1 if isinstance(size, SizeOf) else size for size in target)


def _is_kept(draft: Draft, size: Size, place: int, kept: str) -> bool:
    """Whether a size is that of the value that is reshaped, at its own place."""
    return isinstance(size, SizeOf) and size.axis == place and draft.survey.root(size.value) == kept


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


def _squeeze(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    sizes = draft.view.value(x).shape
    given = [n % len(sizes) for n in draft.constants.integers(node, "axis")] if sizes else []
    # Paddle passes over axes that are not of length one. An open one stays, as the program's shapes say.
    axes = sorted({n for n in (given or range(len(sizes))) if sizes[n] == 1})
    if len(sizes) - len(axes) != len(draft.view.value(node.out).shape):
        raise DimensionsUnknown(node=node.id, op=node.op, shape=str(list(sizes)))
    draft.put("Squeeze", node, [draft.read(x), _axes(draft, node, axes)])


def _passed_by_squeeze(constants: Constants, node: Node) -> str | None:
    x = at(node, "x")
    ranks = [len(constants.view.value(value_id).shape) for value_id in (x, node.out)]
    return x if ranks[0] == ranks[1] else None


def _unsqueeze(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    rank = len(draft.view.value(x).shape)
    axes: list[int] = []
    # One after the other in Paddle: each moves those that stand behind it. In ONNX all at once.
    for axis in draft.constants.integers(node, "axis"):
        place = axis % (rank + len(axes) + 1)
        axes = [n + (n >= place) for n in axes] + [place]
    if len(axes) == 1 and put_pad_around(draft, node, axes[0]):
        return
    draft.put("Unsqueeze", node, [draft.read(x), _axes(draft, node, sorted(axes))])


def _stack(draft: Draft, node: Node) -> None:
    axis = node.attrs["axis"] % len(draft.view.value(node.out).shape)
    axes = _axes(draft, node, [axis])
    parts = [
        draft.put_step("Unsqueeze", node, f"part_{i}", [draft.read(x), axes])
        for i, x in enumerate(node.operands("x"))
    ]
    draft.put("Concat", node, parts, axis=axis)


def _axes(draft: Draft, node: Node, axes: Sequence[int]) -> str:
    return draft.initializer(f"{node.id}:axes", np.array(axes, np.int64))


def _cast(draft: Draft, node: Node) -> None:
    wanted = helper.np_dtype_to_tensor_dtype(numpy_dtype(draft.view.value(node.out)))
    draft.put("Cast", node, [draft.read(at(node, "x"))], to=wanted)


def _passed_by_cast(constants: Constants, node: Node) -> str | None:
    x = at(node, "x")
    dtypes = {constants.view.value(value_id).dtype for value_id in (x, node.out)}
    return x if len(dtypes) == 1 else None


def _passed_by_assign(constants: Constants, node: Node) -> str | None:
    return at(node, "x")


def _copy(draft: Draft, node: Node) -> None:
    draft.put("Identity", node, [draft.read(at(node, "x"))])


def _shape(draft: Draft, node: Node) -> None:
    x = draft.read(at(node, "input"))
    wanted = numpy_dtype(draft.view.value(node.out))
    if wanted == np.int64:
        draft.put("Shape", node, [x])
        return
    wide = draft.put_step("Shape", node, "wide", [x])
    draft.put("Cast", node, [wide], to=helper.np_dtype_to_tensor_dtype(wanted))


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


def _pixel_shuffle(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    x = draft.read(at(node, "x"))
    # The pixels of a block are the last part of a channel's number: what ONNX calls CRD.
    draft.put("DepthToSpace", node, [x], blocksize=node.attrs["upscale_factor"], mode="CRD")


def _channel_shuffle(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    x = at(node, "x")
    channels, groups = draft.view.value(x).shape[CHANNELS], node.attrs["groups"]
    if channels < 0:
        raise DimensionsUnknown(node=node.id, op=node.op, shape=str(list(draft.view.value(x).shape)))
    order = np.arange(channels, dtype=np.int64).reshape(groups, -1).T.reshape(-1)
    draft.put("Gather", node, [draft.read(x), draft.initializer(f"{node.id}:order", order)], axis=CHANNELS)


RESHAPE = Emitter(
    shape.RESHAPE.name,
    "Reshape; to a stored shape where numbers can say it, so that any batch fits.",
    _reshape,
)
TRANSPOSE = Emitter(shape.TRANSPOSE.name, "Transpose.", _transpose)
CONCAT = Emitter(shape.CONCAT.name, "Concat.", _concat)
FLATTEN = Emitter(
    shape.FLATTEN.name,
    "Flatten, or Reshape where other axes than all but the first merge.",
    _flatten,
    _passed_by_flatten,
)
SQUEEZE = Emitter(
    shape.SQUEEZE.name, "Squeeze of the axes that have length one.", _squeeze, _passed_by_squeeze
)
UNSQUEEZE = Emitter(shape.UNSQUEEZE.name, "Unsqueeze; nothing before the padding of a picture.", _unsqueeze)
STACK = Emitter(shape.STACK.name, "Unsqueeze and Concat.", _stack)
CAST = Emitter(shape.CAST.name, "Cast.", _cast, _passed_by_cast)
ASSIGN = Emitter(shape.ASSIGN.name, "Nothing.", _copy, _passed_by_assign)
SHAPE = Emitter(shape.SHAPE.name, "Shape, and Cast to the type that is asked for.", _shape)
SHAPE64 = Emitter(shape.SHAPE64.name, "Shape.", _shape)
PIXEL_SHUFFLE = Emitter(shape.PIXEL_SHUFFLE.name, "DepthToSpace.", _pixel_shuffle)
CHANNEL_SHUFFLE = Emitter(
    shape.CHANNEL_SHUFFLE.name, "Gather of the channels in their new order.", _channel_shuffle
)
