"""Paddle's own quantizers, as training and PaddleSlim put them into programs."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts

FAKE_QUANTIZE_DEQUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_dequantize_abs_max",
    doc="Rounded to the codes of one scale for the whole tensor, the largest magnitude, and back.",
    flow=ChannelFlow.KEEPS,
)

FAKE_CHANNEL_WISE_QUANTIZE_DEQUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_channel_wise_quantize_dequantize_abs_max",
    doc="Rounded to the codes of a scale for each slice along `quant_axis`, its largest magnitude, and back.",
    flow=ChannelFlow.KEEPS,
    channel_axis=lambda attrs, rank: attrs.get("quant_axis", 0),
)

FAKE_QUANTIZE_DEQUANTIZE_MOVING_AVERAGE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_dequantize_moving_average_abs_max",
    doc="Rounded to the codes of a scale that follows the largest magnitude of many batches, and back.",
    flow=ChannelFlow.KEEPS,
)

FAKE_QUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_abs_max",
    doc="The codes of one scale for the whole tensor, the largest magnitude.",
    flow=ChannelFlow.KEEPS,
)

FAKE_CHANNEL_WISE_QUANTIZE_ABS_MAX = OpFacts(
    name="pd_op.fake_channel_wise_quantize_abs_max",
    doc="The codes of a scale for each slice along `quant_axis`, its largest magnitude.",
    flow=ChannelFlow.KEEPS,
    channel_axis=lambda attrs, rank: attrs.get("quant_axis", 0),
)

FAKE_QUANTIZE_MOVING_AVERAGE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_moving_average_abs_max",
    doc="The codes of a scale that follows the largest magnitude of many batches.",
    flow=ChannelFlow.KEEPS,
)

FAKE_QUANTIZE_RANGE_ABS_MAX = OpFacts(
    name="pd_op.fake_quantize_range_abs_max",
    doc="The codes of a scale that is the largest magnitude of the last `window_size` batches.",
    flow=ChannelFlow.KEEPS,
)

FAKE_DEQUANTIZE_MAX_ABS = OpFacts(
    name="pd_op.fake_dequantize_max_abs",
    doc="Codes back to numbers: `x * scale / max_range`.",
    flow=ChannelFlow.KEEPS,
)

FAKE_CHANNEL_WISE_DEQUANTIZE_MAX_ABS = OpFacts(
    name="pd_op.fake_channel_wise_dequantize_max_abs",
    doc="Codes back to numbers, with a scale for each slice along `quant_axis`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=lambda attrs, rank: attrs.get("quant_axis", 0),
)

MOVING_AVERAGE_ABS_MAX_SCALE = OpFacts(
    name="pd_op.moving_average_abs_max_scale",
    doc="Passes `x` on and keeps a scale that follows its largest magnitude.",
    flow=ChannelFlow.KEEPS,
)

QUANTIZE_LINEAR = OpFacts(
    name="pd_op.quantize_linear",
    doc="Numbers to codes, with a scale and a zero point for the tensor or for each slice along `quant_axis`.",
    flow=ChannelFlow.KEEPS,
)

DEQUANTIZE_LINEAR = OpFacts(
    name="pd_op.dequantize_linear",
    doc="Codes to numbers, with a scale and a zero point for the tensor or for each slice along `quant_axis`.",
    flow=ChannelFlow.KEEPS,
)
