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

SQUEEZE = OpFacts(
    name="pd_op.squeeze",
    doc="Axes of length one go.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

UNSQUEEZE = OpFacts(
    name="pd_op.unsqueeze",
    doc="Axes of length one come in.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

STACK = OpFacts(
    name="pd_op.stack",
    doc="Tensors one behind the other along an axis that is made for it.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
)

UNSTACK = OpFacts(
    name="pd_op.unstack",
    doc="The slices along an axis, each a tensor without it.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

SPLIT = OpFacts(
    name="pd_op.split",
    doc="Pieces along an axis, of the lengths in `sections`; both are operands.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

SPLIT_WITH_NUM = OpFacts(
    name="pd_op.split_with_num",
    doc="`num` pieces of one length along an axis, which is an operand.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

SLICE = OpFacts(
    name="pd_op.slice",
    doc="From `starts` to `ends` along `axes`; the axes in `decrease_axis` go.",
    flow=ChannelFlow.RESHAPES,
    data=("input",),
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

STRIDED_SLICE = OpFacts(
    name="pd_op.strided_slice",
    doc="Every so many from `starts` to `ends` along `axes`.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

PAD = OpFacts(
    name="pd_op.pad",
    doc="A border of `pad_value`, an operand, along every axis.",
    flow=ChannelFlow.RESHAPES,
)

PAD3D = OpFacts(
    name="pd_op.pad3d",
    doc="A border round the picture or volume: of `pad_value`, of what it mirrors or of its last pixels.",
    flow=ChannelFlow.RESHAPES,
)

EXPAND = OpFacts(
    name="pd_op.expand",
    doc="Axes of length one are repeated up to the operand `shape`.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

EXPAND_AS = OpFacts(
    name="pd_op.expand_as",
    doc="Axes of length one are repeated up to the shape of `y`.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

TILE = OpFacts(
    name="pd_op.tile",
    doc="The whole repeated along each axis.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

GATHER = OpFacts(
    name="pd_op.gather",
    doc="The slices along an axis that `index` names; the axis is an operand.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

GATHER_ND = OpFacts(
    name="pd_op.gather_nd",
    doc="The elements or slices that the rows of `index` name.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

INDEX_SELECT = OpFacts(
    name="pd_op.index_select",
    doc="The slices along `axis` that `index` names.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

FLIP = OpFacts(
    name="pd_op.flip",
    doc="Axes turned round.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

ROLL = OpFacts(
    name="pd_op.roll",
    doc="Shifted along axes; what leaves at one end comes in at the other.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

PIXEL_SHUFFLE = OpFacts(
    name="pd_op.pixel_shuffle",
    doc="Channels become pixels: `upscale_factor` squared channels make one of a larger picture.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

PIXEL_UNSHUFFLE = OpFacts(
    name="pd_op.pixel_unshuffle",
    doc="Pixels become channels, as `pixel_shuffle` backwards.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

SHUFFLE_CHANNEL = OpFacts(
    name="pd_op.shuffle_channel",
    doc="Channels dealt out among groups.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

CHANNEL_SHUFFLE = OpFacts(
    name="pd_op.channel_shuffle",
    doc="Channels dealt out among groups, in either layout.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

ASSIGN = OpFacts(
    name="pd_op.assign",
    doc="A copy.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    passes_values=_always,
)

SHAPE = OpFacts(
    name="pd_op.shape",
    doc="The shape of a tensor, as 32-bit integers.",
    flow=ChannelFlow.MAKES,
    data=(),
    sign=Sign.NONNEGATIVE,
)

SHAPE64 = OpFacts(
    name="pd_op.shape64",
    doc="The shape of a tensor, as 64-bit integers.",
    flow=ChannelFlow.MAKES,
    data=(),
    sign=Sign.NONNEGATIVE,
)

NUMEL = OpFacts(
    name="pd_op.numel",
    doc="The number of elements of a tensor.",
    flow=ChannelFlow.MAKES,
    data=(),
    sign=Sign.NONNEGATIVE,
)

FULL_LIKE = OpFacts(
    name="pd_op.full_like",
    doc="One number everywhere, in the shape of `x`.",
    flow=ChannelFlow.MAKES,
    data=(),
)

FULL_WITH_TENSOR = OpFacts(
    name="pd_op.full_with_tensor",
    doc="One number everywhere; number and shape are operands.",
    flow=ChannelFlow.MAKES,
    data=(),
)

ASSIGN_VALUE = OpFacts(
    name="pd_op.assign_value_",
    doc="A constant tensor, its numbers written in the program.",
    flow=ChannelFlow.MAKES,
    data=(),
)

ARANGE = OpFacts(
    name="pd_op.arange",
    doc="The numbers from `start` to `end` by `step`, which are operands.",
    flow=ChannelFlow.MAKES,
    data=(),
)
