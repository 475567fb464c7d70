"""Ops in which axes, and often channels, end."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, Sign, moves, same, scales


def _old(kind: str) -> OldOp:
    return OldOp(kind, {"x": "X"}, attrs={"keepdim": "keep_dim"}, constants={"axis": "dim"})


def _old_arg(kind: str) -> OldOp:
    return OldOp(kind, {"x": "X"}, attrs=same("keepdims", "flatten", "dtype"), constants=same("axis"))


MEAN = OpFacts(
    name="pd_op.mean",
    doc="The mean over the axes in the operand `axis`, over all where it is empty. Over the picture's axes "
    "alone the channels go on: whoever follows channels must look at `axis` or at the shape of the result.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=_old("reduce_mean"),
)

MAX = OpFacts(
    name="pd_op.max",
    doc="The largest over the axes in the operand `axis`, over all where it is empty. Over the picture's "
    "axes alone the channels go on: whoever follows channels must look there or at the shape of the result.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=_old("reduce_max"),
)

CROSS_ENTROPY = OpFacts(
    name="pd_op.cross_entropy_with_softmax",
    doc="The loss of a classifier. Its first result is the softmax, its second, `loss`, one per example. "
    "With `use_softmax` off it takes what it is given for probabilities, so the loss may be negative.",
    flow=ChannelFlow.REDUCES,
    data=("input",),
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
    old=OldOp(
        "softmax_with_cross_entropy",
        {"input": "Logits", "label": "Label"},
        {"softmax": "Softmax", "loss": "Loss"},
        same("soft_label", "use_softmax", "numeric_stable_mode", "ignore_index", "axis"),
    ),
)

SUM = OpFacts(
    name="pd_op.sum",
    doc="The sum over the axes in the operand `axis`, over all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=_old("reduce_sum"),
)

MIN = OpFacts(
    name="pd_op.min",
    doc="The smallest over the axes in the operand `axis`, over all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=_old("reduce_min"),
)

PROD = OpFacts(
    name="pd_op.prod",
    doc="The product over the axes in the operand `axis`, over all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    old=OldOp(
        "reduce_prod",
        {"x": "X"},
        attrs={"keepdim": "keep_dim", **same("reduce_all")},
        constants={"axis": "dim"},
    ),
)

ANY = OpFacts(
    name="pd_op.any",
    doc="Whether one is true along the axes in `axis`, along all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
    old=OldOp("reduce_any", {"x": "X"}, attrs={"axis": "dim", "keepdim": "keep_dim"}),
)

ALL = OpFacts(
    name="pd_op.all",
    doc="Whether all are true along the axes in `axis`, along all where it is empty.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
    old=OldOp("reduce_all", {"x": "X"}, attrs={"axis": "dim", "keepdim": "keep_dim"}),
)

ARGMAX = OpFacts(
    name="pd_op.argmax",
    doc="Where along an axis the largest lies.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
    old=_old_arg("arg_max"),
)

ARGMIN = OpFacts(
    name="pd_op.argmin",
    doc="Where along an axis the smallest lies.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.NONNEGATIVE,
    old=_old_arg("arg_min"),
)

TOPK = OpFacts(
    name="pd_op.topk",
    doc="The `k` largest along `axis`, and where they lie.",
    flow=ChannelFlow.REDUCES,
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
    sign=Sign.AS_INPUTS,
    old=OldOp(
        "top_k_v2",
        {"x": "X"},
        {"out": "Out", "indices": "Indices"},
        same("axis", "largest", "sorted"),
        same("k"),
        computed={"k": "K"},
    ),
)

ACCURACY = OpFacts(
    name="pd_op.accuracy",
    doc="The share of examples whose label is among the indices of `topk`.",
    flow=ChannelFlow.REDUCES,
    data=("indices",),
    sign=Sign.NONNEGATIVE,
    old=OldOp(
        "accuracy",
        {"x": "Out", "indices": "Indices", "label": "Label"},
        {"accuracy": "Accuracy", "correct": "Correct", "total": "Total"},
    ),
)

CUMSUM = OpFacts(
    name="pd_op.cumsum",
    doc="Sums of all elements up to each along an axis, which is an operand.",
    flow=ChannelFlow.MIXES,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=OldOp("cumsum", {"x": "X"}, attrs=same("flatten", "exclusive", "reverse"), constants=same("axis")),
)

MEAN_ALL = OpFacts(
    name="pd_op.mean_all",
    doc="The mean over all axes.",
    flow=ChannelFlow.REDUCES,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=OldOp("mean", {"x": "X"}),
)

P_NORM = OpFacts(
    name="pd_op.p_norm",
    doc="The norm of order `porder` along `axis`.",
    flow=ChannelFlow.REDUCES,
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
    sign=Sign.NONNEGATIVE,
    on_codes=scales,
    old=OldOp("p_norm", {"x": "X"}, attrs=same("porder", "axis", "epsilon", "keepdim", "asvector")),
)
