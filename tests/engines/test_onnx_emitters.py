"""Each emitter against the operator that it writes, run by Paddle on the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnxruntime
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle_calls import CALLS

from spokeshave.engines import OnnxRunner, to_onnx
from spokeshave.engines.onnx import EMITTERS
from spokeshave.errors.engines import (
    DimensionsUnknown,
    DtypeNotExportable,
    LayoutNotExportable,
    OperandMissing,
    OperandNotConstant,
    TrainingNotExportable,
    WindowNotExportable,
)
from spokeshave.graph import GraphView, ViewBuilder

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Attrs = Mapping[str, Any]
Reference = Callable[..., Any]

BATCHES = (1, 3)
BATCH_OF_SHAPES = 2


@dataclass(frozen=True)
class Case:
    """One node: its attributes, its operands (an input, a weight, or a constant), and the same in Paddle."""

    op: str
    label: str
    reference: Reference
    attrs: Attrs
    operands: Mapping[str, Any] = field(default_factory=lambda: {"x": "x"})
    shape: Shape = (-1, 4, 9, 7)
    weights: Mapping[str, Shape] = field(default_factory=dict)
    other: Shape = ()  # the shape of a second input

    def arrays(self) -> dict[str, Array]:
        """The weights: above zero, so that they can be variances."""
        rng = np.random.default_rng(1)
        return {n: rng.uniform(0.2, 1.5, s).astype(np.float32) for n, s in self.weights.items()}

    def feed(self, batch: int) -> dict[str, Array]:
        """Random inputs of a batch."""
        rng = np.random.default_rng(batch)
        shapes = {"x": self.shape, "z": self.other} if self.other else {"x": self.shape}
        return {
            name: (4 * rng.standard_normal([batch if n < 0 else n for n in shape])).astype(np.float32)
            for name, shape in shapes.items()
        }

    def expected(self, batch: int) -> Array:
        """What Paddle makes of them."""
        tensors = {n: paddle.to_tensor(a) for n, a in {**self.feed(batch), **self.arrays()}.items()}
        return np.asarray(self.reference(**tensors).numpy())

    def view(self) -> GraphView:
        """The node as a view."""
        build = ViewBuilder()
        build.input("x", self.shape)
        if self.other:
            build.input("z", self.other)
        for name, shape in self.weights.items():
            build.parameter(name, shape)
        operands = {name: _operand(build, source) for name, source in self.operands.items()}
        made = self.expected(BATCH_OF_SHAPES).shape
        shape = (-1, *made[1:]) if made[:1] == (BATCH_OF_SHAPES,) else made
        return build.view({"y": build.node(self.op, operands, {"out": shape}, self.attrs)})


def _operand(build: ViewBuilder, source: Any) -> str:
    if isinstance(source, tuple):
        shape = (len(source),)
        return build.node("pd_op.full_int_array", {}, {"out": shape}, {"value": source}, dtype="int64")
    if isinstance(source, (int, float)):
        dtype = "int32" if isinstance(source, int) else "float32"
        return build.node("pd_op.full", {}, {"out": (1,)}, {"shape": (1,), "value": source}, dtype=dtype)
    return str(source)


def conv(label: str, reference: Reference, filters: Shape, **attrs: Any) -> Case:
    """A convolution with the attributes that differ from the plain one."""
    plain = {
        "strides": (1, 1),
        "paddings": (0, 0),
        "dilations": (1, 1),
        "groups": 1,
        "padding_algorithm": "EXPLICIT",
        "data_format": "NCHW",
    }
    op, size = attrs.pop("op", "pd_op.conv2d"), attrs.pop("shape", (-1, 4, 9, 7))
    operands = {"input": "x", "filter": "w"}
    return Case(op, label, reference, {**plain, **attrs}, operands, size, {"w": filters})


def pool(label: str, reference: Reference, window: Shape, **attrs: Any) -> Case:
    """A pooling with the attributes that differ from the plain one."""
    plain = {
        "strides": (2, 2),
        "paddings": (0, 0),
        "ceil_mode": False,
        "exclusive": True,
        "pooling_type": "max",
        "global_pooling": False,
        "adaptive": False,
        "padding_algorithm": "EXPLICIT",
        "data_format": "NCHW",
    }
    size = attrs.pop("shape", (-1, 4, 9, 7))
    return Case("pd_op.pool2d", label, reference, {**plain, **attrs}, {"x": "x", "kernel_size": window}, size)


def mean(label: str, axes: Shape, *, keepdim: bool) -> Case:
    """A mean over some axes."""
    reference: Reference = lambda x: x.mean(list(axes), keepdim=keepdim)  # noqa: E731
    return Case("pd_op.mean", label, reference, {"keepdim": keepdim}, {"x": "x", "axis": axes})


def matmul(label: str, x: Shape, y: Shape, *, swap_x: bool = False, swap_y: bool = False) -> Case:
    """A product with a stored matrix."""
    return Case(
        "pd_op.matmul",
        label,
        lambda x, w: paddle.matmul(x, w, transpose_x=swap_x, transpose_y=swap_y),
        {"transpose_x": swap_x, "transpose_y": swap_y},
        {"x": "x", "y": "w"},
        x,
        {"w": y},
    )


def product(label: str, x: Shape, z: Shape, *, swap_x: bool = False, swap_y: bool = False) -> Case:
    """A product of two inputs, as in attention."""
    return Case(
        "pd_op.matmul",
        label,
        lambda x, z: paddle.matmul(x, z, transpose_x=swap_x, transpose_y=swap_y),
        {"transpose_x": swap_x, "transpose_y": swap_y},
        {"x": "x", "y": "z"},
        x,
        other=z,
    )


def scaled(label: str, factor: float, bias: float, *, after: bool) -> Case:
    """A scale."""
    return Case(
        "pd_op.scale",
        label,
        lambda x: paddle.scale(x, factor, bias, after),
        {"bias": bias, "bias_after_scale": after},
        {"x": "x", "scale": factor},
    )


def dropped(label: str, mode: str, python_mode: str, **more: Any) -> Case:
    """A dropout in test mode."""
    operands = {"x": "x", **({} if "p" in more else {"p": 0.3})}
    return Case(
        "pd_op.dropout",
        label,
        lambda x: F.dropout(x, 0.3, training=False, mode=python_mode),
        {"is_test": True, "mode": mode, **more},
        operands,
    )


BATCH_NORM = Case(
    "pd_op.batch_norm_",
    "a wide epsilon",
    lambda x, mean, variance, scale, bias: F.batch_norm(x, mean, variance, scale, bias, epsilon=0.1),
    {"epsilon": 0.1, "is_test": True, "data_format": "NCHW"},
    {"x": "x", "mean": "mean", "variance": "variance", "scale": "scale", "bias": "bias"},
    weights={"mean": (4,), "variance": (4,), "scale": (4,), "bias": (4,)},
)

DEPTHWISE = "pd_op.depthwise_conv2d"

CASES = [
    conv("plain", lambda x, w: F.conv2d(x, w), (6, 4, 3, 3)),
    conv(
        "strides differ",
        lambda x, w: F.conv2d(x, w, stride=[2, 1], padding=[1, 2]),
        (6, 4, 3, 2),
        strides=(2, 1),
        paddings=(1, 2),
    ),
    conv(
        "padding differs on each side",
        lambda x, w: F.conv2d(x, w, padding=[1, 2, 3, 0]),
        (6, 4, 3, 3),
        paddings=(1, 2, 3, 0),
    ),
    conv("groups", lambda x, w: F.conv2d(x, w, groups=2), (6, 2, 3, 3), groups=2),
    conv("dilations", lambda x, w: F.conv2d(x, w, dilation=[1, 2]), (6, 4, 3, 3), dilations=(1, 2)),
    conv(
        "same",
        lambda x, w: F.conv2d(x, w, stride=2, padding="SAME"),
        (6, 4, 3, 3),
        strides=(2, 2),
        padding_algorithm="SAME",
        shape=(-1, 4, 10, 7),
    ),
    conv(
        "same with a window of one",
        lambda x, w: F.conv2d(x, w, stride=2, padding="SAME"),
        (6, 4, 1, 1),
        strides=(2, 2),
        padding_algorithm="SAME",
    ),
    conv(
        "same undoes dilations",
        lambda x, w: F.conv2d(x, w, dilation=2, padding="SAME"),
        (6, 4, 3, 3),
        dilations=(2, 2),
        padding_algorithm="SAME",
    ),
    conv(
        "valid ignores paddings",
        lambda x, w: F.conv2d(x, w, padding="VALID"),
        (6, 4, 3, 3),
        paddings=(1, 1),
        padding_algorithm="VALID",
    ),
    conv(
        "depthwise",
        lambda x, w: F.conv2d(x, w, stride=[1, 2], padding=[1, 0], groups=4),
        (4, 1, 3, 3),
        op=DEPTHWISE,
        strides=(1, 2),
        paddings=(1, 0),
        groups=4,
    ),
    conv(
        "depthwise with a multiplier",
        lambda x, w: F.conv2d(x, w, padding=[2, 0, 1, 1], groups=4),
        (8, 1, 3, 3),
        op=DEPTHWISE,
        paddings=(2, 0, 1, 1),
        groups=4,
    ),
    pool("max", lambda x: F.max_pool2d(x, [2, 3], [2, 1]), (2, 3), strides=(2, 1)),
    pool(
        "max, padding differs on each side",
        lambda x: F.max_pool2d(x, 3, 2, padding=[1, 0, 0, 1]),
        (3, 3),
        paddings=(1, 0, 0, 1),
    ),
    pool("max, ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), (2, 2), ceil_mode=True),
    pool("max, same", lambda x: F.max_pool2d(x, 3, 2, "SAME"), (3, 3), padding_algorithm="SAME"),
    pool(
        "max, same, a stride above the window",
        lambda x: F.max_pool2d(x, 2, 3, "SAME"),
        (2, 2),
        strides=(3, 3),
        padding_algorithm="SAME",
    ),
    pool("max, global", lambda x: F.adaptive_max_pool2d(x, 1), (2, 2), global_pooling=True),
    pool("max, adaptive", lambda x: F.adaptive_max_pool2d(x, 1), (1, 1), adaptive=True),
    pool(
        "average leaves padding out",
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        (3, 3),
        pooling_type="avg",
        paddings=(1, 1),
    ),
    pool(
        "average counts padding",
        lambda x: F.avg_pool2d(x, 3, 2, 1, exclusive=False),
        (3, 3),
        pooling_type="avg",
        paddings=(1, 1),
        exclusive=False,
    ),
    pool(
        "average, ceil",
        lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True),
        (2, 2),
        pooling_type="avg",
        ceil_mode=True,
    ),
    pool(
        "average, ceil, counts padding",
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, exclusive=False),
        (3, 3),
        pooling_type="avg",
        paddings=(1, 1),
        ceil_mode=True,
        exclusive=False,
        shape=(-1, 4, 8, 6),
    ),
    pool(
        "average, one-sided padding left out",
        lambda x: F.avg_pool2d(x, 3, 2, padding=[0, 1, 1, 0]),
        (3, 3),
        pooling_type="avg",
        paddings=(0, 1, 1, 0),
    ),
    pool(
        "average, adaptive", lambda x: F.adaptive_avg_pool2d(x, 1), (1, 1), pooling_type="avg", adaptive=True
    ),
    matmul("plain", (-1, 5), (5, 3)),
    matmul("stored the other way", (-1, 5), (3, 5), swap_y=True),
    matmul("stored the other way, behind a sequence", (-1, 6, 5), (3, 5), swap_y=True),
    matmul("a batch of matrices", (-1, 6, 5), (5, 3)),
    matmul("left side swapped", (-1, 5, 6), (5, 3), swap_x=True),
    matmul("flat, left side swapped", (5, 6), (5, 3), swap_x=True),
    matmul("both swapped", (5, 6), (3, 5), swap_x=True, swap_y=True),
    matmul("with a vector, which nothing swaps", (-1, 5), (5,), swap_y=True),
    product("attention", (-1, 2, 6, 5), (-1, 2, 7, 5), swap_y=True),
    product("both inputs swapped", (-1, 5, 6), (-1, 7, 5), swap_x=True, swap_y=True),
    Case(
        "pd_op.add",
        "broadcast",
        lambda x, w: x + w,
        {},
        {"x": "x", "y": "w"},
        weights={"w": (9, 7)},
    ),
    Case("pd_op.add", "weight first", lambda x, w: w + x, {}, {"x": "w", "y": "x"}, weights={"w": (7,)}),
    Case("pd_op.add", "with itself", lambda x: x + x, {}, {"x": "x", "y": "x"}),
    Case(
        "pd_op.multiply", "by a weight", lambda x, w: x * w, {}, {"x": "x", "y": "w"}, weights={"w": (9, 1)}
    ),
    Case(
        "pd_op.multiply", "of two inputs", lambda x, z: x * z, {}, {"x": "x", "y": "z"}, other=(-1, 4, 9, 7)
    ),
    mean("picture", (2, 3), keepdim=False),
    mean("last, kept", (-1,), keepdim=True),
    Case("pd_op.relu", "", F.relu, {}),
    Case("pd_op.relu6", "", F.relu6, {}),
    Case("pd_op.softmax", "last axis", lambda x: F.softmax(x, axis=-1), {"axis": -1}),
    Case("pd_op.softmax", "channels", lambda x: F.softmax(x, axis=1), {"axis": 1}),
    BATCH_NORM,
    replace(BATCH_NORM, op="pd_op.sync_batch_norm_", label="of several cards"),
    scaled("bias after", 2.5, 0.75, after=True),
    scaled("bias first", 2.5, 0.75, after=False),
    scaled("no bias", 2.5, 0.0, after=False),
    scaled("bias alone", 1.0, 0.75, after=False),
    scaled("nothing", 1.0, 0.0, after=True),
    dropped("scaled up in training", "upscale_in_train", "upscale_in_train"),
    dropped("scaled down here", "downgrade_in_infer", "downscale_in_infer"),
    dropped("scaled down here, an attribute", "downgrade_in_infer", "downscale_in_infer", p=0.3),
    Case(
        "pd_op.flatten",
        "all but the first",
        lambda x: paddle.flatten(x, 1, -1),
        {"start_axis": 1, "stop_axis": -1},
    ),
    Case("pd_op.flatten", "inside", lambda x: paddle.flatten(x, 1, 2), {"start_axis": 1, "stop_axis": 2}),
    Case(
        "pd_op.flatten",
        "the last two",
        lambda x: paddle.flatten(x, -2, -1),
        {"start_axis": -2, "stop_axis": -1},
    ),
    Case(
        "pd_op.flatten",
        "with the batch",
        lambda x: paddle.flatten(x, 0, 1),
        {"start_axis": 0, "stop_axis": 1},
    ),
    Case("pd_op.flatten", "all", lambda x: paddle.flatten(x), {"start_axis": 0, "stop_axis": 3}),
    Case("pd_op.flatten", "one axis", lambda x: x, {"start_axis": 2, "stop_axis": 2}),
    Case(
        "pd_op.reshape",
        "keeps and infers",
        lambda x: paddle.reshape(x, [0, 2, -1]),
        {},
        {"x": "x", "shape": (0, 2, -1)},
    ),
    Case(
        "pd_op.reshape",
        "infers the batch",
        lambda x: paddle.reshape(x, [-1, 4, 63]),
        {},
        {"x": "x", "shape": (-1, 4, 63)},
    ),
    Case(
        "pd_op.transpose",
        "no swap of two",
        lambda x: paddle.transpose(x, [0, 2, 3, 1]),
        {"perm": (0, 2, 3, 1)},
    ),
    Case(
        "pd_op.concat",
        "channels, in order",
        lambda x, z: paddle.concat([x, z, x], 1),
        {},
        {"x.0": "x", "x.1": "z", "x.2": "x", "axis": 1},
        other=(-1, 3, 9, 7),
    ),
    Case(
        "pd_op.concat",
        "from behind",
        lambda x, z: paddle.concat([z, x], -1),
        {},
        {"x.0": "z", "x.1": "x", "axis": -1},
        other=(-1, 4, 9, 2),
    ),
]


def _id(case: Case) -> str:
    return f"{case.op.split('.')[1]}: {case.label}"


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("case", CASES, ids=_id)
def test_onnx_gives_what_paddle_gives(case: Case, batch: int) -> None:
    if case.label == "average, ceil, counts padding" and onnxruntime.__version__.startswith("1.19."):
        pytest.skip("ONNX Runtime 1.19 counts the padding of a window that reaches past the end wrongly")
    runner = OnnxRunner(to_onnx(case.view(), case.arrays()).to_bytes())
    found = runner.run(case.feed(batch))["y"]
    expected = case.expected(batch)
    assert found.shape == expected.shape
    # Sums of at most a few hundred products, in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_every_emitter_has_a_case() -> None:
    assert {case.op for case in CASES} | {call.op for call in CALLS} == set(EMITTERS.names())


def test_every_emitter_says_what_it_becomes() -> None:
    assert all(emitter.doc.endswith(".") for emitter in EMITTERS)


def _write(case: Case) -> None:
    """Writes a case that is to be refused; Paddle is not asked."""
    build = ViewBuilder()
    build.input("x", case.shape)
    for name, shape in case.weights.items():
        build.parameter(name, shape)
    operands = {name: _operand(build, source) for name, source in case.operands.items()}
    y = build.node(case.op, operands, {"out": (-1, 4, 2, 2)}, case.attrs)
    to_onnx(build.view({"y": y}), case.arrays())


def _nothing(**tensors: Any) -> None:
    """The reference of a case that is refused before it runs."""


@pytest.mark.parametrize(
    "case",
    [
        conv("", _nothing, (6, 7, 3, 3), data_format="NHWC"),
        pool("", _nothing, (2, 2), data_format="NHWC"),
        replace(BATCH_NORM, attrs={**BATCH_NORM.attrs, "data_format": "NHWC"}),
    ],
    ids=_id,
)
def test_channels_last_are_refused(case: Case) -> None:
    with pytest.raises(LayoutNotExportable, match="NHWC"):
        _write(case)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (pool("", _nothing, (3, 3), adaptive=True, shape=(-1, 4, -1, -1)), "open sizes to"),
        (
            pool("", _nothing, (3, 3), pooling_type="avg", exclusive=False, paddings=(0, 1, 0, 1)),
            "counts padding",
        ),
        (
            pool("", _nothing, (2, 2), strides=(3, 3), ceil_mode=True, shape=(-1, 4, 6, 6)),
            "behind the input",
        ),
        (
            pool("", _nothing, (2, 2), strides=(3, 3), ceil_mode=True, shape=(-1, 4, -1, -1)),
            "behind the input",
        ),
        (
            pool("", _nothing, (2, 2), strides=(3, 3), padding_algorithm="SAME", shape=(-1, 4, -1, -1)),
            "open sizes",
        ),
    ],
)
def test_windows_that_onnx_counts_otherwise_are_refused(case: Case, why: str) -> None:
    with pytest.raises(WindowNotExportable, match=why):
        _write(case)


@pytest.mark.parametrize(
    "case",
    [
        Case(
            "pd_op.dropout",
            "",
            _nothing,
            {"is_test": False, "mode": "upscale_in_train"},
            {"x": "x", "p": 0.3},
        ),
        replace(BATCH_NORM, attrs={**BATCH_NORM.attrs, "is_test": False}),
        replace(BATCH_NORM, attrs={**BATCH_NORM.attrs, "trainable_statistics": True}),
    ],
    ids=_id,
)
def test_training_mode_is_refused(case: Case) -> None:
    with pytest.raises(TrainingNotExportable, match="training mode"):
        _write(case)


def test_two_open_dimensions_that_move_are_refused() -> None:
    attrs = {"start_axis": 0, "stop_axis": 1}
    with pytest.raises(DimensionsUnknown, match="open dimension"):
        _write(Case("pd_op.flatten", "", _nothing, attrs, shape=(-1, 4, -1, -1)))


def test_a_window_that_is_computed_is_refused() -> None:
    with pytest.raises(OperandNotConstant, match="'kernel_size'"):
        _write(replace(pool("", _nothing, (2, 2)), operands={"x": "x", "kernel_size": "x"}))


def test_a_division_of_integers_is_refused() -> None:
    build = ViewBuilder()
    operands = {name: build.input(f"in_{name}", (-1, 4), "int32") for name in ("x", "y")}
    made = build.node("pd_op.divide", operands, {"out": (-1, 4)}, dtype="int32")
    with pytest.raises(DtypeNotExportable, match="int32 in a division"):
        to_onnx(build.view({"y": made}), {})


def test_an_operand_that_is_not_there_is_our_fault() -> None:
    with pytest.raises(OperandMissing, match="'x'"):
        _write(Case("pd_op.relu", "", _nothing, {}, {"input": "x"}))


def test_same_padding_fits_any_size() -> None:
    """The size of pictures may stay open: the engine pads each as Paddle would."""
    weights = {"w": np.random.default_rng(0).standard_normal((6, 4, 3, 3)).astype(np.float32)}
    attrs = conv("", _nothing, (6, 4, 3, 3), strides=(2, 2), padding_algorithm="SAME").attrs
    build = ViewBuilder()
    operands = {"input": build.input("x", (-1, 4, -1, -1)), "filter": build.parameter("w", (6, 4, 3, 3))}
    y = build.node("pd_op.conv2d", operands, {"out": (-1, 6, -1, -1)}, attrs)
    runner = OnnxRunner(to_onnx(build.view({"y": y}), weights).to_bytes())
    for size in (8, 9):
        x = np.random.default_rng(size).standard_normal((1, 4, size, size + 3)).astype(np.float32)
        expected = F.conv2d(paddle.to_tensor(x), paddle.to_tensor(weights["w"]), stride=2, padding="SAME")
        np.testing.assert_allclose(runner.run({"x": x})["y"], expected.numpy(), rtol=1e-4, atol=1e-4)
