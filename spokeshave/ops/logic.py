"""Comparisons, what is made of their answers, and the choice between two tensors."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts, Sign


def _of_two(name: str, doc: str) -> OpFacts:
    return OpFacts(name, doc, ChannelFlow.KEEPS, data=("x", "y"), sign=Sign.NONNEGATIVE)


EQUAL = _of_two("pd_op.equal", "Whether `x == y`.")
NOT_EQUAL = _of_two("pd_op.not_equal", "Whether `x != y`.")
LESS_THAN = _of_two("pd_op.less_than", "Whether `x < y`.")
LESS_EQUAL = _of_two("pd_op.less_equal", "Whether `x <= y`.")
GREATER_THAN = _of_two("pd_op.greater_than", "Whether `x > y`.")
GREATER_EQUAL = _of_two("pd_op.greater_equal", "Whether `x >= y`.")
LOGICAL_AND = _of_two("pd_op.logical_and", "Whether both are true; a number is true when it is not zero.")
LOGICAL_OR = _of_two("pd_op.logical_or", "Whether one of two is true.")
LOGICAL_XOR = _of_two("pd_op.logical_xor", "Whether exactly one of two is true.")

LOGICAL_NOT = OpFacts(
    name="pd_op.logical_not",
    doc="Whether it is false.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
)

ISNAN = OpFacts(
    name="pd_op.isnan",
    doc="Whether it is not a number.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
)

WHERE = OpFacts(
    name="pd_op.where",
    doc="`x` where `condition` is true, `y` elsewhere.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
)
