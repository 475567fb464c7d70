"""Calls of Paddle's own functions, each as a tiny program, with the attributes as Paddle sets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 (the name it has everywhere)
from paddle import _C_ops, nn

from spokeshave.program import Model
from spokeshave.seams import static_mode

Shape = tuple[int, ...]
X: Shape = (-1, 4, 9, 7)
OPEN: Shape = (-1, 4, -1, -1)
OPEN_SIZES = {2: 9, 3: 7}


@dataclass(frozen=True)
class Call:
    """A function of inputs `x`, `z`; the operator that it must lead to; what is special about it."""

    op: str
    label: str
    function: Callable[..., Any]
    shape: Shape = X
    other: Shape = ()
    dtype: str = "float32"
    low: float = -6.0  # the least input: both sides of every bend are met
    layer: Callable[[], Any] | None = None  # made while the program is built, and given to the function first
    weights: Shape = ()  # of a parameter, given to the function behind the inputs

    @property
    def title(self) -> str:
        """What a test is called."""
        return f"{self.op}: {self.label}" if self.label else self.op

    def model(self) -> Model:
        """The call as a model with output `y` (and `y1`, …) in a scope of its own."""
        program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        # The same names each time, as in a program of its own process.
        with static_mode(), paddle.utils.unique_name.guard(), paddle.static.scope_guard(scope):
            with paddle.static.program_guard(program, startup):
                made = self.function(*self._arguments())
            paddle.static.Executor(paddle.CPUPlace()).run(startup)
        results = made if isinstance(made, (list, tuple)) else [made]
        names = ["y"] if len(results) == 1 else [f"y{i}" for i in range(len(results))]
        model = Model.of(program, dict(zip(names, results)), scope)
        program.set_is_test_attr()
        return Model(model.program, model.scope, model.fetches)

    def feed(self, batch: int, sizes: Mapping[int, int] = OPEN_SIZES) -> dict[str, Any]:
        """Random inputs of a batch; `sizes` are those of open axes."""
        rng = np.random.default_rng(batch)
        shapes = {"x": self.shape, **({"z": self.other} if self.other else {})}
        return {
            name: rng.uniform(self.low, 6.0, _closed(shape, batch, sizes)).astype(self.dtype)
            for name, shape in shapes.items()
        }

    def _arguments(self) -> list[Any]:
        names = ["x", *(["z"] if self.other else [])]
        shapes = [self.shape, *([self.other] if self.other else [])]
        made = [self.layer()] if self.layer else []
        inputs = [paddle.static.data(n, list(s), self.dtype) for n, s in zip(names, shapes)]
        weights = [paddle.create_parameter(list(self.weights), "float32")] if self.weights else []
        return made + inputs + weights


def _closed(shape: Shape, batch: int, sizes: Mapping[int, int]) -> list[int]:
    return [batch if i == 0 and n < 0 else sizes[i] if n < 0 else n for i, n in enumerate(shape)]


def each(op: str, label: str, function: Callable[..., Any], **more: Any) -> Call:
    """A call whose operator stands in Paddle's dialect."""
    return Call(f"pd_op.{op}", label, function, **more)


def resized(mode: str, label: str, **arguments: Any) -> Call:
    """A picture of open size in another size."""
    shape = arguments.pop("shape", OPEN)
    return each(f"{mode}_interp", label, lambda x: F.interpolate(x, mode=mode, **arguments), shape=shape)


def transposed(label: str, weights: Shape, **arguments: Any) -> Call:
    """A transposed convolution."""
    op = arguments.pop("op", "conv2d_transpose")
    shape = arguments.pop("shape", X)
    function = lambda x, w: F.conv2d_transpose(x, w, **arguments)  # noqa: E731
    return each(op, label, function, weights=weights, shape=shape)


def same_size(x: Any, z: Any) -> Any:
    """One picture brought to the size of another."""
    return F.interpolate(x, size=paddle.shape(z)[2:], mode="bilinear")


def rows_of(x: Any) -> Any:
    """All but the batch in one axis, by a shape that is computed."""
    return paddle.reshape(x, [paddle.shape(x)[0], -1])


