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
    doc="Tensors one behind the other along an axis, which is an operand. Channel i of the result belongs to "
    "channel i of each tensor only where that axis is not the channels'.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    # Each result is a value of one of the tensors, but their ranges differ: nothing passes from one to all.
)

TRANSPOSE = OpFacts(
    name="pd_op.transpose",
    doc="Axes in another order.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

CAST = OpFacts(
    name="pd_op.cast",
    doc="The same numbers in another dtype, rounded toward zero when it is an integer one. "
    "One that is too narrow wraps round, so nothing is known of the sign.",
    flow=ChannelFlow.KEEPS,
)

ASSIGN_OUT = OpFacts(
    name="pd_op.assign_out_",
    doc="Copies `x` over the buffer at `output`: how a program updates its state.",
    flow=ChannelFlow.KEEPS,
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
