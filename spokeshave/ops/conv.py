"""Convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spokeshave.ops._facts import Attrs, Axis, ChannelFlow, OldOp, OpFacts, Shape, multiplies, same


def channel_axis(attrs: Attrs, rank: int) -> int:
    """Axis 1, or the last one in a layout such as NHWC."""
    return rank - 1 if str(attrs.get("data_format", "NCHW")).endswith("C") else 1


def _weight_axis(attrs: Attrs) -> Axis:
    # Filters are stored [out, in / groups, height, width] in either data format.
    return Axis(out=0, into=1)


def _macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    # Each element of the result sums one filter: in / groups times the window.
    return prod(shapes["out"]) * prod(shapes["filter"][1:])


_WINDOW = same("strides", "paddings", "padding_algorithm", "dilations", "groups", "data_format")


def _old(kind: str) -> OldOp:
    return OldOp(kind, {"input": "Input", "filter": "Filter"}, {"out": "Output"}, _WINDOW)


CONV = OpFacts(
    name="pd_op.conv2d",
    doc="A 2-D convolution. With `groups` above one channels mix within a group. "
    "Its bias is a separate `add`.",
    flow=ChannelFlow.MIXES,
    data=("input",),
    weight="filter",
    weight_axis=_weight_axis,
    channel_axis=channel_axis,
    macs=_macs,
    on_codes=multiplies,
    old=_old("conv2d"),
)

CONV3D = OpFacts(
    name="pd_op.conv3d",
    doc="A 3-D convolution. With `groups` above one channels mix within a group.",
    flow=ChannelFlow.MIXES,
    data=("input",),
    weight="filter",
    weight_axis=_weight_axis,
    channel_axis=channel_axis,
    macs=_macs,
    on_codes=multiplies,
    old=_old("conv3d"),
)

DEPTHWISE_CONV = OpFacts(
    name="pd_op.depthwise_conv2d",
    doc="A 2-D convolution with one group per input channel: channels do not mix. "
    "A filter that makes n channels of each reads channel i // n for its channel i.",
    flow=ChannelFlow.KEEPS,
    data=("input",),
    weight="filter",
    weight_axis=_weight_axis,
    channel_axis=channel_axis,
    macs=_macs,
    on_codes=multiplies,
    old=_old("depthwise_conv2d"),
)


def _transposed_macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    # Each element of the operand goes into one filter: out / groups times the window.
    return prod(shapes["x"]) * prod(shapes["filter"][1:])


def _old_transposed(kind: str) -> OldOp:
    operands = {"x": "Input", "filter": "Filter"}
    attrs = {**_WINDOW, **same("output_padding")}
    return OldOp(kind, operands, {"out": "Output"}, attrs, constants=same("output_size"))


CONV_TRANSPOSE = OpFacts(
    name="pd_op.conv2d_transpose",
    doc="A 2-D transposed convolution, which makes pictures larger. With `groups` above one channels mix "
    "within a group. Its bias is a separate `add`.",
    flow=ChannelFlow.MIXES,
    weight="filter",
    channel_axis=channel_axis,
    on_codes=multiplies,
    weight_axis=lambda attrs: Axis(out=1, into=0),
    macs=_transposed_macs,
    old=_old_transposed("conv2d_transpose"),
)

DEPTHWISE_CONV_TRANSPOSE = OpFacts(
    name="pd_op.depthwise_conv2d_transpose",
    doc="A 2-D transposed convolution with one group per input channel, each of one filter: channels do not "
    "mix. Slice i of its filter belongs to channel i on either side.",
    flow=ChannelFlow.KEEPS,
    weight="filter",
    channel_axis=channel_axis,
    on_codes=multiplies,
    weight_axis=lambda attrs: Axis(out=0, into=1),
    macs=_transposed_macs,
    old=_old_transposed("depthwise_conv2d_transpose"),
)
