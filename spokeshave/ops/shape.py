"""Ops that move values and change none, and the constants that tell them where."""

from __future__ import annotations

from spokeshave.ops._facts import Attrs, ChannelFlow, OldOp, OnCodes, OpFacts, Sign, moves, same
from spokeshave.ops.conv import channel_axis


def _moves_unless_padded_with_a_number(attrs: Attrs) -> OnCodes:
    is_number = attrs.get("mode") == "constant" and attrs.get("pad_value")
    return OnCodes.FLOATS if is_number else OnCodes.MOVES


_OLD_ASSIGN_VALUE = OldOp("assign_value", attrs=same("shape", "dtype", "values"))

RESHAPE = OpFacts(
    name="pd_op.reshape",
    doc="The same values in another shape; the shape is an operand.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "reshape2", {"x": "X"}, constants=same("shape"), scratch=("XShape",), computed={"shape": "Shape"}
    ),
)

FLATTEN = OpFacts(
    name="pd_op.flatten",
    doc="Axes `start_axis` to `stop_axis` become one.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "flatten_contiguous_range", {"x": "X"}, attrs=same("start_axis", "stop_axis"), scratch=("XShape",)
    ),
)

CONCAT = OpFacts(
    name="pd_op.concat",
    doc="Tensors one behind the other along an axis, which is an operand. Channel i of the result belongs to "
    "channel i of each tensor only where that axis is not the channels'.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    # Each result is a value of one of the tensors, but their ranges differ: nothing passes from one to all.
    on_codes=moves,
    takes_list=True,
    old=OldOp("concat", {"x": "X"}, constants=same("axis"), computed={"axis": "AxisTensor"}),
)

TRANSPOSE = OpFacts(
    name="pd_op.transpose",
    doc="Axes in another order.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("transpose2", {"x": "X"}, attrs={"perm": "axis"}, scratch=("XShape",)),
)

CAST = OpFacts(
    name="pd_op.cast",
    doc="The same numbers in another dtype, rounded toward zero when it is an integer one. "
    "One that is too narrow wraps round, so nothing is known of the sign.",
    flow=ChannelFlow.KEEPS,
    old=OldOp("cast", {"x": "X"}, attrs={"dtype": "out_dtype"}, dtypes={"x": "in_dtype"}),
)

ASSIGN_OUT = OpFacts(
    name="pd_op.assign_out_",
    doc="Copies `x` over the buffer at `output`: how a program updates its state.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
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
    old=OldOp("fill_constant", attrs=same("shape", "value", "dtype")),
)

SQUEEZE = OpFacts(
    name="pd_op.squeeze",
    doc="Axes of length one go.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("squeeze2", {"x": "X"}, constants={"axis": "axes"}, scratch=("XShape",)),
)

UNSQUEEZE = OpFacts(
    name="pd_op.unsqueeze",
    doc="Axes of length one come in.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "unsqueeze2",
        {"x": "X"},
        constants={"axis": "axes"},
        scratch=("XShape",),
        computed={"axis": "AxesTensor"},
    ),
)

STACK = OpFacts(
    name="pd_op.stack",
    doc="Tensors one behind the other along an axis that is made for it.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    takes_list=True,
    old=OldOp("stack", {"x": "X"}, {"out": "Y"}, attrs=same("axis")),
)

UNSTACK = OpFacts(
    name="pd_op.unstack",
    doc="The slices along an axis, each a tensor without it.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("unstack", {"x": "X"}, {"out": "Y"}, attrs=same("axis", "num")),
)

SPLIT = OpFacts(
    name="pd_op.split",
    doc="Pieces along an axis, of the lengths in `sections`; both are operands.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("split", {"x": "X"}, constants=same("sections", "axis"), computed={"axis": "AxisTensor"}),
)

SPLIT_WITH_NUM = OpFacts(
    name="pd_op.split_with_num",
    doc="`num` pieces of one length along an axis, which is an operand.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "split", {"x": "X"}, attrs=same("num"), constants=same("axis"), computed={"axis": "AxisTensor"}
    ),
)

SLICE = OpFacts(
    name="pd_op.slice",
    doc="From `starts` to `ends` along `axes`; the axes in `decrease_axis` go.",
    flow=ChannelFlow.RESHAPES,
    data=("input",),
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "slice",
        {"input": "Input"},
        attrs=same("axes", "infer_flags", "decrease_axis"),
        constants=same("starts", "ends"),
        computed={"starts": "StartsTensor", "ends": "EndsTensor"},
    ),
)

STRIDED_SLICE = OpFacts(
    name="pd_op.strided_slice",
    doc="Every so many from `starts` to `ends` along `axes`.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "strided_slice",
        {"x": "Input"},
        attrs=same("axes"),
        constants=same("starts", "ends", "strides"),
        derived=lambda attrs: {"infer_flags": [1] * len(attrs["axes"])},
        computed={"starts": "StartsTensor", "ends": "EndsTensor", "strides": "StridesTensor"},
    ),
)

PAD = OpFacts(
    name="pd_op.pad",
    doc="A border of `pad_value`, an operand, along every axis.",
    flow=ChannelFlow.RESHAPES,
    old=OldOp("pad", {"x": "X"}, attrs=same("paddings"), constants=same("pad_value")),
)

