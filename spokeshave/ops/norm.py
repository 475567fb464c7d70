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

PLAIN_BATCH_NORM = OpFacts(
    name="pd_op.batch_norm",
    doc="Batch normalisation that leaves the statistics it is given as they are.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
)

SYNC_BATCH_NORM = OpFacts(
    name="pd_op.sync_batch_norm_",
    doc="Batch normalisation over all cards of a training; on one of them, and in test mode, `batch_norm_`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
)

LAYER_NORM = OpFacts(
    name="pd_op.layer_norm",
    doc="Each example, or each token of it, normalised over the axes from `begin_norm_axis` on.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
)

INSTANCE_NORM = OpFacts(
    name="pd_op.instance_norm",
    doc="Each channel of each picture normalised for itself.",
    flow=ChannelFlow.KEEPS,
)

GROUP_NORM = OpFacts(
    name="pd_op.group_norm",
    doc="Each group of channels of each picture normalised for itself.",
    flow=ChannelFlow.MIXES,
    channel_axis=channel_axis,
)
