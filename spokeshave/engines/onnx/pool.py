"""Pooling."""

from __future__ import annotations

from typing import Any

from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._windows import HEIGHT, Pads, pads_of, refuse_channels_last
from spokeshave.errors.engines import WindowNotExportable
from spokeshave.graph import GraphView, Node
from spokeshave.ops import pool

WINDOWED = {"max": "MaxPool", "avg": "AveragePool"}
GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}


def _pool(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    x, kind = at(node, "x"), node.attrs["pooling_type"]
    if _is_global(draft, node):
        draft.put(GLOBAL[kind], node, [draft.read(x)])
        return
    if node.attrs.get("adaptive"):
        window = _even_parts(draft, node, x)
        draft.put(WINDOWED[kind], node, [draft.read(x)], kernel_shape=window, strides=window)
        return
    window = draft.constants.integers(node, "kernel_size")
    pads = pads_of(draft.view, node, x, window)
    _refuse_other_counts(node, kind, pads)
    _refuse_windows_behind(draft.view, node, x, window, pads)
    draft.put(WINDOWED[kind], node, [draft.read(x)], **_attrs(node, kind, window, pads))


def _is_global(draft: Draft, node: Node) -> bool:
    if node.attrs.get("global_pooling"):
        return True
    if not node.attrs.get("adaptive"):
        return False
    return all(size == 1 for size in draft.constants.integers(node, "kernel_size"))


def _even_parts(draft: Draft, node: Node, x: str) -> tuple[int, ...]:
    """The window of an adaptive pooling whose parts are all alike; ONNX has windows of one size only."""
    parts, sizes = draft.constants.integers(node, "kernel_size"), draft.view.value(x).shape[HEIGHT:]
    if any(size < 0 or size % count for size, count in zip(sizes, parts)):
        raise _refusal(node, f"adaptive pooling of {list(sizes)} to {list(parts)}, which are no even parts")
    return tuple(size // count for size, count in zip(sizes, parts))


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


POOL = Emitter(pool.POOL.name, "MaxPool, AveragePool, or their global forms.", _pool)
