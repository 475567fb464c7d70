"""The convolutional nets of the shelf, small and shortly trained, each taken through both paths once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as fn
from paddle import nn

import spokeshave
from spokeshave import compat, compress, slim
from spokeshave.compress import Quantized
from spokeshave.data import digits
from spokeshave.models import NETS, create
from spokeshave.program import Model, load
from spokeshave.seams import descended, write_tensor

SIDE = 28
NARROWEST = 0.25
SAMPLES = 32


@dataclass(frozen=True)
class Pace:
    """How many steps a net is trained before and with quantizers, on how many pictures each."""

    before: int = 12
    aware: int = 3
    batch: int = 16


# Nets without a `scale` whose steps take seconds: what is shown here does not hang on how well they learn.
HEAVY = {"resnet34": Pace(2, 1, 8), "resnet50": Pace(1, 1, 4)}
# Paddle prepares a training program for its first run for longer than it then trains: thousands of operators.
SLOW_TO_TRAIN = ("cifar_resnet56", "mobilenet_v3_large", "resnet34", "resnet50")
# Both orders are in use: backward and optimizer before the quantizers, or, here, after them.
QUANTIZED_FIRST = ("cifar_resnet20", "lenet", "mobilenet_v1_keras")
CONVOLUTIONAL = NETS.names()


def build(name: str) -> Any:
    """A net for ten digits, as narrow as it can be, with the same names of parameters each time."""
    takes = inspect.signature(NETS[name].build).parameters
    narrow = {"scale": NARROWEST} if "scale" in takes else {}
    with paddle.utils.unique_name.guard():
        paddle.seed(1)
        return create(name, num_classes=10, in_channels=1, **narrow)


def proof() -> tuple[Any, Any]:
    """Pictures that nothing was trained on, with their labels."""
    images, labels = digits("test")
    return images[:SAMPLES], labels[:SAMPLES]


def batches(count: int, size: int) -> Iterator[tuple[Any, Any]]:
    """Batches for training, the same each time."""
    images, labels = digits("train")
    order = np.random.RandomState(0)
    for _ in range(count):
        chosen = order.permutation(len(images))[:size]
        yield images[chosen], labels[chosen]


class Zoo:
    """What the two paths make of a net, with the programs and files in between."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        self.pace = HEAVY.get(name, Pace())

    @cached_property
    def saved(self) -> Path:
        """The folder of the trained net, as Paddle saves it; pictures may have any size, if it lets them."""
        net = _trained(build(self.name), self.pace)
        folder = self._folder / "float"
        side = SIDE if NETS[self.name].input_shape[1] == SIDE else None
        spec = paddle.static.InputSpec([None, 1, side, side], "float32", "image")
        paddle.jit.save(net, str(folder / "model"), [spec])
        return folder

    @cached_property
    def model(self) -> Model:
        """The trained net."""
        return load(self.saved)

    @cached_property
    def quantized(self) -> Quantized:
        """Path one: calibrated."""
        calibrating = digits("train")[0][:SAMPLES]
        return spokeshave.quantize(self.saved, calibrating, self._folder / "one", verify_data=proof()[0])

    @cached_property
    def session(self) -> Session:
        """Path two: trained further with quantizers in a program of its own."""
        return Session(self)

    @cached_property
    def frozen(self) -> Quantized:
        """The end of path two."""
        session = self.session
        model = Model.of(session.aware_test, {"score": session.scores}, session.scope)
        return compress.freeze(model, proof()[0], self._folder / "two")


