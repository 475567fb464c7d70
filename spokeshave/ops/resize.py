"""Pictures made larger or smaller."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts, Sign
from spokeshave.ops.conv import channel_axis

NEAREST = OpFacts(
    name="pd_op.nearest_interp",
    doc="Each pixel of the result is the nearest one of `x`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    sign=Sign.AS_INPUTS,
    passes_values=lambda attrs: True,
)

BILINEAR = OpFacts(
    name="pd_op.bilinear_interp",
    doc="Each pixel of the result is a mean of the four of `x` around it.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    sign=Sign.AS_INPUTS,
)

BICUBIC = OpFacts(
    name="pd_op.bicubic_interp",
    doc="Each pixel of the result is weighed from sixteen of `x`; some weights are negative.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
)
