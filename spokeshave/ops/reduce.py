"""Ops in which axes, and often channels, end."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts, Sign

MEAN = OpFacts(
    name="pd_op.mean",
    doc="The mean over the axes in the operand `axis`, over all where it is empty. Over the picture's axes "
    "alone the channels go on: whoever follows channels must look at `axis` or at the shape of the result.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
)

MAX = OpFacts(
    name="pd_op.max",
    doc="The largest over the axes in the operand `axis`, over all where it is empty. Over the picture's "
    "axes alone the channels go on: whoever follows channels must look there or at the shape of the result.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    passes_values=lambda attrs: True,
)

CROSS_ENTROPY = OpFacts(
    name="pd_op.cross_entropy_with_softmax",
    doc="The loss of a classifier. Its first result is the softmax, its second, `loss`, one per example. "
    "With `use_softmax` off it takes what it is given for probabilities, so the loss may be negative.",
    flow=ChannelFlow.REDUCES,
    data=("input",),
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
)
