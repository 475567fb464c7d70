"""What is said to write, draw or speak does so in Paddle, and the rest is pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle
import pytest

from spokeshave.ops import OPS, effects
from spokeshave.ops.effects import is_drawing, is_pure, overwrites, updates


@pytest.fixture(autouse=True)
def _in_dynamic_mode() -> Iterator[None]:
    paddle.disable_static()
    yield
    paddle.disable_static()


DRAWING: dict[str, Callable[[], Any]] = {
    "bernoulli": lambda: paddle.bernoulli(paddle.full([64], 0.5)),
    "binomial": lambda: paddle.binomial(paddle.full([64], 9, "int64"), paddle.full([64], 0.5)),
    "gaussian": lambda: paddle.randn([64]),
    "multinomial": lambda: paddle.multinomial(paddle.full([64], 0.5), 9),
    "poisson": lambda: paddle.poisson(paddle.full([64], 3.0)),
    "randint": lambda: paddle.randint(0, 99, [64]),
    "randperm": lambda: paddle.randperm(64),
    "standard_gamma": lambda: paddle.standard_gamma(paddle.full([64], 3.0)),
    "uniform": lambda: paddle.rand([64]),
    "dropout": lambda: paddle.nn.functional.dropout(paddle.ones([64]), 0.5),
}


@pytest.mark.parametrize("name", DRAWING)
def test_an_op_that_draws_gives_something_else_each_time_and_is_not_pure(name: str) -> None:
    program = paddle.static.Program()
    paddle.enable_static()
    with paddle.static.program_guard(program, paddle.static.Program()):
        value = DRAWING[name]()
    op = value.get_defining_op()
    assert op.name() == f"pd_op.{name}"
    attrs = {"is_test": False}
    assert is_drawing(op.name(), attrs)
    assert not is_pure(op.name(), attrs)
    executor = paddle.static.Executor(paddle.CPUPlace())
    first, second = (executor.run(program, fetch_list=[value])[0] for _ in range(2))
    assert not np.array_equal(first, second)


def test_in_test_mode_nothing_is_dropped_and_nothing_drawn() -> None:
    assert not is_drawing("pd_op.dropout", {"is_test": True})
    assert is_drawing("pd_op.rnn", {"is_test": False, "dropout_prob": 0.1})
    assert not is_drawing("pd_op.rnn", {"is_test": True, "dropout_prob": 0.1})
    assert not is_drawing("pd_op.rnn", {"is_test": False, "dropout_prob": 0.0})


def test_every_row_that_writes_over_nothing_is_pure_in_test_mode() -> None:
    impure = {row.name for row in OPS if not is_pure(row.name, {"is_test": True})}
    assert all(name.endswith("_") or name in effects._OUTWARD for name in impure)
    assert "pd_op.assign_out_" in impure


@pytest.mark.parametrize(
    ("op", "operand", "writes", "is_state"),
    [
        ("pd_op.batch_norm_", "x", False, False),
        ("pd_op.batch_norm_", "mean", True, True),
        ("pd_op.sync_batch_norm_", "variance", True, True),
        ("pd_op.assign_out_", "output", True, True),
        ("pd_op.assign_out_", "x", True, False),
        ("pd_op.relu_", "x", True, False),
        ("pd_op.relu", "x", False, False),
        ("pd_op.share_data_", "x", False, False),
        ("pd_op.while", "0", True, False),
        ("pd_op.if", "captured.0", True, False),
    ],
)
def test_what_an_op_writes_over_and_what_is_its_state(
    op: str, operand: str, writes: bool, is_state: bool
) -> None:
    assert overwrites(op, operand) is writes
    assert updates(op, operand) is is_state
