"""Specimens of the ops that have weights, and of norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 (the name it has everywhere)
from paddle import _C_ops
from paddle_trials import Specimen

IMAGE, CHANNELS_LAST = (2, 4, 6, 6), (2, 6, 6, 4)
CONV, DEPTHWISE, MATMUL = "pd_op.conv2d", "pd_op.depthwise_conv2d", "pd_op.matmul"
UPWARD, DEPTHWISE_UPWARD = "pd_op.conv2d_transpose", "pd_op.depthwise_conv2d_transpose"
NORM, PLAIN_NORM, LAYER_NORM = "pd_op.batch_norm_", "pd_op.batch_norm", "pd_op.layer_norm"


def _conv(filter_shape: tuple[int, ...], shape: tuple[int, ...] = IMAGE, **options: Any) -> Specimen:
    feeds = {"input": shape, "filter": filter_shape}
    return Specimen(CONV, lambda x, w: F.conv2d(x, w, **options), feeds)


def _upward(filter_shape: tuple[int, ...], shape: tuple[int, ...] = IMAGE, **options: Any) -> Specimen:
    feeds = {"x": shape, "filter": filter_shape}
    return Specimen(UPWARD, lambda x, w: F.conv2d_transpose(x, w, **options), feeds)


def _depthwise_upward(layout: str) -> Callable[..., Any]:
    op: Any = _C_ops.depthwise_conv2d_transpose
    return lambda x, w: op(x, w, [1, 1], [0, 0], [], [], "EXPLICIT", 4, [1, 1], layout)


def _batch_norm(kind: str, is_test: bool, layout: str, shape: tuple[int, ...] = IMAGE) -> Specimen:
    op: Any = getattr(_C_ops, kind)
    feeds = {"x": shape, **dict.fromkeys(("mean", "variance", "scale", "bias"), (4,))}
    return Specimen(
        f"pd_op.{kind}",
        lambda *operands: op(*operands, is_test, 0.9, 1e-5, layout, False, False),
        feeds,
        positive=("variance",),
        unread=("saved_mean", "saved_variance", "reserve_space") if is_test else ("reserve_space",),
    )


def _layer_norm(shape: tuple[int, ...], axis: int) -> Specimen:
    size = int(np.prod(shape[axis:]))
    return Specimen(
        LAYER_NORM,
        lambda x, scale, bias: _C_ops.layer_norm(x, scale, bias, 1e-5, axis),
        {"x": shape, "scale": (size,), "bias": (size,)},
    )


def _group_norm(layout: str, shape: tuple[int, ...]) -> Specimen:
    return Specimen(
        "pd_op.group_norm",
        lambda x, scale, bias: _C_ops.group_norm(x, scale, bias, 1e-5, 2, layout),
        {"x": shape, "scale": (4,), "bias": (4,)},
    )


def _addmm(x: Any, y: Any) -> Any:
    return paddle.addmm(paddle.zeros([3, 5]), x, y)


def _gru(x: Any, weight: Any, bias: Any) -> Any:
    return _C_ops.gru(x, None, weight, bias, "tanh", "sigmoid", False, False, True)


def _lstm(x: Any, hidden: Any, cell: Any, *weights: Any) -> Any:
    state = paddle.zeros([1], "uint8")
    return _C_ops.rnn(x, [hidden, cell], list(weights), None, state, 0.0, False, 5, 4, 1, "LSTM", 0, True)


MATMUL_TRANSPOSED_X = Specimen(
    MATMUL, lambda x, y: paddle.matmul(x, y, transpose_x=True), {"x": (5, 2), "y": (5, 3)}
)
MATMUL_ATTENTION = Specimen(
    MATMUL,
    lambda x, y: paddle.matmul(x, y, transpose_y=True),
    {"x": (2, 3, 7, 5), "y": (2, 3, 4, 5)},
)
GRU = Specimen(
    "pd_op.gru",
    _gru,
    {"input": (5, 12), "weight": (4, 12), "bias": (1, 12)},
    result="hidden",
    sequences=(3, 2),
    unread=("batch_gate", "batch_reset_hidden_prev", "batch_hidden"),
    macs=240,
)
LSTM = Specimen(
    "pd_op.rnn",
    _lstm,
    {
        "x": (6, 2, 5),
        "pre_state.0": (1, 2, 4),
        "pre_state.1": (1, 2, 4),
        "weight_list.0": (16, 5),
        "weight_list.1": (16, 4),
        "weight_list.2": (16,),
        "weight_list.3": (16,),
    },
    unread=("dropout_state_out", "reserve"),
    macs=1728,
)

WEIGHTED = (
    _conv((5, 4, 3, 3)),
    _conv((4, 4, 1, 1)),
    _conv((6, 2, 3, 3), stride=2, groups=2),
    _conv((5, 4, 3, 2), CHANNELS_LAST, data_format="NHWC"),
    _conv((5, 4, 1, 3), (2, 4, 1, 6)),
    Specimen("pd_op.conv3d", F.conv3d, {"input": (2, 4, 3, 4, 4), "filter": (5, 4, 2, 3, 3)}),
    Specimen(
        "pd_op.conv3d",
        lambda x, w: F.conv3d(x, w, groups=2, data_format="NDHWC"),
        {"input": (2, 3, 4, 4, 4), "filter": (6, 2, 2, 3, 2)},
    ),
    Specimen(DEPTHWISE, lambda x, w: F.conv2d(x, w, groups=4), {"input": IMAGE, "filter": (4, 1, 3, 3)}),
    Specimen(DEPTHWISE, lambda x, w: F.conv2d(x, w, groups=4), {"input": IMAGE, "filter": (8, 1, 3, 3)}),
    Specimen(
        DEPTHWISE,
        lambda x, w: _C_ops.depthwise_conv2d(x, w, [1, 1], [0, 0], "EXPLICIT", 4, [1, 1], "NHWC"),
        {"input": CHANNELS_LAST, "filter": (4, 1, 3, 3)},
    ),
    _upward((4, 5, 3, 3)),
    _upward((4, 4, 2, 2), stride=2),
    _upward((4, 3, 3, 2), groups=2),
    _upward((4, 5, 3, 2), CHANNELS_LAST, data_format="NHWC"),
    Specimen(DEPTHWISE_UPWARD, _depthwise_upward("NCHW"), {"x": IMAGE, "filter": (4, 1, 3, 3)}),
    Specimen(MATMUL, paddle.matmul, {"x": (2, 5), "y": (5, 3)}),
    Specimen(MATMUL, paddle.matmul, {"x": (2, 7, 4), "y": (4, 4)}),
    Specimen(MATMUL, lambda x, y: paddle.matmul(x, y, transpose_y=True), {"x": (2, 7, 5), "y": (3, 5)}),
    Specimen(MATMUL, lambda x, y: paddle.matmul(x, y, transpose_y=True), {"x": (2, 4), "y": (4, 4)}),
    Specimen("pd_op.bmm", paddle.bmm, {"x": (2, 7, 5), "y": (2, 5, 3)}),
    Specimen("pd_op.bmm", paddle.bmm, {"x": (2, 3, 4), "y": (2, 4, 4)}),
    Specimen("pd_op.mv", lambda vec, x: paddle.mv(x, vec), {"vec": (5,), "x": (3, 5)}),
    Specimen("pd_op.mv", lambda vec, x: paddle.mv(x, vec), {"vec": (4,), "x": (4, 4)}),
    Specimen("pd_op.addmm", _addmm, {"x": (3, 4), "y": (4, 5)}),
    Specimen(
        "pd_op.embedding",
        lambda weight, x: F.embedding(x, weight),
        {"weight": (6, 5)},
        given={"x": np.array([[0, 2, 5], [2, 2, 1]], "int64")},
    ),
    Specimen(
        "pd_op.embedding",
        lambda weight, x: F.embedding(x, weight, padding_idx=2),
        {"weight": (6, 5)},
        given={"x": np.array([[0, 2, 5], [2, 2, 1]], "int64")},
    ),
    Specimen(
        "pd_op.one_hot",
        lambda x: F.one_hot(x, 4),
        given={"x": np.array([[0, 2], [3, 1]], "int64")},
    ),
    GRU,
    LSTM,
)

NORMS = (
    *(
        _batch_norm(kind, is_test, "NCHW")
        for kind in ("batch_norm_", "batch_norm")
        for is_test in (True, False)
    ),
    _batch_norm("batch_norm_", True, "NHWC", CHANNELS_LAST),
    _batch_norm("batch_norm", True, "NHWC", CHANNELS_LAST),
    _batch_norm("batch_norm_", True, "NCHW", (2, 4)),
    _layer_norm((2, 3, 5), 2),
    _layer_norm((2, 3, 5), 1),
    Specimen(
        "pd_op.instance_norm",
        lambda x, scale, bias: _C_ops.instance_norm(x, scale, bias, 1e-5),
        {"x": IMAGE, "scale": (4,), "bias": (4,)},
    ),
    _group_norm("NCHW", IMAGE),
    _group_norm("NHWC", CHANNELS_LAST),
)
