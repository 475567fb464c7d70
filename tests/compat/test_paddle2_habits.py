"""What Paddle 2's Program had: given back by `enable`, taken away by `disable`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static

from spokeshave import compat

PATCHED = [(static.Executor, "run"), (static.Program, "clone")]


@pytest.fixture(autouse=True)
def disabled() -> Iterator[None]:
    # Whoever imported `slim` before in this process has enabled it, and counts on it afterwards.
    before = static.Executor.run
    compat.disable()
    was_enabled = static.Executor.run is not before
    paddle.enable_static()
    yield
    compat.disable()
    paddle.disable_static()
    if was_enabled:
        compat.enable()


@dataclass
class Trained:
    """A net with its optimizer, in a scope of its own."""

    program: Any
    scope: Any
    scores: Any
    loss: Any
    executor: Any

    def run(self, program: Any, *values: Any, **more: Any) -> list[Any]:
        feed = {"image": np.ones((2, 4), np.float32), "label": np.zeros((2, 1), np.int64)}
        with static.scope_guard(self.scope):
            return list(self.executor.run(program, feed=feed, fetch_list=list(values), **more))


@pytest.fixture
def trained() -> Trained:
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(program, startup):
        image = static.data("image", [None, 4], "float32")
        label = static.data("label", [None, 1], "int64")
        scores = nn.Linear(8, 3)(F.dropout(nn.BatchNorm1D(8)(nn.Linear(4, 8)(image)), 0.5))
        loss = paddle.mean(F.cross_entropy(scores, label))
        paddle.optimizer.Momentum(paddle.optimizer.lr.StepDecay(0.1, 1), 0.9, weight_decay=0.01).minimize(
            loss
        )
    made = Trained(program, scope, scores, loss, static.Executor(paddle.CPUPlace()))
    paddle.seed(0)
    with static.scope_guard(scope):
        made.executor.run(startup)
    return made


def names(program: Any) -> list[str]:
    return [op.name() for op in program.global_block().ops]


def test_disable_puts_the_very_objects_back() -> None:
    originals = [getattr(owner, name) for owner, name in PATCHED]
    compat.enable()
    assert all(getattr(o, n) is not original for (o, n), original in zip(PATCHED, originals))
    compat.disable()
    assert all(getattr(o, n) is original for (o, n), original in zip(PATCHED, originals))


def test_enabling_twice_and_disabling_twice_is_harmless() -> None:
    originals = [getattr(owner, name) for owner, name in PATCHED]
    compat.disable()
    compat.enable()
    patched = [getattr(owner, name) for owner, name in PATCHED]
    compat.enable()
    assert [getattr(owner, name) for owner, name in PATCHED] == patched
    compat.disable()
    compat.disable()
    assert all(getattr(o, n) is original for (o, n), original in zip(PATCHED, originals))


def test_a_clone_for_test_has_no_backward_and_is_in_test_mode(trained: Trained) -> None:
    compat.enable()
    before = names(trained.program)
    for tested in (trained.program.clone(for_test=True), trained.program.clone(True)):
        assert not [n for n in names(tested) if "grad" in n or "momentum" in n]
        for name in ("pd_op.batch_norm_", "pd_op.dropout"):
            ops = tested.global_block().ops
            assert next(op for op in ops if op.name() == name).attrs()["is_test"] is True
    assert names(trained.program) == before


def test_a_value_of_the_ancestor_is_fetched_from_its_clone(trained: Trained) -> None:
    compat.enable()
    tested = trained.program.clone(for_test=True)
    [scores, loss] = trained.run(tested, trained.scores, trained.loss)
    assert scores.shape == (2, 3)
    assert loss.shape == ()
    np.testing.assert_array_equal(trained.run(tested, trained.scores)[0], scores)  # dropout is off
    again = tested.clone(for_test=True)
    np.testing.assert_array_equal(trained.run(again, trained.scores)[0], scores)


def test_without_it_paddle_drops_such_a_value(trained: Trained) -> None:
    compat.enable()
    tested = trained.program.clone(for_test=True)
    compat.disable()
    assert trained.run(tested, trained.scores) == []


def test_a_test_clone_reads_what_training_learns(trained: Trained) -> None:
    compat.enable()
    tested = trained.program.clone(for_test=True)
    [before] = trained.run(tested, trained.loss)
    for _ in range(5):
        trained.run(trained.program, trained.loss)
    assert trained.run(tested, trained.loss)[0] < before


def test_a_plain_clone_trains_on_by_itself(trained: Trained) -> None:
    compat.enable()
    copy = trained.program.clone()
    assert names(copy) == names(trained.program)
    [before] = trained.run(copy, trained.loss)
    for _ in range(5):
        [after] = trained.run(copy, trained.loss)
    assert after < before


def test_paddles_own_calls_go_on_as_before(trained: Trained) -> None:
    compat.enable()
    mapping = paddle.pir.IrMapping()
    copy = trained.program.clone(mapping)
    assert (
        mapping.look_up(trained.loss).get_defining_op().get_parent_block().program.num_ops() == copy.num_ops()
    )
    assert trained.run(trained.program) == []
    with static.scope_guard(trained.scope):
        feed = {"image": np.ones((2, 4), np.float32), "label": np.zeros((2, 1), np.int64)}
        [loss] = trained.executor.run(trained.program, feed, [trained.loss])
        assert loss.shape == ()
        assert trained.executor.run(static.Program()) == []
