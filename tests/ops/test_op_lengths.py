"""Ops that are said to keep a length keep it in Paddle, and no window is said to keep a picture's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn

from spokeshave.ops import lengths
from spokeshave.ops.effects import BATCH_NORMS
from spokeshave.ops.lengths import keeps_length
from spokeshave.program import Model, shaped

SHAPE = (3, 4, 6, 5)

TRIALS: dict[str, Callable[[Any], Any]] = {
    "abs": paddle.abs,
    "assign": paddle.assign,
    "batch_norm_": lambda x: nn.BatchNorm2D(4)(x),
    "bilinear_interp": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "cast": lambda x: paddle.cast(x, "float64"),
    "clip": lambda x: paddle.clip(x, -1, 1),
    "conv2d": lambda x: nn.Conv2D(4, 6, 3)(x),
    "conv2d_transpose": lambda x: nn.Conv2DTranspose(4, 6, 3)(x),
    "depthwise_conv2d": lambda x: nn.Conv2D(4, 4, 3, groups=4)(x),
    "depthwise_conv2d_transpose": lambda x: nn.Conv2DTranspose(4, 4, 3, groups=4)(x),
    "dropout": lambda x: F.dropout(x, 0.5),
    "elu": F.elu,
    "exp": paddle.exp,
    "gelu": F.gelu,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "layer_norm": lambda x: nn.LayerNorm(5)(x),
    "leaky_relu": F.leaky_relu,
    "log": paddle.log,
    "mish": F.mish,
    "nearest_interp": lambda x: F.interpolate(x, scale_factor=2),
    "pool2d": lambda x: F.max_pool2d(x, 2),
    "relu": F.relu,
    "relu6": F.relu6,
    "round": paddle.round,
    "scale": lambda x: x * 2,
    "sigmoid": F.sigmoid,
    "silu": F.silu,
    "softmax": F.softmax,
    "sqrt": paddle.sqrt,
    "swish": F.swish,
    "tanh": paddle.tanh,
}

# No kernel of this machine runs these; in test mode they are the batch norm that is tried.
UNTRIED = {name for name in BATCH_NORMS if name != "pd_op.batch_norm_"}


@pytest.fixture(autouse=True)
def _in_dynamic_mode() -> Iterator[None]:
    paddle.disable_static()
    yield
    paddle.disable_static()


def test_every_op_that_is_said_to_keep_a_length_is_tried() -> None:
    said = lengths._ALL | lengths._FIRST
    assert {f"pd_op.{name}" for name in TRIALS} == said - UNTRIED


@pytest.mark.parametrize("name", TRIALS)
def test_the_lengths_that_an_op_is_said_to_keep_are_those_of_its_first_operand(name: str) -> None:
    program, op = paddle.static.Program(), f"pd_op.{name}"
    paddle.enable_static()
    with paddle.static.program_guard(program, paddle.static.Program()):
        out = TRIALS[name](
            paddle.static.data("x", [None] * 4 if "conv" not in name else [None, 4, None, None])
        )
    model = Model.of(program, {"out": out}, paddle.static.Scope())
    view = shaped(model, {"x": SHAPE})
    [node] = [n for n in view.nodes if n.op == op]
    assert node.inputs[0][1] == "x"
    found = view.value(node.out).shape
    kept = [axis for axis in range(4) if keeps_length(op, axis)]
    assert 0 in kept
    assert [found[axis] for axis in kept] == [SHAPE[axis] for axis in kept]
    if len(kept) < 4:
        assert found[2:] != SHAPE[2:]  # windows and sizes change what is not said to be kept
