"""Functions of one number that nets put behind their layers, and softmax."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, Sign, same, scales, unary
from spokeshave.ops.conv import channel_axis

RELU = OpFacts(
    name="pd_op.relu",
    doc="`max(x, 0)`. Engines run it as part of the op before it.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    is_activation=True,
    on_codes=scales,
    old=unary("relu"),
)

RELU6 = OpFacts(
    name="pd_op.relu6",
    doc="`min(max(x, 0), 6)`. Engines run it as part of the op before it.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    is_activation=True,
    old=unary("relu6"),
)

LEAKY_RELU = OpFacts(
    name="pd_op.leaky_relu",
    doc="`x` where it is positive, `negative_slope * x` elsewhere.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=unary("leaky_relu", negative_slope="alpha"),
)

PRELU = OpFacts(
    name="pd_op.prelu",
    doc="`x` where it is positive, `alpha * x` elsewhere, with an alpha for all, each channel or each "
    "element.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    channel_axis=channel_axis,
    old=OldOp("prelu", {"x": "X", "alpha": "Alpha"}, attrs=same("data_format", "mode")),
)

ELU = OpFacts(
    name="pd_op.elu",
    doc="`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("elu", "alpha"),
)

SELU = OpFacts(
    name="pd_op.selu",
    doc="`scale` times an ELU, with the two numbers that keep mean and variance.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("selu", "scale", "alpha"),
)

GELU = OpFacts(
    name="pd_op.gelu",
    doc="`x` times the chance that a normal variable is below it; by a tanh where `approximate` is set.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("gelu", "approximate"),
)

SILU = OpFacts(
    name="pd_op.silu",
    doc="`x * sigmoid(x)`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("silu"),
)

SWISH = OpFacts(
    name="pd_op.swish",
    doc="`x * sigmoid(x)`, under its older name.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("swish"),
)

MISH = OpFacts(
    name="pd_op.mish",
    doc="`x * tanh(softplus(x))`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("mish", **{"lambda": "threshold"}),
)

HARDSWISH = OpFacts(
    name="pd_op.hardswish",
    doc="`x * min(max(x + 3, 0), 6) / 6`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("hard_swish"),
)

HARDSIGMOID = OpFacts(
    name="pd_op.hardsigmoid",
    doc="`min(max(slope * x + offset, 0), 1)`: the gate of squeeze-excite.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("hard_sigmoid", "slope", "offset"),
)

HARDTANH = OpFacts(
    name="pd_op.hardtanh",
    doc="`min(max(x, t_min), t_max)`.",
    flow=ChannelFlow.KEEPS,
    old=unary("brelu", "t_min", "t_max"),
)

SIGMOID = OpFacts(
    name="pd_op.sigmoid",
    doc="`1 / (1 + exp(-x))`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("sigmoid"),
)

TANH = OpFacts(
    name="pd_op.tanh",
    doc="The hyperbolic tangent.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=unary("tanh"),
)

SOFTPLUS = OpFacts(
    name="pd_op.softplus",
    doc="`log(1 + exp(beta * x)) / beta`, and `x` itself beyond `threshold`.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.NONNEGATIVE,
    old=unary("softplus", "beta", "threshold"),
)

SOFTMAX = OpFacts(
    name="pd_op.softmax",
    doc="Exponentials along an axis, normalised to sum to one: every channel depends on all.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
    sign=Sign.NONNEGATIVE,
    old=unary("softmax", "axis"),
)

LOG_SOFTMAX = OpFacts(
    name="pd_op.log_softmax",
    doc="The logarithm of a softmax along an axis.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: attrs.get("axis", -1) % rank,
    old=unary("log_softmax", "axis"),
)
