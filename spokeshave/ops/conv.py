"""Convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spokeshave.ops._facts import Attrs, Axis, ChannelFlow, OpFacts, Shape


def channel_axis(attrs: Attrs, rank: int) -> int:
    """Axis 1, or the last one in the NHWC layout."""
    return rank - 1 if attrs.get("data_format") == "NHWC" else 1


def _weight_axis(attrs: Attrs) -> Axis:
    # Filters are stored [out, in / groups, height, width] in either data format.
    return Axis(out=0, into=1)


def _macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    # Each element of the result sums one filter: in / groups times the window.
    return prod(shapes["out"]) * prod(shapes["filter"][1:])


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
)


def _transposed_axis(attrs: Attrs) -> Axis:
    # Filters of a transposed convolution are stored [in, out / groups, height, width].
    return Axis(out=1, into=0)


def _transposed_macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    # Each element of the operand is multiplied with one filter: out / groups times the window.
    return prod(shapes["x"]) * prod(shapes["filter"][1:])


CONV_TRANSPOSE = OpFacts(
    name="pd_op.conv2d_transpose",
    doc="A transposed 2-D convolution, which enlarges a picture. Its bias is a separate `add`.",
    flow=ChannelFlow.MIXES,
    weight="filter",
    weight_axis=_transposed_axis,
    channel_axis=channel_axis,
    macs=_transposed_macs,
)

DEPTHWISE_CONV_TRANSPOSE = OpFacts(
    name="pd_op.depthwise_conv2d_transpose",
    doc="A transposed 2-D convolution with one group per input channel: channels do not mix.",
    flow=ChannelFlow.KEEPS,
    weight="filter",
    weight_axis=_transposed_axis,
    channel_axis=channel_axis,
    macs=_transposed_macs,
)
