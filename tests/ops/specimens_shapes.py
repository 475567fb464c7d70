"""Specimens of the ops that move values, end axes or read codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 (the name it has everywhere)
from paddle import _C_ops
from paddle_trials import ALL, Floats, Specimen
from specimens_pointwise import CHANNELS_LAST, IMAGE, pointwise

CONCAT_OF_EXAMPLES = Specimen(
    "pd_op.concat", lambda a, b: paddle.concat([a, b], 0), {"x.0": IMAGE, "x.1": IMAGE}
)
MEAN_OF_PICTURE = pointwise("mean", lambda x: paddle.mean(x, [2, 3]))
MAX_OF_PICTURE = pointwise("max", lambda x: paddle.max(x, [2, 3]))
_INDEX = np.array([2, 0, 2], "int64")


def _channels_last(op: str, call: Callable[..., Any]) -> Specimen:
    return Specimen(f"pd_op.{op}", call, {"x": CHANNELS_LAST})


def _picked(op: str, call: Callable[..., Any], index: Any = _INDEX) -> Specimen:
    return Specimen(f"pd_op.{op}", call, {"x": IMAGE}, given={"index": index})


def _made(op: str, call: Callable[..., Any]) -> Specimen:
    return Specimen(f"pd_op.{op}", call)


def _resized(mode: str, layout: str) -> Callable[[Any], Any]:
    return lambda x: F.interpolate(x, scale_factor=2, mode=mode, data_format=layout)


def _padded(mode: str, number: float, layout: str = "NCDHW") -> Specimen:
    shape = (2, 4, 3, 6, 6) if layout == "NCDHW" else (2, 3, 6, 6, 4)
    borders = [0, 1, 1, 1, 0, 0]
    return Specimen("pd_op.pad3d", lambda x: _C_ops.pad3d(x, borders, mode, number, layout), {"x": shape})


def _over(op: str, call: Callable[..., Any], **told: Any) -> tuple[Specimen, ...]:
    """Over all axes, over the channels, and over the channels with the axis kept."""
    return (
        pointwise(op, call, **told),
        pointwise(op, lambda x: call(x, 1), **told),
        pointwise(op, lambda x: call(x, 1, keepdim=True), **told),
    )


def _sunk(channel: Floats) -> Floats:
    return channel - 20


def _assigned() -> Any:
    op: Any = _C_ops.assign_value
    return op([2], paddle.float32, [1.5, -2.0], paddle.CPUPlace())


POOLS = (
    pointwise("pool2d", lambda x: F.max_pool2d(x, 3, 2, 1)),
    pointwise("pool2d", lambda x: F.avg_pool2d(x, 2)),
    pointwise("pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1)),
    pointwise("pool2d", lambda x: F.adaptive_avg_pool2d(x, 1)),
    _channels_last("pool2d", lambda x: F.max_pool2d(x, 2, data_format="NHWC")),
)

RESIZED = (
    pointwise("nearest_interp", _resized("nearest", "NCHW")),
    _channels_last("nearest_interp", _resized("nearest", "NHWC")),
    pointwise("bilinear_interp", _resized("bilinear", "NCHW")),
    _channels_last("bilinear_interp", _resized("bilinear", "NHWC")),
    pointwise("bicubic_interp", _resized("bicubic", "NCHW")),
    pointwise("nearest_interp", lambda x: F.interpolate(x, size=[3, 4])),
)

MOVED = (
    pointwise("reshape", lambda x: paddle.reshape(x, [2, -1])),
    pointwise("flatten", lambda x: paddle.flatten(x, 1)),
    pointwise("transpose", lambda x: paddle.transpose(x, [0, 2, 3, 1])),
    Specimen("pd_op.concat", lambda a, b: paddle.concat([a, b], 1), {"x.0": IMAGE, "x.1": (2, 3, 6, 6)}),
    CONCAT_OF_EXAMPLES,
    Specimen("pd_op.stack", lambda a, b: paddle.stack([a, b], 1), {"x.0": IMAGE, "x.1": IMAGE}),
    pointwise("unstack", lambda x: paddle.unstack(x, 1), result="out.2"),
    pointwise("split", lambda x: paddle.split(x, [1, 3], 1), result="out.1"),
    pointwise("split_with_num", lambda x: paddle.split(x, 2, 1), result="out.1"),
    Specimen("pd_op.squeeze", lambda x: paddle.squeeze(x, [2, 3]), {"x": (2, 4, 1, 1)}),
    Specimen("pd_op.unsqueeze", lambda x: paddle.unsqueeze(x, [2, 3]), {"x": (2, 4)}),
    Specimen("pd_op.slice", lambda x: x[:, 1:3], {"input": IMAGE}),
    Specimen("pd_op.slice", lambda x: x[:, 0], {"input": IMAGE}),
    pointwise("strided_slice", lambda x: x[:, :, ::2, ::2]),
    pointwise("pad", lambda x: F.pad(x, [0, 0, 1, 1, 0, 0, 0, 0])),
    pointwise("pad", lambda x: F.pad(x, [0, 0, 0, 0, 0, 1, 0, 1], value=-3.0)),
    _padded("constant", 0.0),
    _padded("constant", -3.0),
    _padded("reflect", 0.0),
    _padded("replicate", -3.0),
    _padded("circular", 0.0, "NDHWC"),
    Specimen("pd_op.expand", lambda x: paddle.expand(x, [2, 4, 3, 3]), {"x": (1, 4, 1, 1)}),
    Specimen("pd_op.expand_as", paddle.expand_as, {"x": (1, 4, 1, 1), "y": IMAGE}),
    pointwise("tile", lambda x: paddle.tile(x, [1, 2, 1, 1])),
    _picked("gather", lambda x, index: paddle.gather(x, index, 1)),
    _picked("gather_nd", paddle.gather_nd, np.array([[0, 3], [1, 1]], "int64")),
    _picked("index_select", lambda x, index: paddle.index_select(x, index, 1)),
    pointwise("flip", lambda x: paddle.flip(x, [1, 3])),
    pointwise("roll", lambda x: paddle.roll(x, [1, 2], [1, 3])),
    pointwise("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2)),
    pointwise("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2)),
    pointwise("shuffle_channel", lambda x: _C_ops.shuffle_channel(x, 2)),
    pointwise("channel_shuffle", lambda x: F.channel_shuffle(x, 2)),
    pointwise("assign", paddle.assign),
    pointwise("cast", lambda x: paddle.cast(x, "float64")),
    pointwise("cast", lambda x: paddle.cast(x, "int32")),
    Specimen("pd_op.assign_out_", _C_ops.assign_out_, {"x": IMAGE, "output": IMAGE}),
)

CONSTANTS = (
    _made("full", lambda: paddle.full([2, 3], 0.5)),
    _made("full_int_array", lambda: _C_ops.full_int_array([2, 3], paddle.int64, paddle.CPUPlace())),
    _made("full_with_tensor", lambda: paddle.full(paddle.full([2], 3, "int64"), 0.5)),
    _made("assign_value_", lambda: paddle.assign(np.array([1.5, -2.0], "float32"))),
    _made("assign_value", _assigned),
    _made("arange", lambda: paddle.arange(1, 7, 2)),
    Specimen("pd_op.shape", _C_ops.shape, {"input": IMAGE}),
    Specimen("pd_op.shape64", _C_ops.shape64, {"input": IMAGE}),
    pointwise("numel", paddle.numel),
    pointwise("full_like", lambda x: paddle.full_like(x, -1.5)),
)

REDUCED = (
    *_over("mean", paddle.mean),
    *_over("sum", paddle.sum),
    *_over("prod", paddle.prod),
    *_over("max", paddle.max),
    *_over("min", paddle.min, disturb=_sunk),
    *(
        pointwise(op, lambda x, op=op, keep=keep: getattr(_C_ops, op)(x, [1], keep), whole=("x",))
        for op in ("any", "all")
        for keep in (True, False)
    ),
    pointwise("mean_all", _C_ops.mean_all),
    pointwise("p_norm", lambda x: _C_ops.p_norm(x, 2.0, 1, 1e-12, True, False)),
    pointwise("argmax", lambda x: paddle.argmax(x, 1)),
    pointwise("argmin", lambda x: paddle.argmin(x, 1, keepdim=True)),
    pointwise("topk", lambda x: paddle.topk(x, 2, 1)),
    Specimen("pd_op.topk", lambda x: paddle.topk(x, 1), {"x": (8, 5)}, result="indices"),
    Specimen(
        "pd_op.accuracy",
        _C_ops.accuracy,
        {"x": (8, 2), "indices": (8, 2)},
        given={"label": np.zeros((8, 1), "int64")},
        indices=("indices",),
    ),
    pointwise("cumsum", lambda x: paddle.cumsum(x, 1), partly="a sum holds what came before it"),
    Specimen(
        "pd_op.cross_entropy_with_softmax",
        F.cross_entropy,
        {"input": (3, 5)},
        given={"label": np.array([[0], [4], [2]], "int64")},
        result="loss",
    ),
    Specimen(
        "pd_op.crf_decoding",
        lambda emission, transition, length: _C_ops.crf_decoding(emission, transition, None, length),
        {"emission": (2, 7, 4), "transition": (6, 4)},
        given={"length": np.array([7, 5], "int64")},
    ),
    Specimen(
        "pd_op.yolo_box",
        lambda x, size: _C_ops.yolo_box(x, size, [10, 13, 16, 30], 2, 0.01, 8, False, 1.0, False, 0.5),
        {"x": (2, 14, 4, 4)},
        given={"img_size": np.array([[64, 64], [48, 32]], "int32")},
        result=ALL,
    ),
    Specimen(
        "pd_op.multiclass_nms3",
        lambda boxes, scores: _C_ops.multiclass_nms3(boxes, scores, None, 0.01, 10, 10, 0.9, True, 1.0, -1),
        {"bboxes": (1, 5, 4), "scores": (1, 3, 5)},
        result=ALL,
    ),
)


def _computed(op: str, call: Callable[..., Any], **given: Any) -> Specimen:
    """An op that is told by other tensors where to move values."""
    name = "input" if op == "slice" else "x"
    told = {operand: np.array(numbers) for operand, numbers in given.items()}
    return Specimen(f"pd_op.{op}", call, {name: IMAGE}, given=told)


def _sliced(x: Any, starts: Any, ends: Any) -> Any:
    return _C_ops.slice(x, [1, 2], starts, ends, [-1, -1], [])


COMPUTED = (
    _computed("reshape", paddle.reshape, shape=[2, 8, 18]),
    _computed("tile", paddle.tile, repeat_times=[1, 2, 1, 1]),
    Specimen("pd_op.expand", paddle.expand, {"x": (1, 4, 1, 1)}, given={"shape": np.array([2, 4, 3, 3])}),
    _computed("slice", _sliced, starts=[1, 0], ends=[3, 4]),
    _computed("roll", lambda x, shifts: paddle.roll(x, shifts, [1, 3]), shifts=[1, 2]),
    _computed("unsqueeze", paddle.unsqueeze, axis=[1]),
    _computed("topk", lambda x, k: paddle.topk(x, k, 1), k=[2]),
    _computed("gather", paddle.gather, index=[2, 0, 2], axis=[1]),
    Specimen(
        "pd_op.concat",
        lambda a, b, axis: paddle.concat([a, b], axis),
        {"x.0": IMAGE, "x.1": IMAGE},
        given={"axis": np.array([1])},
    ),
    Specimen(
        "pd_op.split_with_num",
        lambda x, axis: paddle.split(x, 2, axis),
        {"x": IMAGE},
        given={"axis": np.array([1])},
    ),
    Specimen(
        "pd_op.split",
        lambda x, axis: paddle.split(x, [1, 3], axis),
        {"x": IMAGE},
        given={"axis": np.array([1])},
    ),
    Specimen(
        "pd_op.strided_slice",
        lambda x, *told: _C_ops.strided_slice(x, [1, 2], *told),
        {"x": IMAGE},
        given={name: np.array(n) for name, n in (("starts", [0, 1]), ("ends", [4, 5]), ("strides", [2, 3]))},
    ),
    Specimen(
        "pd_op.pad3d",
        lambda x, paddings: _C_ops.pad3d(x, paddings, "constant", 0.0, "NCDHW"),
        {"x": (2, 4, 3, 6, 6)},
        given={"paddings": np.array([0, 1, 1, 1, 0, 0])},
    ),
    Specimen(
        "pd_op.clip",
        lambda x, least, most: _C_ops.clip(x, least, most),
        {"x": IMAGE},
        given={"min": np.array([-0.5], "float32"), "max": np.array([0.7], "float32")},
    ),
    Specimen(
        "pd_op.scale",
        lambda x, scale: _C_ops.scale(x, scale, 0.5, True),
        {"x": IMAGE},
        given={"scale": np.array([-2.0], "float32")},
    ),
    Specimen(
        "pd_op.one_hot",
        lambda x, n: _C_ops.one_hot(x, n),
        given={"x": np.array([[0, 2], [3, 1]], "int64"), "num_classes": np.array([4], "int32")},
    ),
)


def _observed(kind: str, *told: Any, **more: Any) -> Specimen:
    op: Any = getattr(_C_ops, kind)
    return Specimen(f"pd_op.{kind}", lambda *operands: op(*operands, *told), disturb=np.negative, **more)


def _slices(kind: str, axis: int, *told: Any) -> Specimen:
    op: Any = getattr(_C_ops, kind)
    return Specimen(f"pd_op.{kind}", lambda x: op(x, 8, 0, axis, *told), {"x": (5, 4, 3, 3)})


_RANGE = {"in_scale": np.array([1.5], "float32")}
_MOVING = {**_RANGE, "in_accum": np.array([1.4], "float32"), "in_state": np.array([1.0], "float32")}
_LINEAR = {
    "scale": np.array([0.1], "float32"),
    "zero_point": np.array([0.0], "float32"),
    "in_accum": np.array([1.0], "float32"),
    "in_state": np.array([1.0], "float32"),
}
_LINEAR_PER_CHANNEL = {
    **_LINEAR,
    "scale": np.array([0.1, 0.2, 0.3, 0.4], "float32"),
    "zero_point": np.zeros(4, "float32"),
}

QUANTIZERS = (
    _observed("fake_quantize_dequantize_abs_max", 8, 0, feeds={"x": IMAGE}),
    _observed("fake_quantize_abs_max", 8, 0, feeds={"x": IMAGE}),
    *(_slices("fake_channel_wise_quantize_dequantize_abs_max", axis) for axis in (0, 1)),
    *(_slices("fake_channel_wise_quantize_abs_max", axis, False) for axis in (0, 1)),
    *(
        _observed(kind, 0.9, 8, is_test, 0, feeds={"x": IMAGE}, given=_MOVING)
        for kind in (
            "fake_quantize_dequantize_moving_average_abs_max",
            "fake_quantize_dequantize_moving_average_abs_max_",
            "fake_quantize_moving_average_abs_max",
            "fake_quantize_moving_average_abs_max_",
        )
        for is_test in (True, False)
    ),
    *(
        _observed(
            kind,
            *(100, 8, is_test, 0),
            feeds={"x": IMAGE},
            given={**_RANGE, "iter": np.array([1], "int64")},
            unread=("out_scales",),
        )
        for kind in ("fake_quantize_range_abs_max", "fake_quantize_range_abs_max_")
        for is_test in (True, False)
    ),
    Specimen(
        "pd_op.fake_dequantize_max_abs",
        lambda x, scale: _C_ops.fake_dequantize_max_abs(x, scale, 127.0),
        {"x": IMAGE},
        given={"scale": np.array([1.5], "float32")},
    ),
    *(
        Specimen(
            "pd_op.fake_channel_wise_dequantize_max_abs",
            lambda x, scale, axis=axis: _C_ops.fake_channel_wise_dequantize_max_abs(x, [scale], [8], axis, 1),
            {"x": (4, 4, 3, 3)},
            given={"scales.0": np.array([1.5, 1.0, 2.0, 0.5], "float32")},
        )
        for axis in (0, 1)
    ),
    *(
        _observed(
            kind,
            *(0.9, True),
            feeds={"x": IMAGE},
            given={name: _MOVING[name] for name in ("in_accum", "in_state")},
        )
        for kind in ("moving_average_abs_max_scale", "moving_average_abs_max_scale_")
    ),
    *(
        _observed(kind, axis, 8, -128, 127, 0, True, False, feeds={"x": IMAGE}, given=given)
        for kind in ("quantize_linear", "quantize_linear_", "dequantize_linear", "dequantize_linear_")
        for axis, given in ((-1, _LINEAR), (1, _LINEAR_PER_CHANNEL))
    ),
)
