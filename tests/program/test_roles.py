"""Which ops train a program and which compute its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from paddle.utils import unique_name

from spokeshave.program import Model, for_inference
from spokeshave.program.roles import forward_ops, has_backward, training_ops

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

OPTIMIZERS = {"pd_op.momentum_", "pd_op.merged_momentum_", "pd_op.adam_", "pd_op.adamw_", "pd_op.sgd_"}


@dataclass
class Built:
    """A program with its scope and its values by name."""

    program: Any
    scope: Any
    values: dict[str, Any]

    @property
    def model(self) -> Model:
        return Model.of(self.program, self.values, self.scope)

    def train(self, steps: int = 2) -> None:
        random = np.random.RandomState(0)
        with static.scope_guard(self.scope):
            for _ in range(steps):
                feed = {
                    "image": random.standard_normal((4, 1, 8, 8)).astype(np.float32),
                    "label": random.randint(0, 3, (4, 1)),
                }
                static.Executor(paddle.CPUPlace()).run(self.program, feed=feed, fetch_list=[])


def net(image: Any) -> Any:
    x = F.relu(nn.BatchNorm2D(4)(nn.Conv2D(1, 4, 3, padding=1)(image)))
    x = F.dropout(F.max_pool2d(x, 2, 2), 0.3)
    return nn.Linear(64, 3)(paddle.flatten(x, 1))


def build(
    optimizer: Callable[[], Any] | None = None, after: Callable[[Any, Any], Any] | None = None
) -> Built:
    """The net with its loss; `after` appends ops behind the optimizer's."""
    paddle.enable_static()
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(program, startup), unique_name.guard():
        image = static.data("image", [None, 1, 8, 8], "float32")
        label = static.data("label", [None, 1], "int64")
        scores = net(image)
        values = {"scores": scores, "loss": paddle.mean(F.cross_entropy(scores, label))}
        if optimizer is not None:
            optimizer().minimize(values["loss"])
        if after is not None:
            values["after"] = after(scores, label)
    with static.scope_guard(scope):
        static.Executor(paddle.CPUPlace()).run(startup)
    return Built(program, scope, values)


def _scheduled() -> Any:
    rate = paddle.optimizer.lr.PiecewiseDecay([10, 20], [0.1, 0.01, 0.001])
    return paddle.optimizer.Momentum(rate, 0.9, weight_decay=paddle.regularizer.L2Decay(1e-4))


def _clipped() -> Any:
    return paddle.optimizer.Adam(0.01, grad_clip=nn.ClipGradByGlobalNorm(1.0))


TRAINERS: dict[str, Callable[[], Any]] = {
    "momentum with weight decay": lambda: paddle.optimizer.Momentum(0.1, 0.9, weight_decay=0.01),
    "momentum with L1 decay": lambda: paddle.optimizer.Momentum(
        0.1, 0.9, weight_decay=paddle.regularizer.L1Decay(0.01)
    ),
    "momentum, scheduled": _scheduled,
    "adam": lambda: paddle.optimizer.Adam(0.01),
    "adamw": lambda: paddle.optimizer.AdamW(0.01, weight_decay=0.1),
    "adam, clipped": _clipped,
    "sgd": lambda: paddle.optimizer.SGD(0.1),
}
every_trainer = pytest.mark.parametrize("trainer", TRAINERS.values(), ids=list(TRAINERS))


def names(ops: list[Any]) -> list[str]:
    return [op.name() for op in ops]


@every_trainer
def test_the_split_is_that_of_the_net_without_its_optimizer(trainer: Callable[[], Any]) -> None:
    plain, trained = build(), build(trainer)
    skipped = ("builtin.parameter", "pd_op.data")
    forward = [n for n in names(forward_ops(trained.program)) if n not in skipped]
    assert forward == [n for n in names(list(plain.program.global_block().ops)) if n not in skipped]
    training = names(training_ops(trained.program))
    assert OPTIMIZERS & set(training)
    assert not [n for n in forward if n.rstrip("_").endswith("_grad") or n in OPTIMIZERS]


@every_trainer
def test_every_op_is_on_one_side(trainer: Callable[[], Any]) -> None:
    program = build(trainer).program
    ops = [op.id() for op in program.global_block().ops]
    sides = [op.id() for op in (*forward_ops(program), *training_ops(program))]
    assert sorted(sides) == sorted(ops)


@every_trainer
def test_the_view_has_the_ids_of_the_test_programs_view_and_only_its_parameters(
    trainer: Callable[[], Any],
) -> None:
    plain, trained = build().model.view, build(trainer).model.view
    assert [node.id for node in trained.nodes] == [node.id for node in plain.nodes]
    assert [(n.op, n.inputs, n.outputs) for n in trained.nodes] == [
        (n.op, n.inputs, n.outputs) for n in plain.nodes
    ]
    assert trained.inputs == plain.inputs == ("image", "label")
    assert trained.outputs == plain.outputs
    # A learning rate that is read by the optimizer alone is no parameter of the net.
    assert [p.id for p in trained.parameters] == [p.id for p in plain.parameters]


@every_trainer
def test_metric_ops_behind_the_optimizer_are_forward(trainer: Callable[[], Any]) -> None:
    def accuracy(scores: Any, label: Any) -> Any:
        return paddle.static.accuracy(F.softmax(scores), label, k=1)

    built = build(trainer, accuracy)
    assert "pd_op.accuracy" in names(forward_ops(built.program))
    assert "pd_op.accuracy" not in names(training_ops(built.program))
    assert dict(built.model.view.outputs)["after"] == "accuracy_0.accuracy"


def test_a_program_without_backward_is_all_forward() -> None:
    program = build().program
    assert training_ops(program) == []
    assert not has_backward(program)
    assert len(forward_ops(program)) == len(program.global_block().ops)
    assert has_backward(build(TRAINERS["sgd"]).program)


def test_gradients_without_an_optimizer_are_training() -> None:
    paddle.enable_static()
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [None, 4], "float32")
        x.stop_gradient = False
        static.gradients([paddle.mean(F.relu(x))], [x])
    assert names(forward_ops(program))[-1] == "pd_op.mean"
    assert "pd_op.relu_grad" in names(training_ops(program))


@every_trainer
def test_cut_down_to_its_scores_a_trained_program_gives_what_its_test_program_gives(
    trainer: Callable[[], Any],
) -> None:
    trained, plain = build(trainer), build()
    trained.train()
    ops = len(trained.program.global_block().ops)
    cut = for_inference(trained.model, ["scores"])
    assert cut.view.inputs == ("image",)
    assert not has_backward(cut.program)
    assert len(trained.program.global_block().ops) == ops
    tested = for_inference(Model.of(plain.program, plain.values, trained.scope), ["scores"])
    feed = {"image": np.random.RandomState(1).standard_normal((4, 1, 8, 8)).astype(np.float32)}
    first, second = cut.run(feed)["scores"], tested.run(feed)["scores"]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(cut.run(feed)["scores"], first)  # no dropout, statistics at rest
