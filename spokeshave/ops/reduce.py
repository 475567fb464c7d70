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

SUM = OpFacts(
    name="pd_op.sum",
    doc="The sum over the axes in the operand `axis`, over all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
)

MIN = OpFacts(
    name="pd_op.min",
    doc="The smallest over the axes in the operand `axis`, over all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    passes_values=lambda attrs: True,
)

PROD = OpFacts(
    name="pd_op.prod",
    doc="The product over the axes in the operand `axis`, over all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
)

ANY = OpFacts(
    name="pd_op.any",
    doc="Whether one is true along the axes in `axis`, along all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
)

ALL = OpFacts(
    name="pd_op.all",
    doc="Whether all are true along the axes in `axis`, along all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
)

ARGMAX = OpFacts(
    name="pd_op.argmax",
    doc="Where along an axis the largest lies.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
)

ARGMIN = OpFacts(
    name="pd_op.argmin",
    doc="Where along an axis the smallest lies.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
)

TOPK = OpFacts(
    name="pd_op.topk",
    doc="The `k` largest along `axis`, and where they lie.",
    flow=ChannelFlow.REDUCES,
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
)

ACCURACY = OpFacts(
    name="pd_op.accuracy",
    doc="The share of examples whose label is among the indices of `topk`.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
)

CUMSUM = OpFacts(
    name="pd_op.cumsum",
    doc="Sums of all elements up to each along an axis, which is an operand.",
    flow=ChannelFlow.MIXES,
    sign=Sign.AS_INPUTS,
)
