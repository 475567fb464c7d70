"""Pooling."""

from __future__ import annotations

from spokeshave.ops._facts import Attrs, ChannelFlow, OldOp, OnCodes, OpFacts, Sign, same
from spokeshave.ops.conv import channel_axis


def _on_codes(attrs: Attrs) -> OnCodes:
    return OnCodes.MOVES if attrs.get("pooling_type") == "max" else OnCodes.SCALES


POOL = OpFacts(
    name="pd_op.pool2d",
    doc="Maximum or average over windows, or over the whole picture. A maximum is one of the values it saw.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    sign=Sign.AS_INPUTS,
    on_codes=_on_codes,
    old=OldOp(
        "pool2d",
        {"x": "X"},
        attrs=same(
            "strides",
            "paddings",
            "ceil_mode",
            "exclusive",
            "data_format",
            "pooling_type",
            "global_pooling",
            "adaptive",
            "padding_algorithm",
        ),
        constants={"kernel_size": "ksize"},
    ),
)