def halves(x: Any) -> Any:
    """Sizes with arithmetic in them."""
    size = paddle.shape(x)
    return paddle.reshape(x, [size[0], size[2] * 2, -1])


def shuffled(x: Any) -> Any:
    """Channels of two groups in turns, as ShuffleNet writes it."""
    size = paddle.shape(x)
    parts = paddle.reshape(x, [size[0], 2, 2, size[2], size[3]])
    return paddle.reshape(paddle.transpose(parts, [0, 2, 1, 3, 4]), [size[0], 4, size[2], size[3]])


def aligned(x: Any) -> Any:
    """The nearest pixels between aligned corners, which only models of older versions ask for."""
    nearest: Any = _C_ops.nearest_interp
    return nearest(x, None, None, None, "NCHW", -1, 20, 11, [], "nearest", True, 0)


def option_a(x: Any) -> Any:
    """The shortcut of the ResNets for CIFAR: every other pixel, zero channels on both sides."""
    return F.pad(x[:, :, ::2, ::2], [0, 0, 2, 2, 0, 0, 0, 0], pad_from_left_axis=True)


def slopes(layout: str = "NCHW") -> Any:
    """A PReLU with slopes that differ from channel to channel."""
    return nn.PReLU(4, weight_attr=nn.initializer.Uniform(0.1, 0.9), data_format=layout)


SQUARE = {"stride": 2, "padding": 1}

