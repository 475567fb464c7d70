"""Paddle's own quantizers, as training and PaddleSlim put them into programs."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, Sign, in_place, same

_WITH_SCALE = {"out": "Out", "out_scale": "OutScale"}
_STATE = {"x": "X", "in_scale": "InScale", "in_accum": "InAccum", "in_state": "InState"}
_NEXT_STATE = {"out": "Out", "out_scale": "OutScale", "out_state": "OutState", "out_accum": "OutAccum"}
_LINEAR_IN = {
    "x": "X",
    "scale": "Scale",
    "zero_point": "ZeroPoint",
    "in_accum": "InAccum",
    "in_state": "InState",
}
_SHARED_SCALE = {"out_scale": "in_scale"}
_SHARED_AVERAGE = {"out_state": "in_state", "out_accum": "in_accum"}
_LINEAR_OUT = {"y": "Y", "out_state": "OutState", "out_accum": "OutAccum", "out_scale": "OutScale"}

FAKE_QUANTIZE_DEQUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_dequantize_abs_max",
    doc="Rounded to the codes of one scale for the whole tensor, the largest magnitude, and back.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=OldOp("fake_quantize_dequantize_abs_max", {"x": "X"}, _WITH_SCALE, same("bit_length", "round_type")),
)

FAKE_CHANNEL_WISE_QUANTIZE_DEQUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_channel_wise_quantize_dequantize_abs_max",
    doc="Rounded to the codes of a scale for each slice along `quant_axis`, its largest magnitude, and back.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    channel_axis=lambda attrs, rank: attrs.get("quant_axis", 0),
    old=OldOp(
        "fake_channel_wise_quantize_dequantize_abs_max",
        {"x": "X"},
        _WITH_SCALE,
        same("bit_length", "round_type", "quant_axis"),
    ),
)

FAKE_QUANTIZE_DEQUANTIZE_MOVING_AVERAGE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_dequantize_moving_average_abs_max",
    doc="Rounded to the codes of a scale that follows the largest magnitude of many batches, and back.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=OldOp(
        "fake_quantize_dequantize_moving_average_abs_max",
        _STATE,
        _NEXT_STATE,
        same("moving_rate", "bit_length", "is_test", "round_type"),
    ),
)

FAKE_QUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_abs_max",
    doc="The codes of one scale for the whole tensor, the largest magnitude.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=OldOp("fake_quantize_abs_max", {"x": "X"}, _WITH_SCALE, same("bit_length", "round_type")),
)

FAKE_CHANNEL_WISE_QUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_channel_wise_quantize_abs_max",
    doc="The codes of a scale for each slice along `quant_axis`, its largest magnitude.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    channel_axis=lambda attrs, rank: attrs.get("quant_axis", 0),
    old=OldOp(
        "fake_channel_wise_quantize_abs_max",
        {"x": "X"},
        _WITH_SCALE,
        same("bit_length", "round_type", "quant_axis", "is_test"),
    ),
)

FAKE_QUANTIZE_MOVING_AVERAGE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_moving_average_abs_max",
    doc="The codes of a scale that follows the largest magnitude of many batches.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=OldOp(
        "fake_quantize_moving_average_abs_max",
        _STATE,
        _NEXT_STATE,
        same("moving_rate", "bit_length", "is_test", "round_type"),
    ),
)

FAKE_QUANTIZE_RANGE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_range_abs_max",
    doc="The codes of a scale that is the largest magnitude of the last `window_size` batches.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=OldOp(
        "fake_quantize_range_abs_max",
        {"x": "X", "in_scale": "InScale", "iter": "Iter"},
        {**_WITH_SCALE, "out_scales": "OutScales"},
        same("window_size", "bit_length", "is_test", "round_type"),
    ),
)

FAKE_DEQUANTIZE_MAX_ABS = OpFacts(
    name="pd_op.fake_dequantize_max_abs",
    doc="Codes back to numbers: `x * scale / max_range`.",
    flow=ChannelFlow.KEEPS,
    old=OldOp("fake_dequantize_max_abs", {"x": "X", "scale": "Scale"}, attrs=same("max_range")),
)

FAKE_CHANNEL_WISE_DEQUANTIZE_MAX_ABS = OpFacts(
    name="pd_op.fake_channel_wise_dequantize_max_abs",
    doc="Codes back to numbers, with a scale for each slice along `quant_axis`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=lambda attrs, rank: attrs.get("quant_axis", 0),
    old=OldOp(
        "fake_channel_wise_dequantize_max_abs",
        {"x": "X", "scales": "Scales"},
        attrs=same("quant_bits", "quant_axis", "x_num_col_dims"),
    ),
)

MOVING_AVERAGE_ABS_MAX_SCALE = OpFacts(
    name="pd_op.moving_average_abs_max_scale",
    doc="Passes `x` on and keeps a scale that follows its largest magnitude.",
    flow=ChannelFlow.KEEPS,
    sign=Sign.AS_INPUTS,
    old=OldOp(
        "moving_average_abs_max_scale",
        {"x": "X", "in_accum": "InAccum", "in_state": "InState"},
        _NEXT_STATE,
        same("moving_rate", "is_test"),
    ),
)

QUANTIZE_LINEAR = OpFacts(
    name="pd_op.quantize_linear",
    doc="Numbers to codes, with a scale and a zero point for all or for each slice along `quant_axis`.",
    flow=ChannelFlow.KEEPS,
    old=OldOp(
        "quantize_linear",
        _LINEAR_IN,
        _LINEAR_OUT,
        same("quant_axis", "bit_length", "qmin", "qmax", "round_type", "is_test", "only_observer"),
    ),
)

DEQUANTIZE_LINEAR = OpFacts(
    name="pd_op.dequantize_linear",
    doc="Codes to numbers, with a scale and a zero point for all or for each slice along `quant_axis`.",
    flow=ChannelFlow.KEEPS,
    old=OldOp(
        "dequantize_linear",
        _LINEAR_IN,
        _LINEAR_OUT,
        same("quant_axis", "bit_length", "qmin", "qmax", "round_type", "is_test", "only_observer"),
    ),
)

FAKE_QUANTIZE_DEQUANTIZE_MOVING_AVERAGE_ABS_MAX_IN_PLACE = in_place(
    FAKE_QUANTIZE_DEQUANTIZE_MOVING_AVERAGE_ABS_MAX, {**_SHARED_SCALE, **_SHARED_AVERAGE}
)
FAKE_QUANTIZE_MOVING_AVERAGE_ABS_MAX_IN_PLACE = in_place(
    FAKE_QUANTIZE_MOVING_AVERAGE_ABS_MAX, {**_SHARED_SCALE, **_SHARED_AVERAGE}
)
FAKE_QUANTIZE_RANGE_ABS_MAX_IN_PLACE = in_place(FAKE_QUANTIZE_RANGE_ABS_MAX, _SHARED_SCALE)
MOVING_AVERAGE_ABS_MAX_SCALE_IN_PLACE = in_place(MOVING_AVERAGE_ABS_MAX_SCALE, _SHARED_AVERAGE)
QUANTIZE_LINEAR_IN_PLACE = in_place(QUANTIZE_LINEAR, {**_SHARED_AVERAGE, "out_scale": "scale"})
DEQUANTIZE_LINEAR_IN_PLACE = in_place(DEQUANTIZE_LINEAR, {**_SHARED_AVERAGE, "out_scale": "scale"})
