"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spokeshave.ops._facts import Attrs, Axis, ChannelFlow, OpFacts, Shape


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
)

BMM = OpFacts(
    name="pd_op.bmm",
    doc="`x @ y` for each matrix of a batch.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
)

MV = OpFacts(
    name="pd_op.mv",
    doc="A matrix times a vector.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
)

ADDMM = OpFacts(
    name="pd_op.addmm",
    doc="`beta * input + alpha * (x @ y)`.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
)
