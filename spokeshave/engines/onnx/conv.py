"""Convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spokeshave.engines.onnx._bias import put_bias
from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._windows import HEIGHT, is_same, pads_of, refuse_channels_last
from spokeshave.errors.engines import WindowNotExportable
from spokeshave.graph import Node, block_of
from spokeshave.ops import conv


def _conv(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    data, weight = at(node, "input"), at(node, "filter")
    attrs = _attrs(draft, node, data, draft.view.value(weight).shape[HEIGHT:])
    _put(draft, node, "Conv", data, weight, attrs)


def _put(draft: Draft, node: Node, op_type: str, data: str, weight: str, attrs: dict[str, Any]) -> None:
    """Writes a convolution, with the bias that follows it."""
    inputs = [draft.read(data), draft.read(weight)]
    bias = block_of(draft.view, node).bias
    if bias is None:
        draft.put(op_type, node, inputs, **attrs)
        return
    inputs.append(put_bias(draft, bias, data, weight))
    draft.put(op_type, node, inputs, out=bias.add.out, **attrs)


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


def _conv_transpose(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    data, weight = at(node, "x"), at(node, "filter")
    attrs = _transposed_attrs(draft, node, data, draft.view.value(weight).shape[HEIGHT:])
    _put(draft, node, "ConvTranspose", data, weight, attrs)


def _transposed_attrs(draft: Draft, node: Node, data: str, kernel: tuple[int, ...]) -> dict[str, Any]:
    attrs, sizes = _attrs(draft, node, data, kernel), _wanted_sizes(draft, node)
    if "pads" not in attrs:
        # What ONNX calls the same padding makes the result as large as the input times the stride.
        raise _refusal(node, "SAME padding on open sizes")
    extra = tuple(node.attrs.get("output_padding") or ())
    if sizes:
        extra = tuple(_behind(draft, node, data, attrs, sizes))
    return {**attrs, **({"output_padding": extra} if any(extra) else {})}


def _wanted_sizes(draft: Draft, node: Node) -> tuple[int, ...]:
    return draft.constants.integers(node, "output_size") if node.operands("output_size") else ()


def _behind(
    draft: Draft, node: Node, data: str, attrs: dict[str, Any], wanted: tuple[int, ...]
) -> Iterator[int]:
    """Rows and columns to be added behind the result, so that it has the size that the node asks for."""
    for axis, size in enumerate(draft.view.value(data).shape[HEIGHT:]):
        if size < 0:
            raise _refusal(node, "a size of the result is asked for and that of the input is open")
        window = attrs["dilations"][axis] * (attrs["kernel_shape"][axis] - 1) + 1
        cut = attrs["pads"][axis] + attrs["pads"][axis + 2]
        yield wanted[axis] - ((size - 1) * attrs["strides"][axis] + window - cut)


def _refusal(node: Node, why: str) -> WindowNotExportable:
    return WindowNotExportable(node=node.id, op=node.op, why=why)


CONV = Emitter(conv.CONV.name, "Conv, with the bias that follows it.", _conv)
DEPTHWISE_CONV = Emitter(
    conv.DEPTHWISE_CONV.name, "Conv in as many groups as channels, with the bias that follows it.", _conv
)
CONV_TRANSPOSE = Emitter(
    conv.CONV_TRANSPOSE.name, "ConvTranspose, with the bias that follows it.", _conv_transpose
)
DEPTHWISE_CONV_TRANSPOSE = Emitter(
    conv.DEPTHWISE_CONV_TRANSPOSE.name, "ConvTranspose in as many groups as channels.", _conv_transpose
)
