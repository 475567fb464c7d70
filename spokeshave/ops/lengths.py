"""Which lengths of a result are those of the first operand, whatever they are."""

from __future__ import annotations

from spokeshave.ops.effects import BATCH_NORMS

_POINTWISE = (
    "abs assign cast clip dropout elu exp gelu hardsigmoid hardswish layer_norm leaky_relu log mish relu "
    "relu6 round scale sigmoid silu softmax sqrt swish tanh"
)
_WINDOWED = (
    "bilinear_interp conv2d conv2d_transpose depthwise_conv2d depthwise_conv2d_transpose "
    "nearest_interp pool2d"
)
_ALL = frozenset((*BATCH_NORMS, *(f"pd_op.{op}" for op in _POINTWISE.split())))
_FIRST = frozenset(f"pd_op.{op}" for op in _WINDOWED.split())


def keeps_length(op: str, axis: int) -> bool:
    """Whether the first result of an op is along an axis as long as its first operand, for certain.

    Windows slide over a picture's axes and leave the batch, which is the first axis in every layout.
    """
    return op in _ALL or (op in _FIRST and axis == 0)
