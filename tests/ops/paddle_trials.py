"""Each op of the table as a tiny Paddle program that can be run on any data, and what to run it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
import paddle.nn.functional as F  # noqa: N812 (the name it has everywhere)
from paddle import _C_ops

Floats = npt.NDArray[np.float32]
IMAGE = (2, 4, 6, 6)


@dataclass(frozen=True, eq=False)
class Specimen:
    """One way to call an op. `feeds` are shapes by operand; a list operand is `x.0`, `x.1`."""

    op: str
    call: Callable[..., Any]
    feeds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    labels: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    result: str = ""


class Trial:
    """A specimen as a program. Build and run it in static mode."""

    def __init__(self, specimen: Specimen) -> None:
        self.specimen = specimen
        self._program = paddle.static.Program()
        with paddle.static.program_guard(self._program, paddle.static.Program()):
            self._op = _find(self._program, specimen)
        self.operands: tuple[str, ...] = tuple(self._op.get_input_names())
        self.attrs: dict[str, Any] = dict(self._op.attrs())
        self._results = dict(zip(self._op.get_output_names(), self._op.results()))
        self._result = specimen.result or self._op.get_output_names()[0]

    def fed(self, operand: str) -> tuple[str, ...]:
        """The feeds that reach an operand in the program, whatever the call was written to mean."""
        return tuple(_fed(self._op.operands_source()[self.operands.index(operand)]))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the operands that are fed and of the results."""
        results = {name: tuple(value.shape) for name, value in self._results.items() if value.initialized()}
        return {**self.specimen.feeds, **results}

    def data(self, seed: int = 0) -> dict[str, Floats]:
        """Data of both signs for every operand that is fed."""
        random = np.random.RandomState(seed)
        drawn = {name: random.randn(*shape).astype("float32") for name, shape in self.specimen.feeds.items()}
        return {name: abs(x) + 1 if name in self.specimen.positive else x for name, x in drawn.items()}

    def run(self, data: Mapping[str, Floats]) -> Floats:
        """The result for that data."""
        with paddle.static.scope_guard(paddle.static.Scope()):
            feed = {**{name: x.copy() for name, x in data.items()}, **self.specimen.labels}
            fetch = [self._results[self._result]]
            return np.asarray(_executor().run(self._program, feed=feed, fetch_list=fetch)[0], "float32")


@cache
def trial(specimen: Specimen) -> Trial:
    """The trial of a specimen, built once."""
    return Trial(specimen)


@cache
def _executor() -> Any:
    return paddle.static.Executor(paddle.CPUPlace())


def _find(program: Any, specimen: Specimen) -> Any:
    floats = {name: paddle.static.data(name, list(shape)) for name, shape in specimen.feeds.items()}
    labels = {
        name: paddle.static.data(name, list(x.shape), str(x.dtype)) for name, x in specimen.labels.items()
    }
    specimen.call(*floats.values(), *labels.values())
    return [op for op in program.global_block().ops if op.name() == specimen.op][-1]


def _fed(value: Any) -> list[str]:
    maker = value.get_defining_op()
    if maker.name() == "builtin.combine":
        return [name for part in maker.operands_source() for name in _fed(part)]
    return [maker.attrs()["name"]] if maker.name() == "pd_op.data" else []


def _batch_norm(is_test: bool, layout: str) -> Callable[..., Any]:
    op: Any = _C_ops.batch_norm_
    return lambda *operands: op(*operands, is_test, 0.9, 1e-5, layout, False, False)


def _dropout(is_test: bool, mode: str) -> Callable[[Any], Any]:
    return lambda x: _C_ops.dropout(x, None, 0.5, is_test, mode, 3, True)


def _norm_feeds(shape: tuple[int, ...], channels: int) -> dict[str, tuple[int, ...]]:
    return {"x": shape, **dict.fromkeys(("mean", "variance", "scale", "bias"), (channels,))}


def _elementwise(op: str, call: Callable[..., Any]) -> Specimen:
    return Specimen(op, call, {"x": IMAGE})


def _pairwise(op: str, call: Callable[..., Any]) -> tuple[Specimen, Specimen]:
    per_channel = {"x": IMAGE, "y": (1, 4, 1, 1)}
    return Specimen(op, call, {"x": IMAGE, "y": IMAGE}), Specimen(op, call, per_channel)


CONV, DEPTHWISE, MATMUL = "pd_op.conv2d", "pd_op.depthwise_conv2d", "pd_op.matmul"
POOL, DROPOUT, NORM = "pd_op.pool2d", "pd_op.dropout", "pd_op.batch_norm_"

MEAN_OF_PICTURE = Specimen("pd_op.mean", lambda x: paddle.mean(x, [2, 3]), {"x": IMAGE})
MAX_OF_PICTURE = Specimen("pd_op.max", lambda x: paddle.max(x, [2, 3]), {"x": IMAGE})
CONCAT_OF_EXAMPLES = Specimen(
    "pd_op.concat", lambda a, b: paddle.concat([a, b], 0), {"x.0": IMAGE, "x.1": IMAGE}
)
MATMUL_TRANSPOSED_X = Specimen(
    MATMUL, lambda x, y: paddle.matmul(x, y, transpose_x=True), {"x": (5, 2), "y": (5, 3)}
)
MATMUL_ATTENTION = Specimen(
    MATMUL,
    lambda x, y: paddle.matmul(x, y, transpose_y=True),
    {"x": (2, 3, 7, 5), "y": (2, 3, 4, 5)},
)

