"""Ops that move values and change none, and the constants that tell them where."""

from __future__ import annotations

from spokeshave.ops._facts import Attrs, ChannelFlow, OpFacts, Sign


def _always(attrs: Attrs) -> bool:
    return True


RESHAPE = OpFacts(
    name="pd_op.reshape",
    doc="The same values in another shape; the shape is an operand.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

FLATTEN = OpFacts(
    name="pd_op.flatten",
    doc="Axes `start_axis` to `stop_axis` become one.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

CONCAT = OpFacts(
    name="pd_op.concat",
    doc="Tensors one behind the other along an axis, which is an operand.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
)

TRANSPOSE = OpFacts(
    name="pd_op.transpose",
    doc="Axes in another order.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

FULL_INT_ARRAY = OpFacts(
    name="pd_op.full_int_array",
    doc="A constant list of integers: the shape of a reshape, the window of a pool.",
    flow=ChannelFlow.MAKES,
    data=(),
)

FULL = OpFacts(
    name="pd_op.full",
    doc="A constant tensor with one number everywhere.",
    flow=ChannelFlow.MAKES,
    data=(),
)
