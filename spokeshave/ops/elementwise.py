"""Arithmetic on each element of one tensor, or on each pair of two."""

from __future__ import annotations

from spokeshave.ops._facts import (
    Attrs,
    ChannelFlow,
    OldOp,
    OnCodes,
    OpFacts,
    Sign,
    binary,
    moves,
    multiplies,
    same,
    scales,
    unary,
)


def _scales_without_bias(attrs: Attrs) -> OnCodes:
    return OnCodes.FLOATS if attrs.get("bias") else OnCodes.SCALES


def _moves_where_nothing_drops(attrs: Attrs) -> OnCodes:
    is_off = bool(attrs.get("is_test")) and attrs.get("mode") == "upscale_in_train"
    return OnCodes.MOVES if is_off else OnCodes.FLOATS


ADD = OpFacts(
    name="pd_op.add",
    doc="`x + y`: a bias when one side is a parameter, a residual connection when neither is.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=binary("elementwise_add"),
)

ADD_N = OpFacts(
    name="pd_op.add_n",
    doc="The sum of several tensors.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    takes_list=True,
    data=("inputs",),
    old=OldOp("sum", {"inputs": "X"}),
)

SUBTRACT = OpFacts(
    name="pd_op.subtract",
    doc="`x - y`.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    on_codes=scales,
    old=binary("elementwise_sub"),
)

MULTIPLY = OpFacts(
    name="pd_op.multiply",
    doc="`x * y`, element by element: a gate when `y` is computed, a scale when it is a parameter.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    on_codes=multiplies,
    old=binary("elementwise_mul"),
)

DIVIDE = OpFacts(
    name="pd_op.divide",
    doc="`x / y`, element by element; a division by zero gives infinity or NaN.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    old=binary("elementwise_div"),
)

FLOOR_DIVIDE = OpFacts(
    name="pd_op.floor_divide",
    doc="`floor(x / y)`.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    old=binary("elementwise_floordiv"),
)

REMAINDER = OpFacts(
    name="pd_op.remainder",
    doc="`x - floor(x / y) * y`: it has the sign of `y`.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=binary("elementwise_mod"),
)

MAXIMUM = OpFacts(
    name="pd_op.maximum",
    doc="The larger of `x` and `y`.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=binary("elementwise_max"),
)

MINIMUM = OpFacts(
    name="pd_op.minimum",
    doc="The smaller of `x` and `y`.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=binary("elementwise_min"),
)

POW = OpFacts(
    name="pd_op.pow",
    doc="`x` to the power of the number `y`, an attribute.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("pow", y="factor"),
)

ELEMENTWISE_POW = OpFacts(
    name="pd_op.elementwise_pow",
    doc="`x` to the power of `y`, element by element.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
    old=binary("elementwise_pow"),
)

SCALE = OpFacts(
    name="pd_op.scale",
    doc="`x * scale + bias`, or `(x + bias) * scale`: two numbers for the whole tensor. "
    "`scale` is an operand, so attributes do not tell its sign.",
    flow=ChannelFlow.KEEPS,
    on_codes=_scales_without_bias,
    old=OldOp(
        "scale",
        {"x": "X"},
        attrs=same("bias", "bias_after_scale"),
        constants=same("scale"),
        computed={"scale": "ScaleTensor"},
    ),
)

CLIP = OpFacts(
    name="pd_op.clip",
    doc="`min(max(x, min), max)`. The bounds are operands, so attributes do not tell the sign.",
    flow=ChannelFlow.KEEPS,
    old=OldOp(
        "clip",
        {"x": "X"},
        constants=same("min", "max"),
        computed={"min": "Min", "max": "Max"},
        derived=lambda attrs: {"min": 0.0, "max": 0.0},
    ),
)

ABS = OpFacts(
    name="pd_op.abs",
    doc="`max(x, -x)`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    on_codes=scales,
    old=unary("abs"),
)

SIGN = OpFacts(
    name="pd_op.sign",
    doc="-1, 0 or 1.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("sign"),
)

ROUND = OpFacts(
    name="pd_op.round",
    doc="To the nearest number with `decimals` places, half to even.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("round", "decimals"),
)

FLOOR = OpFacts(
    name="pd_op.floor",
    doc="The largest integer that is not above `x`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("floor"),
)

CEIL = OpFacts(
    name="pd_op.ceil",
    doc="The smallest integer that is not below `x`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("ceil"),
)

SQUARE = OpFacts(
    name="pd_op.square",
    doc="`x * x`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("square"),
)

SQRT = OpFacts(
    name="pd_op.sqrt",
    doc="The square root; NaN below zero.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("sqrt"),
)

RSQRT = OpFacts(
    name="pd_op.rsqrt",
    doc="One by the square root; NaN below zero.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("rsqrt"),
)

RECIPROCAL = OpFacts(
    name="pd_op.reciprocal",
    doc="`1 / x`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("reciprocal"),
)

EXP = OpFacts(
    name="pd_op.exp",
    doc="`e` to the power of `x`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("exp"),
)

LOG = OpFacts(
    name="pd_op.log",
    doc="The natural logarithm; NaN below zero.",
    flow=ChannelFlow.KEEPS,
    old=unary("log"),
)

ERF = OpFacts(
    name="pd_op.erf",
    doc="The error function, which an exact GELU is made of.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("erf"),
)

SIN = OpFacts(
    name="pd_op.sin",
    doc="The sine.",
    flow=ChannelFlow.KEEPS,
    old=unary("sin"),
)

COS = OpFacts(
    name="pd_op.cos",
    doc="The cosine.",
    flow=ChannelFlow.KEEPS,
    old=unary("cos"),
)

DROPOUT = OpFacts(
    name="pd_op.dropout",
    doc="Zeroes elements at random while training; nothing in test mode.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    on_codes=_moves_where_nothing_drops,
    old=OldOp(
        "dropout",
        {"x": "X", "seed_tensor": "Seed"},
        {"out": "Out", "mask": "Mask"},
        {"mode": "dropout_implementation", **same("is_test", "seed", "fix_seed")},
        {"p": "dropout_prob"},
    ),
)

INCREMENT = OpFacts(
    name="pd_op.increment_",
    doc="`x + value`, written over `x`: a counter of steps.",
    flow=ChannelFlow.KEEPS,
    channel_axis=lambda attrs, rank: 0,
    old=OldOp("increment", {"x": "X"}, attrs={"value": "step"}, shares={"out": "x"}),
)
