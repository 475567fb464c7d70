"""Pictures made larger or smaller."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, Sign, moves, same, scales
from spokeshave.ops.conv import channel_axis


def _old(kind: str) -> OldOp:
    names = ("out_d", "out_h", "out_w", "scale", "interp_method", "align_corners", "align_mode")
    return OldOp(
        kind,
        {"x": "X", "out_size": "OutSize", "size_tensor": "SizeTensor", "scale_tensor": "Scale"},
        {"output": "Out"},
        {"data_format": "data_layout", **same(*names)},
    )


NEAREST = OpFacts(
    name="pd_op.nearest_interp",
    doc="Each pixel of the result is the nearest one of `x`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    sign=Sign.AS_INPUTS,
    on_codes=moves,
    old=_old("nearest_interp_v2"),
)

BILINEAR = OpFacts(
    name="pd_op.bilinear_interp",
    doc="Each pixel of the result is a mean of the four of `x` around it.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    sign=Sign.AS_INPUTS,
    on_codes=scales,
    old=_old("bilinear_interp_v2"),
)

BICUBIC = OpFacts(
    name="pd_op.bicubic_interp",
    doc="Each pixel of the result is weighed from sixteen of `x`; some weights are negative.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    on_codes=scales,
    old=_old("bicubic_interp_v2"),
)
