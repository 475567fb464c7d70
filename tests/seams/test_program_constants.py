"""Constants, declared shapes and inner ops of a program, as the seams make and tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import pytest

from spokeshave.seams import building, new_constant, ops_within, set_shape


@pytest.fixture(autouse=True)
def _in_dynamic_mode() -> Iterator[None]:
    paddle.disable_static()
    yield
    paddle.disable_static()


ARRAYS = {
    "integers": np.array([3, -1, 2**40], np.int64),
    "one integer": np.array(7, np.int64),
    "small integers": np.array([[1, 2], [3, 4]], np.int32),
    "alike": np.full((2, 3), 0.1, np.float32),
    "alike in double": np.full((2, 3), 0.1, np.float64),
    "many": np.linspace(0, 1, 7, dtype=np.float32),
    "no numbers at all": np.array([np.nan, np.inf], np.float32),
    "truths": np.array([True, False]),
    "truth": np.array([True, True]),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=list(ARRAYS))
def test_a_constant_runs_to_the_very_bits_that_it_was_given(array: Any) -> None:
    program = paddle.static.Program()
    with building(program):
        value = new_constant(array, str(array.dtype))
    paddle.enable_static()
    [found] = paddle.static.Executor(paddle.CPUPlace()).run(program, fetch_list=[value])
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def test_an_input_that_is_declared_anew_takes_the_new_shape() -> None:
    program = paddle.static.Program()
    with building(program):
        x = paddle.static.data("x", [2, 3], "float32")
        y = paddle.exp(x)
    set_shape(x, (5, 4))
    assert tuple(x.shape) == (5, 4)
    paddle.enable_static()
    feed = {"x": np.zeros((5, 4), np.float32)}
    [found] = paddle.static.Executor(paddle.CPUPlace()).run(program, feed=feed, fetch_list=[y])
    np.testing.assert_array_equal(found, np.ones((5, 4), np.float32))


def test_the_ops_inside_a_branch_are_told_with_those_of_its_own_branches() -> None:
    program = paddle.static.Program()
    with building(program):
        x = paddle.static.data("x", [2], "float32")
        at = paddle.mean(x)

        def inner() -> Any:
            return paddle.static.nn.cond(at > 1, lambda: paddle.tanh(x), lambda: paddle.exp(x))

        paddle.static.nn.cond(at > 0, inner, lambda: paddle.abs(x))
    [branch] = [op for op in program.global_block().ops if op.name() == "pd_op.if"]
    names = {op.name() for op in ops_within(branch)}
    assert {"pd_op.if", "pd_op.tanh", "pd_op.exp", "pd_op.abs"} <= names
    assert list(ops_within(x.get_defining_op())) == []
