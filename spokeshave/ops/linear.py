"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spokeshave.ops._facts import Attrs, Axis, ChannelFlow, OldOp, OpFacts, Shape, binary, multiplies


def _weight_axis(attrs: Attrs) -> Axis:
    # nn.Linear stores [in, out]; transpose_y marks a weight stored [out, in], PyTorch's way.
    return Axis(out=0, into=1) if attrs.get("transpose_y") else Axis(out=1, into=0)


def _macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    x = shapes["x"]
    shared = x[-2] if attrs.get("transpose_x") and len(x) > 1 else x[-1]
    return prod(shapes["out"]) * shared


MATMUL = OpFacts(
    name="pd_op.matmul",
    doc="`x @ y`. A Linear layer when `y` is a parameter (with two axes), attention when it is not. "
    "Its bias is a separate `add`. With `transpose_x` the channels of `x` lie on its last axis but one.",
    flow=ChannelFlow.MIXES,
    data=("x",),
    weight="y",
    weight_axis=_weight_axis,
    channel_axis=lambda attrs, rank: rank - 1,
    macs=_macs,
    on_codes=multiplies,
    old=OldOp("matmul_v2", {"x": "X", "y": "Y"}, attrs={"transpose_x": "trans_x", "transpose_y": "trans_y"}),
)

BMM = OpFacts(
    name="pd_op.bmm",
    doc="`x @ y` for each matrix of a batch.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
    on_codes=multiplies,
    weight="y",
    weight_axis=lambda attrs: Axis(out=2, into=1),
    macs=_macs,
    old=binary("bmm"),
)

MV = OpFacts(
    name="pd_op.mv",
    doc="A matrix times a vector.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
    on_codes=multiplies,
    data=("vec",),
    weight="x",
    weight_axis=lambda attrs: Axis(out=0, into=1),
    macs=lambda attrs, shapes: prod(shapes["x"]),
    old=OldOp("mv", {"x": "X", "vec": "Vec"}),
)

ADDMM = OpFacts(
    name="pd_op.addmm",
    doc="`beta * input + alpha * (x @ y)`.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
    weight="y",
    weight_axis=lambda attrs: Axis(out=1, into=0),
    macs=_macs,
    old=OldOp("addmm", {"input": "Input", "x": "X", "y": "Y"}, attrs={"beta": "Beta", "alpha": "Alpha"}),
)
