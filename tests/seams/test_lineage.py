"""What a value of one program has become in another that was made from it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import static

from spokeshave.seams import building, clone, counterpart, descended, erase, name_of, named_value


@pytest.fixture(autouse=True)
def static_mode() -> Iterator[None]:
    paddle.enable_static()
    yield
    paddle.disable_static()


def chain() -> tuple[Any, list[Any]]:
    """x, tanh of it, exp of that; their program."""
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2], "float32")
        y = paddle.tanh(x)
        z = paddle.exp(y)
    return program, [x, y, z]


def is_same(found: Any, value: Any) -> bool:
    return found is not None and bool(found.is_same(value))


def test_a_clone_leaves_its_original_as_it_is() -> None:
    program, _ = chain()
    before = str(program)
    clone(program)
    assert str(program) == before


def test_a_value_is_found_in_the_clone_of_a_clone() -> None:
    program, values = chain()
    copy, mapping = clone(program)
    again, further = clone(copy)
    for value in values:
        assert descended(value, copy).is_same(mapping.look_up(value))
        assert descended(value, again).is_same(further.look_up(mapping.look_up(value)))
        assert is_same(counterpart(value, again), descended(value, again))
        assert is_same(counterpart(value, program), value)


def test_what_was_erased_has_no_counterpart_even_where_its_place_in_memory_is_taken() -> None:
    program, (_, y, z) = chain()
    copy, _ = clone(program)
    with building(copy):
        erase(descended(z, copy).get_defining_op())
        made = [paddle.exp(descended(y, copy)) for _ in range(50)]
    assert counterpart(z, copy) is None
    assert descended(z, copy) is z
    assert len(made) == 50


def test_an_ancestor_lives_as_long_as_what_was_made_of_it() -> None:
    def made() -> tuple[Any, Any]:
        program, values = chain()
        return clone(program)[0], values[2]

    copy, z = made()
    gc.collect()
    assert descended(z, copy).get_defining_op().name() == "pd_op.exp"
    executor = static.Executor(paddle.CPUPlace())
    [found] = executor.run(copy, feed={"x": np.zeros(2, np.float32)}, fetch_list=[descended(z, copy)])
    assert found.tolist() == [1.0, 1.0]


def test_a_value_of_a_stranger_has_no_counterpart() -> None:
    program, _ = chain()
    _, others = chain()
    copy, _ = clone(program)
    for value in (*others, paddle.pir.Value()):
        assert counterpart(value, copy) is None
        assert descended(value, copy) is value


def test_copies_of_one_program_share_what_they_have_from_it_and_nothing_else() -> None:
    program, (_, _, z) = chain()
    one, other = clone(program)[0], clone(program)[0]
    assert is_same(counterpart(descended(z, one), other), descended(z, other))
    for copy in (one, other):
        with building(copy):
            paddle.sin(descended(z, copy))
        clone(copy)
    made = one.global_block().ops[-1].result(0)
    clone(one)
    assert counterpart(made, other) is None


def test_a_descendant_is_no_ancestor() -> None:
    program, _ = chain()
    copy, _ = clone(program)
    with building(copy):
        made = paddle.sin(named_value(copy, "x"))
    assert name_of(made) is None
    assert counterpart(made, program) is None