PAD3D = OpFacts(
    name="pd_op.pad3d",
    doc="A border round the picture or volume: of `pad_value`, of what it mirrors or of its last pixels.",
    flow=ChannelFlow.RESHAPES,
    on_codes=_moves_unless_padded_with_a_number,
    channel_axis=channel_axis,
    old=OldOp(
        "pad3d",
        {"x": "X"},
        attrs={"pad_value": "value", **same("mode", "data_format")},
        constants=same("paddings"),
        computed={"paddings": "Paddings"},
        derived=lambda attrs: {"paddings": [0] * 6},
    ),
)

EXPAND = OpFacts(
    name="pd_op.expand",
    doc="Axes of length one are repeated up to the operand `shape`.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("expand_v2", {"x": "X"}, constants=same("shape"), computed={"shape": "Shape"}),
)

EXPAND_AS = OpFacts(
    name="pd_op.expand_as",
    doc="Axes of length one are repeated up to the shape of `y`.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("expand_as_v2", {"x": "X", "y": "Y"}, attrs=same("target_shape")),
)

TILE = OpFacts(
    name="pd_op.tile",
    doc="The whole repeated along each axis.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("tile", {"x": "X"}, constants=same("repeat_times"), computed={"repeat_times": "RepeatTimes"}),
)

GATHER = OpFacts(
    name="pd_op.gather",
    doc="The slices along an axis that `index` names; the axis is an operand.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("gather", {"x": "X", "index": "Index"}, constants=same("axis"), computed={"axis": "Axis"}),
)

GATHER_ND = OpFacts(
    name="pd_op.gather_nd",
    doc="The elements or slices that the rows of `index` name.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("gather_nd", {"x": "X", "index": "Index"}),
)

INDEX_SELECT = OpFacts(
    name="pd_op.index_select",
    doc="The slices along `axis` that `index` names.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("index_select", {"x": "X", "index": "Index"}, attrs={"axis": "dim"}),
)

FLIP = OpFacts(
    name="pd_op.flip",
    doc="Axes turned round.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("flip", {"x": "X"}, attrs=same("axis")),
)

ROLL = OpFacts(
    name="pd_op.roll",
    doc="Shifted along axes; what leaves at one end comes in at the other.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp(
        "roll", {"x": "X"}, attrs=same("axis"), constants=same("shifts"), computed={"shifts": "ShiftsTensor"}
    ),
)

PIXEL_SHUFFLE = OpFacts(
    name="pd_op.pixel_shuffle",
    doc="Channels become pixels: `upscale_factor` squared channels make one of a larger picture.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    channel_axis=channel_axis,
    old=OldOp("pixel_shuffle", {"x": "X"}, attrs=same("upscale_factor", "data_format")),
)

PIXEL_UNSHUFFLE = OpFacts(
    name="pd_op.pixel_unshuffle",
    doc="Pixels become channels, as `pixel_shuffle` backwards.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    channel_axis=channel_axis,
    old=OldOp("pixel_unshuffle", {"x": "X"}, attrs=same("downscale_factor", "data_format")),
)

SHUFFLE_CHANNEL = OpFacts(
    name="pd_op.shuffle_channel",
    doc="Channels dealt out among groups.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("shuffle_channel", {"x": "X"}, attrs=same("group")),
)

CHANNEL_SHUFFLE = OpFacts(
    name="pd_op.channel_shuffle",
    doc="Channels dealt out among groups, in either layout.",
    flow=ChannelFlow.RESHAPES,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    channel_axis=channel_axis,
    old=OldOp("channel_shuffle", {"x": "X"}, attrs=same("groups", "data_format")),
)

ASSIGN = OpFacts(
    name="pd_op.assign",
    doc="A copy.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=OldOp("assign", {"x": "X"}),
)

SHAPE = OpFacts(
    name="pd_op.shape",
    doc="The shape of a tensor, as 32-bit integers.",
    flow=ChannelFlow.MAKES,
    data=(),
    sign=Sign.NONNEGATIVE,
    old=OldOp("shape", {"input": "Input"}),
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
    old=OldOp("size", {"x": "Input"}, {"size": "Out"}),
)

FULL_LIKE = OpFacts(
    name="pd_op.full_like",
    doc="One number everywhere, in the shape of `x`.",
    flow=ChannelFlow.MAKES,
    data=(),
    old=OldOp("fill_any_like", {"x": "X"}, attrs=same("dtype"), constants=same("value")),
)

FULL_WITH_TENSOR = OpFacts(
    name="pd_op.full_with_tensor",
    doc="One number everywhere; number and shape are operands.",
    flow=ChannelFlow.MAKES,
    data=(),
    old=OldOp("fill_constant", {"value": "ValueTensor", "shape": "ShapeTensor"}, attrs=same("dtype")),
)

ASSIGN_VALUE = OpFacts(
    name="pd_op.assign_value_",
    doc="A constant tensor, its numbers written in the program, over the buffer at `output`.",
    flow=ChannelFlow.MAKES,
    data=(),
    old=_OLD_ASSIGN_VALUE,
)

PLAIN_ASSIGN_VALUE = OpFacts(
    name="pd_op.assign_value",
    doc="A constant tensor, its numbers written in the program.",
    flow=ChannelFlow.MAKES,
    data=(),
    old=_OLD_ASSIGN_VALUE,
)

ARANGE = OpFacts(
    name="pd_op.arange",
    doc="The numbers from `start` to `end` by `step`, which are operands; the old op has their dtype.",
    flow=ChannelFlow.MAKES,
    data=(),
    old=OldOp("range", {"start": "Start", "end": "End", "step": "Step"}),
)