SPECIMENS = (
    Specimen(CONV, F.conv2d, {"input": IMAGE, "filter": (5, 4, 3, 3)}),
    Specimen(CONV, F.conv2d, {"input": IMAGE, "filter": (4, 4, 1, 1)}),
    Specimen(CONV, lambda x, w: F.conv2d(x, w, stride=2, groups=2), {"input": IMAGE, "filter": (6, 2, 3, 3)}),
    Specimen(
        CONV,
        lambda x, w: F.conv2d(x, w, data_format="NHWC"),
        {"input": (2, 6, 6, 4), "filter": (5, 4, 3, 2)},
    ),
    Specimen(DEPTHWISE, lambda x, w: F.conv2d(x, w, groups=4), {"input": IMAGE, "filter": (4, 1, 3, 3)}),
    Specimen(DEPTHWISE, lambda x, w: F.conv2d(x, w, groups=4), {"input": IMAGE, "filter": (8, 1, 3, 3)}),
    Specimen(
        DEPTHWISE,
        lambda x, w: _C_ops.depthwise_conv2d(x, w, [1, 1], [0, 0], "EXPLICIT", 4, [1, 1], "NHWC"),
        {"input": (2, 6, 6, 4), "filter": (4, 1, 3, 3)},
    ),
    Specimen(MATMUL, paddle.matmul, {"x": (2, 5), "y": (5, 3)}),
    Specimen(MATMUL, paddle.matmul, {"x": (2, 7, 4), "y": (4, 4)}),
    Specimen(MATMUL, lambda x, y: paddle.matmul(x, y, transpose_y=True), {"x": (2, 7, 5), "y": (3, 5)}),
    Specimen(MATMUL, lambda x, y: paddle.matmul(x, y, transpose_y=True), {"x": (2, 4), "y": (4, 4)}),
    Specimen(NORM, _batch_norm(True, "NCHW"), _norm_feeds(IMAGE, 4), positive=("variance",)),
    Specimen(NORM, _batch_norm(False, "NCHW"), _norm_feeds(IMAGE, 4), positive=("variance",)),
    Specimen(NORM, _batch_norm(True, "NHWC"), _norm_feeds((2, 6, 6, 4), 4), positive=("variance",)),
    Specimen(NORM, _batch_norm(True, "NCHW"), _norm_feeds((2, 4), 4), positive=("variance",)),
    _elementwise(POOL, lambda x: F.max_pool2d(x, 3, 2, 1)),
    _elementwise(POOL, lambda x: F.avg_pool2d(x, 2)),
    _elementwise(POOL, lambda x: F.adaptive_avg_pool2d(x, 1)),
    Specimen(POOL, lambda x: F.max_pool2d(x, 2, data_format="NHWC"), {"x": (2, 6, 6, 4)}),
    _elementwise("pd_op.relu", F.relu),
    _elementwise("pd_op.relu6", F.relu6),
    _elementwise("pd_op.abs", paddle.abs),
    _elementwise("pd_op.round", paddle.round),
    _elementwise("pd_op.clip", lambda x: paddle.clip(x, -1.0, 1.0)),
    _elementwise("pd_op.scale", lambda x: paddle.scale(x, -2.0, 1.0)),
    _elementwise("pd_op.cast", lambda x: paddle.cast(x, "float64")),
    _elementwise("pd_op.cast", lambda x: paddle.cast(x, "int32")),
    *_pairwise("pd_op.add", paddle.add),
    *_pairwise("pd_op.multiply", paddle.multiply),
    *_pairwise("pd_op.divide", paddle.divide),
    _elementwise("pd_op.softmax", lambda x: F.softmax(x, 1)),
    _elementwise("pd_op.softmax", F.softmax),
    _elementwise(DROPOUT, _dropout(True, "upscale_in_train")),
    _elementwise(DROPOUT, _dropout(True, "downgrade_in_infer")),
    _elementwise(DROPOUT, _dropout(False, "upscale_in_train")),
    _elementwise(DROPOUT, _dropout(False, "downgrade_in_infer")),
    _elementwise("pd_op.reshape", lambda x: paddle.reshape(x, [2, -1])),
    _elementwise("pd_op.flatten", lambda x: paddle.flatten(x, 1)),
    _elementwise("pd_op.transpose", lambda x: paddle.transpose(x, [0, 2, 3, 1])),
    Specimen("pd_op.concat", lambda a, b: paddle.concat([a, b], 1), {"x.0": IMAGE, "x.1": (2, 3, 6, 6)}),
    CONCAT_OF_EXAMPLES,
    Specimen("pd_op.assign_out_", _C_ops.assign_out_, {"x": IMAGE, "output": IMAGE}),
    Specimen("pd_op.full", lambda: paddle.full([2, 3], 0.5)),
    Specimen(
        "pd_op.full_int_array",
        lambda: _C_ops.full_int_array([2, 3], paddle.int64, paddle.CPUPlace()),
    ),
    _elementwise("pd_op.mean", paddle.mean),
    _elementwise("pd_op.mean", lambda x: paddle.mean(x, 1)),
    _elementwise("pd_op.max", paddle.max),
    _elementwise("pd_op.max", lambda x: paddle.max(x, 1, keepdim=True)),
    Specimen(
        "pd_op.cross_entropy_with_softmax",
        F.cross_entropy,
        {"input": (3, 5)},
        labels={"label": np.array([[0], [4], [2]], "int64")},
        result="loss",
    ),
)