CALLS = (
    each("hardswish", "", F.hardswish),
    each("hardsigmoid", "", F.hardsigmoid),
    each("hardsigmoid", "slope and offset", lambda x: F.hardsigmoid(x, slope=0.2, offset=0.3)),
    each("sigmoid", "", F.sigmoid),
    each("tanh", "", paddle.tanh),
    each("silu", "", F.silu),
    each("swish", "", F.swish),
    each("leaky_relu", "", F.leaky_relu),
    each("leaky_relu", "a wide slope", lambda x: F.leaky_relu(x, 0.3)),
    each("prelu", "one slope", lambda layer, x: layer(x), layer=lambda: nn.PReLU(init=0.3)),
    each("prelu", "a slope for each channel", lambda layer, x: layer(x), layer=slopes),
    each("prelu", "a slope for each feature", lambda layer, x: layer(x), layer=slopes, shape=(-1, 4)),
    each("prelu", "last", lambda layer, x: layer(x), layer=lambda: slopes("NHWC"), shape=(-1, 3, 3, 4)),
    each("elu", "", F.elu),
    each("elu", "another alpha", lambda x: F.elu(x, 0.7)),
    each("selu", "", F.selu),
    each("selu", "other numbers", lambda x: F.selu(x, 1.2, 0.8)),
    each("celu", "another alpha", lambda x: F.celu(x, 0.7)),
    each("gelu", "", F.gelu),
    each("gelu", "approximate", lambda x: F.gelu(x, approximate=True)),
    each("mish", "", F.mish),
    each("softplus", "", F.softplus),
    each("softplus", "bent, straight from early on", lambda x: F.softplus(x, beta=2, threshold=3)),
    each("softsign", "", F.softsign),
    each("logsigmoid", "", F.log_sigmoid),
    each("hardtanh", "", lambda x: F.hardtanh(x, -2, 3)),
    each("pixel_shuffle", "", lambda x: F.pixel_shuffle(x, 2), shape=(-1, 8, 3, 5)),
    each("pixel_shuffle", "open sizes", lambda x: F.pixel_shuffle(x, 2), shape=OPEN),
    each("channel_shuffle", "", lambda x: F.channel_shuffle(x, 3), shape=(-1, 12, 2, 3)),
    each("channel_shuffle", "open sizes", lambda x: F.channel_shuffle(x, 2), shape=OPEN),
    each("subtract", "", lambda x, z: x - z, other=X),
    each("subtract", "broadcast", lambda x, z: x - z, other=(-1, 4, 1, 1)),
    each("divide", "", lambda x, z: x / z, other=X, low=0.5),
    each("divide", "by a constant that stands first", lambda x, z: z / x, other=(-1, 4, 1, 1), low=0.5),
    each("maximum", "", paddle.maximum, other=X),
    each("minimum", "", paddle.minimum, other=X),
    each("elementwise_pow", "", lambda x, z: x**z, other=X, low=0.5),
    each("elementwise_pow", "by a number", lambda x: x**3),
    each("abs", "", paddle.abs),
    each("round", "halves to even", lambda x: paddle.round(paddle.round(2 * x) / 2)),
    each("clip", "", lambda x: paddle.clip(x, -1.5, 2.5)),
    each("clip", "integers", lambda x: paddle.clip(x, -1, 2), dtype="int32"),
    each(
        "pad", "every axis", lambda x: F.pad(x, [0, 0, 1, 2, 3, 0, 0, 1], value=0.5, pad_from_left_axis=True)
    ),
    each("pad", "channels, as option A does", option_a),
    each("pad3d", "one-sided", lambda x: F.pad(x, [0, 1, 2, 3])),
    each("pad3d", "with a number", lambda x: F.pad(x, [1, 0, 0, 1], value=-2.0)),
    each("pad3d", "reflected", lambda x: F.pad(x, [1, 2, 3, 0], mode="reflect")),
    each("pad3d", "what stands at the edge", lambda x: F.pad(x, [1, 2, 3, 0], mode="replicate")),
    each("pad3d", "channels last", lambda x: F.pad(x, [1, 2, 3, 0], data_format="NHWC")),
    each("pad3d", "an open size", lambda x: F.pad(x, [1, 2, 3, 0]), shape=OPEN),
    each("pad3d", "three dimensions", lambda x: F.pad(x, [1, 0, 2, 1, 0, 3]), shape=(-1, 2, 3, 4, 5)),
    each("slice", "channels", lambda x: x[:, 1:3]),
    each("slice", "from behind, past the end", lambda x: paddle.slice(x, [1, 2], [0, -3], [2, 1000])),
    each("slice", "an axis indexed away", lambda x: x[:, 2]),
    each("slice", "two axes indexed away", lambda x: x[:, -1, :, 0]),
    each("slice", "up to a computed place", lambda x, z: x[:, : paddle.shape(z)[1]], other=(-1, 3)),
    each("strided_slice", "every other pixel", lambda x: x[:, :, ::2, ::2]),
    each("strided_slice", "an open size", lambda x: x[:, :, ::2, 1::3], shape=OPEN),
    each("strided_slice", "backwards", lambda x: x[:, :, ::-1, 5:1:-2]),
    each("split", "", lambda x: paddle.split(x, [1, 3], 1)),
    each("split", "the rest, from behind", lambda x: paddle.split(x, [2, -1, 1], -1)),
    each("split", "one part only", lambda x: paddle.split(x, [1, 3], 1)[1]),
    each("split_with_num", "", lambda x: paddle.split(x, 2, 1)),
    each("split_with_num", "one part only", lambda x: F.relu(paddle.chunk(x, 4, 1)[2])),
    each("squeeze", "", lambda x: paddle.squeeze(x, [2, -1]), shape=(-1, 4, 1, 1)),
    each("squeeze", "an axis that is longer", lambda x: paddle.squeeze(x, [1, 2]), shape=(-1, 4, 1, 1)),
    each("squeeze", "nothing", lambda x: paddle.squeeze(x, [1])),
    each("unsqueeze", "", lambda x: paddle.unsqueeze(x, [2, 3]), shape=(-1, 4)),
    each("unsqueeze", "one moves the other", lambda x: paddle.unsqueeze(x, [2, 0]), shape=(-1, 4)),
    each("unsqueeze", "from behind", lambda x: paddle.unsqueeze(x, [-2, 1]), shape=(-1, 4)),
    each("stack", "", lambda x, z: paddle.stack([x, z], 1), other=X),
    each("stack", "behind", lambda x, z: paddle.stack([x, z, x], -1), other=X),
    transposed("", (4, 3, 3, 3)),
    transposed("twice the size", (4, 3, 2, 2), stride=2),
    transposed("padding behind", (4, 3, 3, 3), output_padding=1, **SQUARE),
    transposed("padding behind one side only", (4, 3, 3, 3), output_padding=[1, 0], **SQUARE),
    transposed("the size of the result", (4, 3, 3, 3), output_size=[18, 13], **SQUARE),
    transposed("groups", (4, 3, 3, 2), groups=2, stride=[2, 1], dilation=[1, 2]),
    transposed("padding differs on each side", (4, 3, 3, 3), padding=[0, 1, 2, 0], stride=2),
    transposed("same", (4, 3, 3, 3), padding="SAME", stride=2),
    transposed("valid", (4, 3, 3, 3), padding="VALID", stride=2),
    transposed("open sizes", (4, 3, 3, 3), shape=OPEN, output_padding=1, **SQUARE),
    transposed("each channel alone", (4, 1, 3, 3), groups=4, op="depthwise_conv2d_transpose", **SQUARE),
    each(
        "conv2d_transpose",
        "with its bias",
        lambda layer, x: layer(x),
        layer=lambda: nn.Conv2DTranspose(4, 6, 3, stride=2, bias_attr=nn.initializer.Uniform(-1, 1)),
    ),
    resized("nearest", "twice", scale_factor=2),
    resized("nearest", "no whole factor", scale_factor=[1.5, 2.7]),
    resized("nearest", "smaller", size=[4, 3]),
    resized("nearest", "larger", size=[20, 11], shape=X),
    each("nearest_interp", "aligned corners", aligned, shape=OPEN),
    resized("bilinear", "twice", scale_factor=2),
    resized("bilinear", "no whole factor", scale_factor=[1.5, 2.7]),
    resized("bilinear", "smaller", size=[4, 3]),
    resized("bilinear", "to one pixel", size=[1, 1]),
    resized("bilinear", "from the corner on", scale_factor=[2, 3], align_mode=1),
    resized("bilinear", "aligned corners", size=[20, 11], align_corners=True),
    resized("bilinear", "aligned corners, to one row", size=[1, 11], align_corners=True),
    each("bilinear_interp", "the size of another picture", same_size, shape=OPEN, other=OPEN),
    each("pool2d", "even parts", lambda x: F.adaptive_avg_pool2d(x, [3, 7])),
    each("pool2d", "parts of other lengths", lambda x: F.adaptive_avg_pool2d(x, [4, 5])),
    each("pool2d", "more parts than pixels", lambda x: F.adaptive_avg_pool2d(x, [12, 3])),
    each("max_pool2d_with_index", "the whole picture", lambda x: F.adaptive_max_pool2d(x, 1), shape=OPEN),
    each("max_pool2d_with_index", "parts of other lengths", lambda x: F.adaptive_max_pool2d(x, [4, 3])),
    each("max_pool2d_with_index", "more parts than pixels", lambda x: F.adaptive_max_pool2d(x, [4, 9])),
    each("max_pool2d_with_index", "windows", lambda x: F.max_pool2d(x, 3, 2, 1, return_mask=True)[0]),
    each("mean", "", lambda x: x.mean([2, 3])),
    each("mean", "all", lambda x: x.mean(), shape=(2, 4)),
    each("max", "", lambda x: x.max([2, 3], keepdim=True)),
    each("min", "", lambda x: x.min(-1)),
    each("sum", "", lambda x: x.sum(1, keepdim=True)),
    each("sum", "all", lambda x: x.sum(), shape=(2, 4)),
    each("sum", "of integers", lambda x: x.sum([1, 2]), dtype="int32"),
    each("cast", "to integers", lambda x: paddle.cast(x, "int32")),
    each("cast", "there and back", lambda x: paddle.cast(paddle.cast(x, "int64"), "float32")),
    each("assign", "", lambda x: F.relu(paddle.assign(x))),
    each("shape64", "", paddle.shape, shape=OPEN),
    each("shape", "in 32 bits", _C_ops.shape, shape=OPEN),
    each("reshape", "by a computed batch", rows_of),
    each("reshape", "by arithmetic on sizes", halves, shape=OPEN),
    each("reshape", "channels in turns", shuffled, shape=OPEN),
)
