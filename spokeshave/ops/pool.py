"""Pooling."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts, Sign
from spokeshave.ops.conv import channel_axis

POOL = OpFacts(
    name="pd_op.pool2d",
    doc="Maximum or average over windows, or over the whole picture. A maximum is one of the values it saw.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    sign=Sign.AS_INPUTS,
    passes_values=lambda attrs: attrs.get("pooling_type") == "max",
)