class Session:
    """A static program of a trained net, with its test program, both with quantizers, trained some steps."""

    def __init__(self, zoo: Zoo) -> None:
        self._pace = zoo.pace
        self.minimizes_first = zoo.name not in QUANTIZED_FIRST
        self.scope, self.executor = paddle.static.Scope(), paddle.static.Executor(paddle.CPUPlace())
        self.train, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(self.train, startup):
            image = paddle.static.data("image", [None, 1, SIDE, SIDE], "float32")
            label = paddle.static.data("label", [None, 1], "int64")
            self.scores = build(zoo.name)(image)
            self.loss = paddle.mean(fn.cross_entropy(self.scores, label))
            if self.minimizes_first:
                self.rate = self._minimize(self.loss)
        self.test = self.train.clone(for_test=True)
        self.run(startup, {})
        self._aware()
        for name, array in zoo.model.weights().items():
            write_tensor(self.scope, name, array)
        self.losses = [
            self._step(images, labels) for images, labels in batches(zoo.pace.aware, zoo.pace.batch)
        ]

    def run(self, program: Any, feed: dict[str, Any], *values: Any) -> list[Any]:
        """Runs a program in the scope of the session."""
        with paddle.static.scope_guard(self.scope):
            return [np.asarray(r) for r in self.executor.run(program, feed=feed, fetch_list=list(values))]

    def converted(self) -> tuple[Any, Any]:
        """The float program and the one that stores int8."""
        frozen, packed = slim.quant.convert(
            self.aware_test, self.executor.place, scope=self.scope, save_int8=True
        )
        return frozen, packed

    def _aware(self) -> None:
        place = self.executor.place
        self.aware = slim.quant.quant_aware(self.train, place, scope=self.scope)
        self.aware_test = slim.quant.quant_aware(self.test, place, scope=self.scope, for_test=True)
        if not self.minimizes_first:
            startup = paddle.static.Program()
            with paddle.static.program_guard(self.aware, startup):
                self.rate = self._minimize(descended(self.loss, self.aware))
            self.run(startup, {})

    def _minimize(self, loss: Any) -> Any:
        rate: Any = paddle.optimizer.lr.PiecewiseDecay([2, 4], [1e-3, 1e-4, 1e-5])
        if self.minimizes_first:
            rate = paddle.optimizer.lr.CosineAnnealingDecay(1e-3, 8)
        decay = paddle.regularizer.L2Decay(1e-4)
        paddle.optimizer.Momentum(rate, 0.9, weight_decay=decay).minimize(loss)
        return rate

    def _step(self, images: Any, labels: Any) -> float:
        loss = float(self.run(self.aware, {"image": images, "label": labels}, self.loss)[0])
        self.rate.step()
        return loss


def _trained(net: Any, pace: Pace) -> Any:
    optimizer = paddle.optimizer.Momentum(0.01, 0.9, parameters=net.parameters(), weight_decay=1e-3)
    for images, labels in batches(pace.before, pace.batch):
        fn.cross_entropy(net(paddle.to_tensor(images)), paddle.to_tensor(labels)).backward()
        optimizer.step()
        optimizer.clear_grad()
    return _settled(net, digits("train")[0][:SAMPLES])


def _settled(net: Any, images: Any) -> Any:
    """The net in test mode, each batch norm with the statistics of what reaches it.

    Some nets let their statistics follow so slowly that after few steps no signal would get through.
    """
    hooks = [
        layer.register_forward_pre_hook(_take_statistics)
        for layer in net.sublayers()
        if isinstance(layer, nn.BatchNorm2D)
    ]
    net.eval()
    with paddle.no_grad():
        net(paddle.to_tensor(images))
    for hook in hooks:
        hook.remove()
    return net


def _take_statistics(layer: Any, inputs: tuple[Any, ...]) -> None:
    state, axes = layer.state_dict(), [0, 2, 3]
    spread = inputs[0].var(axes)
    state["_mean"].set_value(inputs[0].mean(axes))
    # A channel that hardly varies on these pictures is not blown up: on others it may.
    state["_variance"].set_value(spread + spread.mean())


def start_static() -> None:
    """What a script of Paddle users does first."""
    compat.enable()
    paddle.enable_static()


def stop_static() -> None:
    """Undoes it."""
    paddle.disable_static()
    compat.disable()
