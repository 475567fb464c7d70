"""Ops that work on each element of one tensor, or on each pair of two."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts, Sign

RELU = OpFacts(
    name="pd_op.relu",
    doc="`max(x, 0)`. Engines run it as part of the op before it.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    is_activation=True,
)

RELU6 = OpFacts(
    name="pd_op.relu6",
    doc="`min(max(x, 0), 6)`. Engines run it as part of the op before it.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    is_activation=True,
)

ADD = OpFacts(
    name="pd_op.add",
    doc="`x + y`: a bias when one side is a parameter, a residual connection when neither is.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
)

SOFTMAX = OpFacts(
    name="pd_op.softmax",
    doc="Exponentials along an axis, normalised to sum to one: every channel depends on all.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
    sign=Sign.NONNEGATIVE,
)

DROPOUT = OpFacts(
    name="pd_op.dropout",
    doc="Zeroes elements at random while training; nothing in test mode.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    passes_values=lambda attrs: bool(attrs.get("is_test")) and attrs.get("mode") == "upscale_in_train",
)

MULTIPLY = OpFacts(
    name="pd_op.multiply",
    doc="`x * y`, element by element: a gate when `y` is computed, a scale when it is a parameter.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
)

DIVIDE = OpFacts(
    name="pd_op.divide",
    doc="`x / y`, element by element; a division by zero gives infinity or NaN.",
    flow=ChannelFlow.KEEPS,
    data=("x", "y"),
    sign=Sign.AS_INPUTS,
)

SCALE = OpFacts(
    name="pd_op.scale",
    doc="`x * scale + bias`, or `(x + bias) * scale`: two numbers for the whole tensor. "
    "`scale` is an operand, so attributes do not tell its sign.",
    flow=ChannelFlow.KEEPS,
)

ROUND = OpFacts(
    name="pd_op.round",
    doc="To the nearest number with `decimals` places, half to even.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
)

CLIP = OpFacts(
    name="pd_op.clip",
    doc="`min(max(x, min), max)`. The bounds are operands, so attributes do not tell the sign.",
    flow=ChannelFlow.KEEPS,
)

ABS = OpFacts(
    name="pd_op.abs",
    doc="`max(x, -x)`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
)
