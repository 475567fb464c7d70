"""Pictures in another size."""

from __future__ import annotations

from typing import Any

import numpy as np

from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._sizes import read_numbers
from spokeshave.engines.onnx._windows import HEIGHT, refuse_channels_last
from spokeshave.graph import Node
from spokeshave.ops import resize

LISTS = ("size_tensor", "out_size")  # where there are both, Paddle takes the first


def _nearest(draft: Draft, node: Node) -> None:
    # Paddle takes the pixel at `floor(i * in / out)`, or the one nearest to it between the corners.
    if node.attrs["align_corners"]:
        _resize(draft, node, "nearest", "align_corners", nearest_mode="round_prefer_ceil")
    else:
        _resize(draft, node, "nearest", "asymmetric", nearest_mode="floor")


def _bilinear(draft: Draft, node: Node) -> None:
    if node.attrs["align_corners"]:
        coordinates = "align_corners"
    else:
        # Not plain half pixels: of a side that shrinks to one pixel Paddle takes the first, not the middle.
        coordinates = "asymmetric" if node.attrs["align_mode"] else "pytorch_half_pixel"
    _resize(draft, node, "linear", coordinates)


def _resize(draft: Draft, node: Node, mode: str, coordinates: str, **attrs: Any) -> None:
    refuse_channels_last(node)
    x = draft.read(at(node, "x"))
    scales, sizes = _scales(draft, node), ""
    if not scales:
        sizes = _sizes(draft, node, x)
    inputs = [x, "", scales] if scales else [x, "", "", sizes]
    draft.put("Resize", node, inputs, mode=mode, coordinate_transformation_mode=coordinates, **attrs)


def _scales(draft: Draft, node: Node) -> str:
    """The factors as ONNX has them, with those of batch and channels; empty where the node has sizes."""
    if any(node.operands(name) for name in LISTS):
        return ""
    factors: list[float] = list(node.attrs.get("scale") or [])
    if node.operands("scale_tensor"):
        factors = draft.constants.of(node, "scale_tensor").reshape(-1).tolist()
    if not factors:
        return ""
    both = factors[0], factors[-1]  # one factor stands for both
    return draft.initializer(f"{node.id}:scales", np.array([1, 1, *both], np.float32))


def _sizes(draft: Draft, node: Node, x: str) -> str:
    """The size of the result: batch and channels as they come in, height and width as the node says."""
    operand = next((name for name in LISTS if node.operands(name)), "")
    if not operand:
        known = [node.attrs["out_h"], node.attrs["out_w"]]
        picture = draft.initializer(f"{node.id}:size", np.array(known, np.int64))
    else:
        picture = read_numbers(draft, node, operand)
    shape = draft.put_step("Shape", node, "shape", [x], end=HEIGHT)
    return draft.put_step("Concat", node, "sizes", [shape, picture], axis=0)


NEAREST = Emitter(resize.NEAREST.name, "Resize, nearest: rounded down, or aligned at the corners.", _nearest)
BILINEAR = Emitter(
    resize.BILINEAR.name,
    "Resize, linear: half pixels, from the corner on, or aligned at the corners.",
    _bilinear,
)
