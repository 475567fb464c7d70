"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from spokeshave.engines.onnx._constants import Array, at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._windows import HEIGHT, Pads, pads_of, refuse_channels_last
from spokeshave.errors.engines import WindowNotExportable
from spokeshave.graph import GraphView, Node
from spokeshave.ops import pool

Parts = list[tuple[int, int]]

WINDOWED = {"max": "MaxPool", "avg": "AveragePool"}
GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}


def _pool(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    x, kind = at(node, "x"), node.attrs.get("pooling_type", "max")
    if _is_global(draft, node):
        draft.put(GLOBAL[kind], node, [draft.read(x)])
        return
    if node.attrs.get("adaptive"):
        _adaptive(draft, node, x, kind)
        return
    window = _window(draft, node)
    pads = pads_of(draft.view, node, x, window)
    _refuse_other_counts(node, kind, pads)
    _refuse_windows_behind(draft.view, node, x, window, pads)
    if kind == "avg" and pads is not None and _cuts_counted_windows(draft.view, node, x, window, pads):
        _averages_with_padding(draft, node, x, window, pads)
        return
    draft.put(WINDOWED[kind], node, [draft.read(x)], **_attrs(node, kind, window, pads))


def _cuts_counted_windows(view: GraphView, node: Node, x: str, window: tuple[int, ...], pads: Pads) -> bool:
    """Whether padding counts, and what a last window covers beyond it does not.

    ONNX means that too, but the integer kernel of ONNX Runtime counts all of the window.
    """
    if node.attrs.get("exclusive", True) or not node.attrs.get("ceil_mode"):
        return False
    sizes, strides = view.value(x).shape[HEIGHT:], tuple(node.attrs["strides"])
    if any(size < 0 and stride > 1 for size, stride in zip(sizes, strides)):
        raise _refusal(node, "an average in ceil mode that counts padding, of open sizes")
    reaches = [size + pads[i] + pads[i + 2] - window[i] for i, size in enumerate(sizes)]
    return any(reach % stride for reach, stride in zip(reaches, strides))


def _averages_with_padding(draft: Draft, node: Node, x: str, window: tuple[int, ...], pads: Pads) -> None:
    """Averages whose padding has a share, but no pixels."""
    cuts = []
    for i, size in enumerate(draft.view.value(x).shape[HEIGHT:]):
        stride, (front, back) = node.attrs["strides"][i], (pads[i], pads[i + 2])
        count = -(-(size + front + back - window[i]) // stride) + 1
        starts = [n * stride - front for n in range(count)]
        cuts.append([(start, min(start + window[i], size + back)) for start in starts])
    _averages(draft, node, x, cuts)


def _is_global(draft: Draft, node: Node) -> bool:
    if node.attrs.get("global_pooling"):
        return True
    if not node.attrs.get("adaptive"):
        return False
    return all(size == 1 for size in _window(draft, node))


def _window(draft: Draft, node: Node) -> tuple[int, ...]:
    """The size of the windows; of an adaptive pooling that of its result."""
    size = node.attrs.get("kernel_size")
    return draft.constants.integers(node, "kernel_size") if size is None else tuple(size)


def _adaptive(draft: Draft, node: Node, x: str, kind: str) -> None:
    counts, sizes = _window(draft, node), draft.view.value(x).shape[HEIGHT:]
    if any(size < 0 for size in sizes):
        raise _refusal(node, f"adaptive pooling of open sizes to {list(counts)}")
    if not any(size % count for size, count in zip(sizes, counts)):
        window = tuple(size // count for size, count in zip(sizes, counts))
        draft.put(WINDOWED[kind], node, [draft.read(x)], kernel_shape=window, strides=window)
        return
    parts = [_parts(size, count) for size, count in zip(sizes, counts)]
    (_largest if kind == "max" else _averages)(draft, node, x, parts)


def _parts(size: int, count: int) -> Parts:
    """Where each part begins and ends, as Paddle cuts them: they may differ in length, and overlap."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _largest(draft: Draft, node: Node, x: str, parts: list[Parts]) -> None:
    """A MaxPool after a Gather that makes all parts as long as the longest, by values that they have."""
    values, window = draft.read(x), tuple(max(end - start for start, end in some) for some in parts)
    for axis, (some, length) in enumerate(zip(parts, window), HEIGHT):
        picked = [min(start + i, end - 1) for start, end in some for i in range(length)]
        indices = draft.initializer(f"{node.id}:indices_{axis}", np.array(picked, np.int64))
        values = draft.put_step("Gather", node, f"picked_{axis}", [values, indices], axis=axis)
    draft.put("MaxPool", node, [values], kernel_shape=window, strides=window)


def _averages(draft: Draft, node: Node, x: str, parts: list[Parts]) -> None:
    """Products from both sides: an average over a part is a sum of its values with equal shares."""
    sizes, dtype = draft.view.value(x).shape[HEIGHT:], numpy_dtype(draft.view.value(x))
    high, wide = (_shares(some, size).astype(dtype) for some, size in zip(parts, sizes))
    rows = draft.initializer(f"{node.id}:rows", high)
    columns = draft.initializer(f"{node.id}:columns", np.ascontiguousarray(wide.T))
    averaged = draft.put_step("MatMul", node, "averaged_rows", [rows, draft.read(x)])
    draft.put("MatMul", node, [averaged, columns])


def _shares(parts: Parts, size: int) -> Array:
    shares = np.zeros((len(parts), size))
    for i, (start, end) in enumerate(parts):
        shares[i, max(start, 0) : end] = 1 / (end - start)
    return shares


def _attrs(node: Node, kind: str, window: tuple[int, ...], pads: Pads | None) -> dict[str, Any]:
    attrs: dict[str, Any] = {
        "kernel_shape": window,
        "strides": tuple(node.attrs["strides"]),
        "ceil_mode": int(bool(node.attrs.get("ceil_mode"))),
    }
    if kind == "avg":
        attrs["count_include_pad"] = int(not node.attrs.get("exclusive", True))
    return {**attrs, **({"auto_pad": "SAME_UPPER"} if pads is None else {"pads": pads})}


def _refuse_other_counts(node: Node, kind: str, pads: Pads | None) -> None:
    # Where padding counts, Paddle takes the padding behind for as wide as that in front.
    is_even = pads is not None and pads[:2] == pads[2:]
    if kind == "avg" and not node.attrs.get("exclusive", True) and not is_even:
        raise _refusal(node, "an average that counts padding, over padding that differs front and back")


def _refuse_windows_behind(
    view: GraphView, node: Node, data: str, window: tuple[int, ...], pads: Pads | None
) -> None:
    # In ceil mode Paddle keeps a last window that starts behind the input; ONNX drops it.
    if not node.attrs.get("ceil_mode") or pads is None:
        return
    for axis, size in enumerate(view.value(data).shape[HEIGHT:]):
        stride, front, back = node.attrs["strides"][axis], pads[axis], pads[axis + 2]
        reach = size + front + back - window[axis]
        last = -(-reach // stride) * stride - front
        can_start_behind = last >= size if size >= 0 else stride > window[axis] - back
        if can_start_behind:
            raise _refusal(node, "in ceil mode its last window can start behind the input")


def _refusal(node: Node, why: str) -> WindowNotExportable:
    return WindowNotExportable(node=node.id, op=node.op, why=why)


POOL = Emitter(
    pool.POOL.name,
    "MaxPool, AveragePool, or their global forms; with Gather or as MatMul where parts differ in length.",
    _pool,
)
MAX_POOL_WITH_INDEX = Emitter(
    pool.MAX_POOL_WITH_INDEX.name, "MaxPool or GlobalMaxPool; the indices cannot be read.", _pool
)
