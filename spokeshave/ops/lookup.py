"""Tables that numbers are looked up in."""

from __future__ import annotations

from spokeshave.ops._facts import Axis, ChannelFlow, OldOp, OpFacts, Sign, multiplies, same

EMBEDDING = OpFacts(
    name="pd_op.embedding",
    doc="Row `x` of a table: the channels of the result begin here. The row `padding_idx` reads as zero.",
    flow=ChannelFlow.MAKES,
    weight="weight",
    weight_axis=lambda attrs: Axis(out=1, into=0),
    channel_axis=lambda attrs, rank: rank - 1,
    on_codes=multiplies,
    old=OldOp("lookup_table_v2", {"x": "Ids", "weight": "W"}, attrs=same("padding_idx")),
)

ONE_HOT = OpFacts(
    name="pd_op.one_hot",
    doc="One at place `x` of a new last axis, zero elsewhere.",
    flow=ChannelFlow.MAKES,
    channel_axis=lambda attrs, rank: rank - 1,
    sign=Sign.NONNEGATIVE,
    old=OldOp(
        "one_hot_v2", {"x": "X"}, constants={"num_classes": "depth"}, computed={"num_classes": "depth_tensor"}
    ),
)
