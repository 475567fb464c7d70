"""Small programs of Paddle's for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as fn
import pytest
from paddle import nn

from spokeshave.program import Model
from spokeshave.quant import QuantPlan, observe, plan
from spokeshave.seams import write_tensor
from spokeshave.targets import TARGETS

SHAPE = (1, 8, 8)
CLASSES = 4


@pytest.fixture
def static() -> Iterator[None]:
    """Static mode, and the mode of before afterwards."""
    was_dynamic = paddle.in_dynamic_mode()
    paddle.enable_static()
    yield
    if was_dynamic:
        paddle.disable_static()


@dataclass
class Trial:
    """A program in a scope of its own: its model, its optimizer's loss, and an Executor to run it with."""

    program: Any
    scope: Any
    outputs: dict[str, Any]
    executor: Any

    @property
    def model(self) -> Model:
        """The program as a model that borrows the scope."""
        return Model.of(self.program, self.outputs, self.scope)

    def run(self, program: Any, feed: dict[str, Any], *values: Any) -> list[Any]:
        """Runs a program in the scope; gives arrays."""
        with paddle.static.scope_guard(self.scope):
            return [np.asarray(r) for r in self.executor.run(program, feed=feed, fetch_list=list(values))]

    def weights(self) -> dict[str, Any]:
        """Copies of all parameters of the program."""
        return self.model.weights()


def convs(image: Any) -> Any:
    """conv with bias, relu, max pool, depthwise conv without bias, relu6, linear; gives scores."""
    x = fn.max_pool2d(fn.relu(nn.Conv2D(1, 4, 3, padding=1)(image)), 2, 2)
    x = fn.relu6(nn.Conv2D(4, 4, 3, padding=1, groups=4, bias_attr=False)(x))
    return nn.Linear(64, CLASSES)(paddle.flatten(x, 1))


def transposed(image: Any) -> Any:
    """Two products on weights that lie transposed, both ways of writing it."""
    x = paddle.flatten(image, 1)
    first = paddle.create_parameter([16, 64], "float32", name="first")
    second = paddle.create_parameter([CLASSES, 16], "float32", name="second")
    hidden = fn.relu(paddle.matmul(x, first, transpose_y=True))
    return paddle.matmul(hidden, second, transpose_y=True)


def several_readers(image: Any) -> Any:
    """A residual add, a concat, one weight in two places, and values that several ops read."""
    x = fn.relu(nn.Conv2D(1, 4, 3, padding=1)(image))
    twice = nn.Conv2D(4, 4, 1, bias_attr=False)
    y = fn.relu(x + twice(fn.relu(twice(x))))
    return nn.Linear(8 * 64, 4)(paddle.flatten(paddle.concat([x, y], axis=1), 1))


def trial(net: Callable[[Any], Any] = convs, *, optimizer: Any = None, seed: int = 0) -> Trial:
    """A fresh net with its loss, and with its backward where there is an optimizer."""
    program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
        image = paddle.static.data("image", [None, *SHAPE], "float32")
        label = paddle.static.data("label", [None, 1], "int64")
        scores = net(image)
        loss = paddle.mean(fn.cross_entropy(scores, label))
        if optimizer is not None:
            optimizer.minimize(loss)
    made = Trial(program, scope, {"scores": scores, "loss": loss}, paddle.static.Executor(paddle.CPUPlace()))
    paddle.seed(seed)
    made.run(startup, {})
    _give_biases(made.model)
    return made


def forward(net: Callable[[Any], Any] = convs, seed: int = 0) -> Model:
    """A model of its own that takes an image and gives scores."""
    program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
        scores = net(paddle.static.data("image", [None, *SHAPE], "float32"))
    paddle.seed(seed)
    with paddle.static.scope_guard(scope):
        paddle.static.Executor(paddle.CPUPlace()).run(startup)
    model = Model.of(program, {"scores": scores}, scope).owned()
    _give_biases(model)
    return model


def _give_biases(model: Model) -> None:
    """Fresh biases are zero, which any rounding leaves alone."""
    for name, (shape, _) in model.parameters.items():
        if name.endswith("b_0"):
            array = np.random.RandomState(len(name)).standard_normal(shape) / 4
            write_tensor(model.scope, name, array.astype(np.float32))


def images(count: int = 8, seed: int = 0) -> Any:
    """Pictures with both signs."""
    return np.random.RandomState(seed).standard_normal((count, *SHAPE)).astype(np.float32)


def batch(count: int = 8, seed: int = 0) -> dict[str, Any]:
    """Pictures and labels."""
    labels = np.random.RandomState(seed + 1).randint(0, CLASSES, (count, 1)).astype(np.int64)
    return {"image": images(count, seed), "label": labels}


def settled(model: Model, target: str = "onnxruntime") -> QuantPlan:
    """The plan of a model for a target, with scales from one batch."""
    drawn = plan(model.view, TARGETS[target])
    return drawn.settled(observe(model, drawn, [{"image": images()}]))
