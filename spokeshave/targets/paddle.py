"""Paddle's own INT8 engines."""

from spokeshave.numerics import INT8, INT8_NARROW
from spokeshave.targets._placements import Placement, Rule, Target

PADDLE = Target(
    name="paddle",
    doc=(
        "What `quant_aware` quantizes by default: the inputs of convolutions and of products with a constant "
        "weight, signed, one scale each; their weights signed, one scale per output channel."
    ),
    placements=tuple(
        placement
        for op, data, weight in (
            ("pd_op.conv2d", "input", "filter"),
            ("pd_op.depthwise_conv2d", "input", "filter"),
            ("pd_op.matmul", "x", "y"),
        )
        for placement in (
            Placement(op, data, INT8, Rule.CONSTANT_WEIGHT),
            Placement(op, weight, INT8_NARROW, Rule.CONSTANT_WEIGHT, per_channel=True),
        )
    ),
)
