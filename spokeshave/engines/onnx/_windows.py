"""Padding and layout, as convolution and pooling share them."""

from __future__ import annotations

from spokeshave.errors.engines import LayoutNotExportable, WindowNotExportable
from spokeshave.graph import GraphView, Node

Pads = tuple[int, int, int, int]

CHANNELS_FIRST = ("NCHW", "AnyLayout")
HEIGHT = 2


def refuse_channels_last(node: Node) -> None:
    """Raises for a node whose channels are not in axis 1."""
    layout = node.attrs.get("data_format", "NCHW")
    if layout not in CHANNELS_FIRST:
        raise LayoutNotExportable(node=node.id, op=node.op, layout=layout)


def pads_of(view: GraphView, node: Node, data: str, window: tuple[int, ...]) -> Pads | None:
    """Padding as ONNX orders it (top, left, bottom, right).

    None where it hangs on an open height or width: `SAME_UPPER`, as ONNX calls it.
    """
    algorithm = node.attrs.get("padding_algorithm", "EXPLICIT")
    if algorithm == "VALID":
        return (0, 0, 0, 0)
    if algorithm == "SAME":
        return _same_pads(view, node, data, window)
    paddings = node.attrs["paddings"]
    # Paddle has two numbers (height, width) or four (top, bottom, left, right).
    top, bottom, left, right = paddings if len(paddings) == 4 else [n for n in paddings for _ in (0, 1)]
    return (top, left, bottom, right)


def is_same(node: Node) -> bool:
    """Whether padding is chosen so that a stride of one keeps the size."""
    return bool(node.attrs.get("padding_algorithm") == "SAME")


def _same_pads(view: GraphView, node: Node, data: str, window: tuple[int, ...]) -> Pads | None:
    sizes = view.value(data).shape[HEIGHT:]
    strides = node.attrs["strides"]
    if all(length == 1 for length in window):
        return (0, 0, 0, 0)
    if min(sizes) >= 0:
        sums = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(sizes, strides, window)]
        return (sums[0] // 2, sums[1] // 2, sums[0] - sums[0] // 2, sums[1] - sums[1] // 2)
    if any(k < s for k, s in zip(window, strides)):
        why = f"SAME padding of a window {list(window)} below its stride {list(strides)} on open sizes"
        raise WindowNotExportable(node=node.id, op=node.op, why=why)
    return None
