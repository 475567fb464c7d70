"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spokeshave.engines.onnx._constants import at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.errors.engines import LayoutNotExportable, PaddingNotExportable
from spokeshave.graph import Node
from spokeshave.ops import shape

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
# The axes of a picture of three dimensions, in the order in which Paddle gives padding: the last one first.
LAST_FIRST = {"NCDHW": (4, 3, 2), "NDHWC": (3, 2, 1)}


def _pad(draft: Draft, node: Node) -> None:
    paddings = [int(n) for n in node.attrs["paddings"]]
    _put_pad(
        draft, node, paddings[::2], paddings[1::2], "constant", draft.constants.number(node, "pad_value")
    )


def _pad3d(draft: Draft, node: Node) -> None:
    front, back = _ends(draft, node)
    _put_pad(draft, node, front, back, MODES[node.attrs["mode"]], node.attrs["pad_value"])


def put_pad_around(draft: Draft, unsqueeze: Node, axis: int) -> bool:
    """Writes the padding of a picture, which Paddle makes a picture of depth one and back, as one node."""
    pad = _only_reader(draft, unsqueeze.out)
    squeeze = _only_reader(draft, pad.out) if pad is not None and pad.op == shape.PAD3D.name else None
    if pad is None or squeeze is None or squeeze.op != shape.SQUEEZE.name:
        return False
    front, back = _ends(draft, pad)
    if draft.constants.get(squeeze.operand("axis")) != axis or front[axis] or back[axis]:
        return False
    del front[axis], back[axis]
    x, out = at(unsqueeze, "x"), squeeze.out
    _put_pad(draft, pad, front, back, MODES[pad.attrs["mode"]], pad.attrs["pad_value"], x=x, out=out)
    draft.merge(pad)
    draft.merge(squeeze)
    return True


def _only_reader(draft: Draft, value: str) -> Node | None:
    readers = draft.view.value(value).readers
    return draft.view.node(readers[0][0]) if len(readers) == 1 and not draft.view.is_output(value) else None


def _ends(draft: Draft, node: Node) -> tuple[list[int], list[int]]:
    """How much is added in front and behind, for each of five axes."""
    mode, layout = node.attrs["mode"], node.attrs["data_format"]
    if mode not in MODES:
        raise PaddingNotExportable(node=node.id, op=node.op, mode=mode)
    if layout not in LAST_FIRST:
        raise LayoutNotExportable(node=node.id, op=node.op, layout=layout)
    paddings = draft.constants.integers(node, "paddings")
    front, back = [0] * 5, [0] * 5
    for i, axis in enumerate(LAST_FIRST[layout]):
        front[axis], back[axis] = paddings[2 * i : 2 * i + 2]
    return front, back


def _put_pad(
    draft: Draft,
    node: Node,
    front: Sequence[int],
    back: Sequence[int],
    mode: str,
    value: float,
    *,
    x: str = "",
    out: str = "",
) -> None:
    source = x or at(node, "x")
    pads = np.array([*front, *back], np.int64)
    inputs = [draft.read(source), draft.initializer(f"{node.id}:pads", pads)]
    if mode == "constant" and value != 0:
        fill = np.array(value, numpy_dtype(draft.view.value(source)))
        inputs.append(draft.initializer(f"{node.id}:value", fill))
    draft.put("Pad", node, inputs, out=out, mode=mode)


PAD = Emitter(shape.PAD.name, "Pad with a constant, of any axes.", _pad)
PAD3D = Emitter(
    shape.PAD3D.name,
    "Pad: constant, reflected, or with what stands at the edge; one node for a picture.",
    _pad3d,
)
