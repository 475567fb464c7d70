"""Nets for the tests of `compat`, and the switch turned on for one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static

from spokeshave import compat


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Static mode with `compat` on or off; afterwards both are as they were.

    Whoever imported `slim` before in this process has enabled it, and counts on it.
    """
    before = static.Executor.run
    compat.disable()
    was_enabled = static.Executor.run is not before
    if on:
        compat.enable()
    paddle.enable_static()
    try:
        yield
    finally:
        compat.disable()
        paddle.disable_static()
        if was_enabled:
            compat.enable()


@dataclass
class Trained:
    """A classifier with its metrics and its optimizer, in a scope of its own."""

    program: Any
    startup: Any
    scope: Any
    image: Any
    scores: Any
    loss: Any
    accuracy: Any
    executor: Any

    def run(self, program: Any, wanted: Any, **more: Any) -> list[Any]:
        feed = {"image": np.ones((2, 4), np.float32), "label": np.zeros((2, 1), np.int64)}
        with static.scope_guard(self.scope):
            return list(self.executor.run(program, feed=feed, fetch_list=wanted, **more))


def classifier(optimizer: Any = None) -> Trained:
    """Two linear layers with batch norm and dropout between, trained by a scheduled momentum as a rule."""
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with paddle.utils.unique_name.guard(), static.program_guard(program, startup):
        image = static.data("image", [None, 4], "float32")
        label = static.data("label", [None, 1], "int64")
        hidden = F.dropout(nn.BatchNorm1D(8)(nn.Linear(4, 8)(image)), 0.5)
        scores = F.softmax(nn.Linear(8, 3)(hidden))
        loss = paddle.mean(F.cross_entropy(scores, label))
        accuracy = paddle.metric.accuracy(scores, label)
        schedule = paddle.optimizer.lr.StepDecay(0.1, 1)
        (optimizer or paddle.optimizer.Momentum(schedule, 0.9, weight_decay=0.01)).minimize(loss)
    made = Trained(program, startup, scope, image, scores, loss, accuracy, static.Executor(paddle.CPUPlace()))
    paddle.seed(0)
    with static.scope_guard(scope):
        made.executor.run(startup)
    return made


@pytest.fixture
def compat_on() -> Iterator[None]:
    """A test runs in static mode with old habits served."""
    with switched(True):
        yield


@pytest.fixture
def trained() -> Trained:
    """A classifier with its backward and its optimizer, started."""
    return classifier()
