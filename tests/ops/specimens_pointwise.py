"""Specimens of activations, of arithmetic and of logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 (the name it has everywhere)
from paddle import _C_ops
from paddle_trials import Floats, Specimen

IMAGE, CHANNELS_LAST = (2, 4, 6, 6), (2, 6, 6, 4)
DROPOUT, PRELU = "pd_op.dropout", "pd_op.prelu"


def pointwise(op: str, call: Callable[..., Any], **told: Any) -> Specimen:
    """An op on one picture."""
    return Specimen(f"pd_op.{op}", call, {"x": IMAGE}, **told)


def pairwise(op: str, call: Callable[..., Any], **told: Any) -> tuple[Specimen, Specimen]:
    """An op on two pictures, and on a picture and one number for each channel of it."""
    name, per_channel = f"pd_op.{op}", {"x": IMAGE, "y": (1, 4, 1, 1)}
    return Specimen(name, call, {"x": IMAGE, "y": IMAGE}, **told), Specimen(name, call, per_channel, **told)


def _dropout(is_test: bool, mode: str) -> Callable[[Any], Any]:
    return lambda x: _C_ops.dropout(x, None, 0.5, is_test, mode, 3, True)


def _prelu(mode: str, layout: str, shape: tuple[int, ...], alphas: tuple[int, ...]) -> Specimen:
    return Specimen(
        PRELU, lambda x, alpha: _C_ops.prelu(x, alpha, layout, mode), {"x": shape, "alpha": alphas}
    )


def _to_nan(channel: Floats) -> Floats:
    return np.full_like(channel, np.nan)


def _denied(channel: Floats) -> Floats:
    return np.logical_not(channel).astype("float32")


ACTIVATIONS = (
    pointwise("relu", F.relu),
    pointwise("relu6", F.relu6),
    pointwise("leaky_relu", lambda x: F.leaky_relu(x, 0.1)),
    _prelu("all", "NCHW", IMAGE, (1,)),
    _prelu("channel", "NCHW", IMAGE, (4,)),
    _prelu("channel", "NHWC", CHANNELS_LAST, (4,)),
    pointwise("elu", lambda x: F.elu(x, 0.7)),
    pointwise("selu", F.selu),
    pointwise("gelu", F.gelu),
    pointwise("gelu", lambda x: F.gelu(x, approximate=True)),
    pointwise("silu", F.silu),
    pointwise("swish", F.swish),
    pointwise("mish", F.mish),
    pointwise("hardswish", F.hardswish),
    pointwise("hardsigmoid", F.hardsigmoid),
    pointwise("hardsigmoid", lambda x: F.hardsigmoid(x, 0.2, 0.4)),
    pointwise("hardtanh", lambda x: F.hardtanh(x, -0.5, 0.7)),
    pointwise("sigmoid", F.sigmoid),
    pointwise("tanh", paddle.tanh),
    pointwise("softplus", lambda x: F.softplus(x, 2.0, 15.0)),
    pointwise("softmax", lambda x: F.softmax(x, 1)),
    pointwise("softmax", F.softmax),
    pointwise("log_softmax", lambda x: F.log_softmax(x, 1)),
    pointwise("log_softmax", F.log_softmax),
)

ARITHMETIC = (
    *pairwise("add", paddle.add),
    Specimen("pd_op.add_n", lambda a, b: paddle.add_n([a, b]), {"inputs.0": IMAGE, "inputs.1": IMAGE}),
    *pairwise("subtract", paddle.subtract),
    *pairwise("multiply", paddle.multiply),
    *pairwise("divide", paddle.divide),
    *pairwise("maximum", paddle.maximum),
    *pairwise("minimum", paddle.minimum),
    *pairwise("floor_divide", paddle.floor_divide, positive=("y",), disturb=np.negative),
    *pairwise("remainder", paddle.remainder, positive=("y",)),
    *pairwise("elementwise_pow", paddle.pow, positive=("x",)),
    pointwise("pow", lambda x: paddle.pow(x, 3.0)),
    pointwise("scale", lambda x: paddle.scale(x, -2.0, 1.0)),
    pointwise("scale", lambda x: paddle.scale(x, -2.0, 1.0, False)),
    pointwise("scale", lambda x: paddle.scale(x, 0.5)),
    Specimen("pd_op.increment_", lambda x: paddle.increment(x, 2.0), {"x": (1,)}),
    pointwise("clip", lambda x: paddle.clip(x, -1.0, 1.0)),
    pointwise("abs", paddle.abs),
    pointwise("sign", paddle.sign),
    pointwise("round", paddle.round),
    pointwise("round", lambda x: paddle.round(x, 1)),
    pointwise("floor", paddle.floor),
    pointwise("ceil", paddle.ceil),
    pointwise("square", paddle.square),
    pointwise("sqrt", paddle.sqrt, positive=("x",)),
    pointwise("rsqrt", paddle.rsqrt, positive=("x",)),
    pointwise("reciprocal", paddle.reciprocal),
    pointwise("exp", paddle.exp),
    pointwise("log", lambda x: paddle.log(x), positive=("x",)),
    pointwise("erf", paddle.erf),
    pointwise("sin", paddle.sin),
    pointwise("cos", paddle.cos),
    *(
        pointwise("dropout", _dropout(is_test, mode))
        for is_test in (True, False)
        for mode in ("upscale_in_train", "downgrade_in_infer")
    ),
)

LOGIC = (
    *(
        specimen
        for op in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
        for specimen in pairwise(op, getattr(paddle, op), whole=("x", "y"))
    ),
    *(
        specimen
        for op in ("logical_and", "logical_or", "logical_xor")
        # A channel whose one y is true decides an `or` alone, so each element has a y of its own.
        for specimen in pairwise(op, getattr(paddle, op), whole=("x", "y"), disturb=_denied)[:1]
    ),
    pointwise("logical_not", paddle.logical_not, whole=("x",)),
    pointwise("isnan", paddle.isnan, disturb=_to_nan),
    Specimen(
        "pd_op.where",
        lambda x, y, condition: paddle.where(condition, x, y),
        {"x": IMAGE, "y": IMAGE},
        given={"condition": np.random.RandomState(2).rand(*IMAGE) > 0.5},
    ),
)
