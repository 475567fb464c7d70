"""Training with rounding in the user's own scope, with batch norm behind every quantized convolution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
import paddle
import paddle.nn.functional as fn
import pytest
from e2e_nets import Nets, build

from spokeshave import compat, compress, slim
from spokeshave.data import digits
from spokeshave.program import Model, load
from spokeshave.seams import write_tensor

pytest_plugins = ["e2e_nets"]
STEPS = 15


class Session:
    """A trained MobileNetV1 that is trained further with quantizers: its programs and its scope."""

    def __init__(self, trained: Model) -> None:
        self.train, startup, self.scope = (
            paddle.static.Program(),
            paddle.static.Program(),
            paddle.static.Scope(),
        )
        with paddle.static.program_guard(self.train, startup):
            image = paddle.static.data("image", [None, 1, 28, 28], "float32")
            label = paddle.static.data("label", [None, 1], "int64")
            self.scores = build("mobilenet_v1")(image)
            self.loss = paddle.mean(fn.cross_entropy(self.scores, label))
            paddle.optimizer.Momentum(0.005, 0.9).minimize(self.loss)
        self.test = self.train.clone(for_test=True)
        self.executor = paddle.static.Executor(paddle.CPUPlace())
        self.run(startup, {})
        for name, array in trained.weights().items():
            write_tensor(self.scope, name, array)
        self.aware = self.quantized(self.train)
        self.aware_test = self.quantized(self.test, for_test=True)
        self.losses = self.steps(self.aware, STEPS)

    def quantized(self, program: Any, **options: Any) -> Any:
        return slim.quant.quant_aware(program, self.executor.place, scope=self.scope, **options)

    def run(self, program: Any, feed: dict[str, Any], *values: Any) -> list[Any]:
        with paddle.static.scope_guard(self.scope):
            return [np.asarray(r) for r in self.executor.run(program, feed=feed, fetch_list=list(values))]

    def steps(self, program: Any, count: int) -> list[float]:
        images, labels = digits("train")
        order = np.random.RandomState(count)
        losses = []
        for _ in range(count):
            chosen = order.permutation(len(images))[:64]
            feed = {"image": images[chosen], "label": labels[chosen]}
            losses.append(float(self.run(program, feed, self.loss)[0]))
        return losses


@pytest.fixture(scope="module")
def session(nets: Nets) -> Iterator[Session]:
    model = load(nets.trained("mobilenet_v1"))
    compat.enable()
    paddle.enable_static()
    yield Session(model)
    paddle.disable_static()
    compat.disable()


def held_out(count: int = 397) -> dict[str, Any]:
    images, labels = digits("test")
    return {"image": images[:count], "label": labels[:count]}


def test_training_goes_on_where_it_was(session: Session) -> None:
    assert np.isfinite(session.losses).all()
    # Rounding costs something, but nobody who guesses has a loss below log(10).
    assert max(session.losses) < 1.0


def test_all_forms_give_the_same_bits(session: Session) -> None:
    frozen, packed = slim.quant.convert(
        session.aware_test, session.executor.place, scope=session.scope, save_int8=True
    )
    feed = held_out(64)
    expected = session.run(session.aware_test, feed, session.scores, session.loss)
    for program in (frozen, packed):
        for ours, theirs in zip(session.run(program, feed, session.scores, session.loss), expected):
            np.testing.assert_array_equal(ours, theirs)


def test_a_frozen_program_does_not_follow_the_statistics_of_further_training(session: Session) -> None:
    frozen = slim.quant.convert(session.aware_test, session.executor.place, scope=session.scope)
    feed = held_out(64)
    before = session.run(frozen, feed, session.scores)[0]
    session.steps(session.aware, 1)
    np.testing.assert_array_equal(session.run(frozen, feed, session.scores)[0], before)
    assert not np.array_equal(session.run(session.aware_test, feed, session.scores)[0], before)


def test_the_export_agrees(session: Session, tmp_path: Any) -> None:
    feed = held_out()
    expected = session.run(session.aware_test, feed, session.scores)[0]
    model = Model.of(session.aware_test, {"score": session.scores}, session.scope)
    result = compress.freeze(model, "digits:test", tmp_path / "out")
    np.testing.assert_array_equal(result.simulation.run({"image": feed["image"]})["score"], expected)
    options = onnxruntime.SessionOptions()
    engine = onnxruntime.InferenceSession(
        str(result.artifact.path), options, providers=["CPUExecutionProvider"]
    ).run(None, {"image": feed["image"]})[0]
    assert (engine.argmax(axis=1) == expected.argmax(axis=1)).mean() >= 0.995
    assert result.verdict.holds
    labels = feed["label"][:, 0]
    assert (engine.argmax(axis=1) == labels).mean() > 0.85
    assert len(result.plan.weights) == 28
