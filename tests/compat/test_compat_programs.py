"""`Program.clone(for_test=True)` and what a block can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
from compat_nets import Trained, classifier
from paddle import nn, static

from spokeshave import compat
from spokeshave.errors.compat import NoSuchVar

pytest_plugins = ["compat_nets"]
pytestmark = pytest.mark.usefixtures("compat_on")


def ops(program: Any) -> list[str]:
    return [op.name() for op in program.global_block().ops]


def test_a_clone_for_test_has_no_backward_and_is_in_test_mode(trained: Trained) -> None:
    before = ops(trained.program)
    for tested in (trained.program.clone(for_test=True), trained.program.clone(True)):
        assert not [name for name in ops(tested) if "grad" in name or "momentum" in name]
        for name in ("pd_op.batch_norm_", "pd_op.dropout"):
            op = next(op for op in tested.global_block().ops if op.name() == name)
            assert op.attrs()["is_test"] is True
    assert ops(trained.program) == before


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: paddle.optimizer.SGD(0.1),
    "adam, clipped": lambda: paddle.optimizer.Adam(0.1, grad_clip=nn.ClipGradByGlobalNorm(1.0)),
    "adam, regularized": lambda: paddle.optimizer.Adam(0.1, weight_decay=paddle.regularizer.L2Decay(1e-4)),
    "adamw, scheduled": lambda: paddle.optimizer.AdamW(paddle.optimizer.lr.CosineAnnealingDecay(0.1, 10)),
    "momentum, clipped by norm": lambda: paddle.optimizer.Momentum(
        paddle.optimizer.lr.PiecewiseDecay([5], [0.1, 0.01]), 0.9, grad_clip=nn.ClipGradByNorm(0.1)
    ),
    "lamb": lambda: paddle.optimizer.Lamb(0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_whatever_the_optimizer_the_forward_is_all_that_a_clone_for_test_keeps(
    optimizer: Callable[[], Any],
) -> None:
    net = classifier(optimizer())
    tested = net.program.clone(for_test=True)
    assert ops(tested)[-1] == "pd_op.accuracy"
    kept = {v.name for v in tested.list_vars() if v.persistable}
    norm = {f"batch_norm1d_0.{what}" for what in ("w_0", "b_0", "w_1", "w_2")}
    assert kept == norm | {f"linear_{n}.{what}_0" for n in (0, 1) for what in ("w", "b")}
    first = net.run(tested, [net.scores, net.loss, net.accuracy])
    np.testing.assert_array_equal(net.run(tested, net.scores)[0], first[0])  # dropout is off
    net.run(net.program, [net.loss])
    assert net.run(tested, net.loss)[0] != first[1]  # it reads what training learned


def test_a_clone_of_a_clone_gives_what_the_clone_gives(trained: Trained) -> None:
    tested = trained.program.clone(for_test=True)
    again = tested.clone(for_test=True)
    wanted = [trained.scores, trained.loss.name, trained.accuracy]
    for mine, its in zip(trained.run(again, wanted), trained.run(tested, wanted)):
        np.testing.assert_array_equal(mine, its)


def test_a_plain_clone_trains_on_by_itself(trained: Trained) -> None:
    for copy in (trained.program.clone(), trained.program.clone(False)):
        assert ops(copy) == ops(trained.program)
        [before] = trained.run(copy, trained.loss)
        for _ in range(5):
            [after] = trained.run(copy, trained.loss)
        assert after < before


def test_a_clone_with_a_map_is_paddles_own(trained: Trained) -> None:
    mapping = paddle.pir.IrMapping()
    copy = trained.program.clone(mapping)
    found = mapping.look_up(trained.loss)
    assert found.get_defining_op().get_parent_block().program is copy
    assert trained.run(copy, [found])[0].shape == ()


def test_a_clone_for_test_of_a_program_with_auc_keeps_what_that_counts() -> None:
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup):
        x = static.data("x", [None, 2], "float32")
        label = static.data("label", [None, 1], "int64")
        scores = nn.functional.softmax(nn.Linear(2, 2)(x))
        paddle.optimizer.SGD(0.1).minimize(paddle.mean(nn.functional.cross_entropy(scores, label)))
        area = static.auc(scores, label)[0]
    executor, scope = static.Executor(paddle.CPUPlace()), static.Scope()
    tested = program.clone(for_test=True)
    feed = {"x": np.eye(2, dtype=np.float32), "label": np.array([[0], [1]])}
    with static.scope_guard(scope):
        executor.run(startup)
        [found] = executor.run(tested, feed=feed, fetch_list=[area])
    assert 0 <= float(found) <= 1


def test_a_block_gives_its_values_by_name(trained: Trained) -> None:
    block = trained.program.global_block()
    assert block.var(trained.loss.name).is_same(trained.loss)
    assert list(block.var("image").shape) == [-1, 4]
    assert block.var("linear_0.w_0").persistable
    assert block.has_var("linear_0.w_0_velocity_0")
    assert not block.has_var("linear_7.w_0")
    assert block.vars["image"].is_same(trained.image)


def test_a_block_of_a_clone_gives_its_own(trained: Trained) -> None:
    tested = trained.program.clone(for_test=True)  # a block does not keep its program alive
    block = tested.global_block()
    assert not block.var(trained.loss.name).is_same(trained.loss)
    assert list(block.var(trained.scores.name).shape) == [-1, 3]


def test_a_name_that_no_value_has_is_told_with_the_nearest(trained: Trained) -> None:
    with pytest.raises(NoSuchVar, match=r"no value 'mean_0\.tmp_9'\. Nearest: mean_0\.tmp_0"):
        trained.program.global_block().var("mean_0.tmp_9")
    with pytest.raises(ValueError, match="no value"):  # what Paddle 2 raised
        trained.program.global_block().var("")


def test_a_program_lists_its_parameters_and_all_its_values(trained: Trained) -> None:
    names = [p.name for p in trained.program.all_parameters()]
    assert sorted(names) == sorted(p.name for p in trained.program.global_block().all_parameters())
    assert {"linear_0.w_0", "linear_1.b_0"} <= set(names)
    tested = trained.program.clone(for_test=True)
    listed = {v.name for v in tested.list_vars()}
    assert listed >= {"image", "label", "linear_0.w_0", trained.loss.name}


def test_off_a_program_is_paddles_own(trained: Trained) -> None:
    compat.disable()
    assert not hasattr(trained.program, "all_parameters")
    assert not hasattr(trained.program.global_block(), "var")
    with pytest.raises(TypeError):
        trained.program.clone(for_test=True)
