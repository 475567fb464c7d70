"""Comparisons, what is made of their answers, and the choice between two tensors."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, Sign, binary, moves, unary


def _of_two(kind: str, doc: str) -> OpFacts:
    return OpFacts(
        f"pd_op.{kind}", doc, ChannelFlow.KEEPS, data=("x", "y"), sign=Sign.NONNEGATIVE, old=binary(kind)
    )


EQUAL = _of_two("equal", "Whether `x == y`.")
NOT_EQUAL = _of_two("not_equal", "Whether `x != y`.")
LESS_THAN = _of_two("less_than", "Whether `x < y`.")
LESS_EQUAL = _of_two("less_equal", "Whether `x <= y`.")
GREATER_THAN = _of_two("greater_than", "Whether `x > y`.")
GREATER_EQUAL = _of_two("greater_equal", "Whether `x >= y`.")
LOGICAL_AND = _of_two("logical_and", "Whether both are true; a number is true when it is not zero.")
LOGICAL_OR = _of_two("logical_or", "Whether one of two is true.")
LOGICAL_XOR = _of_two("logical_xor", "Whether exactly one of two is true.")

LOGICAL_NOT = OpFacts(
    name="pd_op.logical_not",
    doc="Whether it is false.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("logical_not"),
)

ISNAN = OpFacts(
    name="pd_op.isnan",
    doc="Whether it is not a number.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("isnan_v2"),
)

WHERE = OpFacts(
    name="pd_op.where",
    doc="`x` where `condition` is true, `y` elsewhere.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("where", {"condition": "Condition", "x": "X", "y": "Y"}),
)
