"""Rounding written in Paddle's ops, number for number what `numerics` defines."""

from __future__ import annotations

import paddle

from spokeshave.numerics.affine import SMALLEST_SCALE
from spokeshave.seams import Value


def rounded(value: Value, scale: Value, low: float, high: float) -> Value:
    """`clip(round(value / scale), low, high) * scale`; a zero point is in `low` and `high`.

    Four plain ops and not Paddle's fake-quant kernels: those multiply by a reciprocal, so that ties differ,
    know no zero point, and take more time on large activations.
    """
    # Division, and half to even: as `numerics.encode` and ONNX QuantizeLinear do.
    steps = paddle.round(paddle.divide(value, scale))
    return paddle.multiply(paddle.clip(steps, float(low), float(high)), scale)


def rounded_bias(bias: Value, input_scale: Value, weight_scale: Value) -> Value:
    """A bias in whole steps of the int32 sum that engines add it to."""
    is_per_channel = any(length > 1 for length in weight_scale.shape)
    scales = paddle.reshape(weight_scale, bias.shape if is_per_channel else [1])
    steps = paddle.multiply(input_scale, scales)
    return paddle.multiply(paddle.round(paddle.divide(bias, steps)), steps)


def scale_of(bound: Value, high: int) -> Value:
    """The scale whose outermost code stands for `bound`; 1.0 where that leaves float32's normal range."""
    scale = paddle.divide(bound, paddle.full([1], float(high), "float32"))
    is_usable = paddle.greater_equal(scale, paddle.full([1], SMALLEST_SCALE, "float32"))
    return paddle.where(is_usable, scale, paddle.ones_like(scale))


def straight_through(value: Value, rounded_value: Value) -> Value:
    """The rounded value, whose gradient goes to `value` as if nothing had been rounded.

    `value - value` is zero without error, so that the sum is the rounded value bit for bit.
    """
    return paddle.add(rounded_value.detach(), paddle.subtract(value, value.detach()))
