"""Normalisations."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts
from spokeshave.ops.conv import channel_axis

BATCH_NORM = OpFacts(
    name="pd_op.batch_norm_",
    doc="Batch normalisation. In test mode a scale and a shift per channel, "
    "which fold into the weights before it.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
)

SYNC_BATCH_NORM = OpFacts(
    name="pd_op.sync_batch_norm_",
    doc="Batch normalisation whose statistics are those of all devices together. "
    "In test mode the same scale and shift as `pd_op.batch_norm_`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
)
