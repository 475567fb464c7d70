"""Convolutions."""

from __future__ import annotations

from typing import Any

from spokeshave.engines.onnx._bias import put_bias
from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._windows import is_same, pads_of, refuse_channels_last
from spokeshave.graph import Node, block_of
from spokeshave.ops import conv


def _conv(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    data, weight = at(node, "input"), at(node, "filter")
    attrs = _attrs(draft, node, data, draft.view.value(weight).shape[2:])
    inputs = [draft.read(data), draft.read(weight)]
    bias = block_of(draft.view, node).bias
    if bias is None:
        draft.put("Conv", node, inputs, **attrs)
        return
    inputs.append(put_bias(draft, bias, data, weight))
    draft.put("Conv", node, inputs, out=bias.add.out, **attrs)


def _attrs(draft: Draft, node: Node, data: str, kernel: tuple[int, ...]) -> dict[str, Any]:
    # Paddle sets dilations to one where padding is SAME, whatever the node says.
    dilations = (1, 1) if is_same(node) else tuple(node.attrs["dilations"])
    attrs = {
        "kernel_shape": kernel,
        "strides": tuple(node.attrs["strides"]),
        "dilations": dilations,
        "group": node.attrs["groups"],
    }
    pads = pads_of(draft.view, node, data, kernel)
    return {**attrs, **({"auto_pad": "SAME_UPPER"} if pads is None else {"pads": pads})}


CONV = Emitter(conv.CONV.name, "Conv, with the bias that follows it.", _conv)
DEPTHWISE_CONV = Emitter(
    conv.DEPTHWISE_CONV.name, "Conv in as many groups as channels, with the bias that follows it.", _conv
)
