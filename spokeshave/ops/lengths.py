"""Which lengths of a result are those of the first operand, whatever they are."""

from __future__ import annotations

from spokeshave.ops.conv import CONV, CONV_TRANSPOSE, DEPTHWISE_CONV, DEPTHWISE_CONV_TRANSPOSE
from spokeshave.ops.effects import BATCH_NORMS
from spokeshave.ops.elementwise import ABS, CLIP, DROPOUT, RELU, RELU6, ROUND, SCALE, SOFTMAX
from spokeshave.ops.pool import POOL
from spokeshave.ops.shape import CAST

_ROWS = (ABS, CAST, CLIP, DROPOUT, RELU, RELU6, ROUND, SCALE, SOFTMAX)
_WINDOWED = (CONV, DEPTHWISE_CONV, CONV_TRANSPOSE, DEPTHWISE_CONV_TRANSPOSE, POOL)
_OTHERS = (
    "assign elu exp gelu hardsigmoid hardswish layer_norm leaky_relu log mish sigmoid silu sqrt swish tanh"
)
_ALL = frozenset(
    (*BATCH_NORMS, *(row.name for row in _ROWS), *(f"pd_op.{other}" for other in _OTHERS.split()))
)
_FIRST = frozenset((*(row.name for row in _WINDOWED), "pd_op.bilinear_interp", "pd_op.nearest_interp"))


def keeps_length(op: str, axis: int) -> bool:
    """Whether the first result of an op is along an axis as long as its first operand, for certain.

    Windows slide over a picture's axes and leave the batch, which is the first axis in every layout.
    """
    return op in _ALL or (op in _FIRST and axis == 0)
