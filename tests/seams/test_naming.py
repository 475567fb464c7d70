"""Names of values, on the ops that make them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn, static

from spokeshave.errors.compat import ValueNameTaken, ValueNotNameable
from spokeshave.program import Model, save
from spokeshave.seams import (
    attributes,
    building,
    clone,
    erase,
    insert_before,
    made_name,
    name_all,
    name_of,
    name_value,
    named_value,
    named_values,
)


@pytest.fixture(autouse=True)
def static_mode() -> Iterator[None]:
    paddle.enable_static()
    yield
    paddle.disable_static()


def chain(length: int = 3) -> tuple[Any, list[Any]]:
    """A program of so many tanh in a row, and all its values, which live as long as it does."""
    program = static.Program()
    with static.program_guard(program):
        values = [static.data("x", [None, 3], "float32")]
        for _ in range(length):
            values.append(paddle.tanh(values[-1]))
    return program, values


def test_a_value_has_no_name_before_it_is_given_one() -> None:
    program, (x, first, *_) = chain()
    assert name_of(x) == "x"
    assert name_of(first) is None
    assert named_values(program).keys() == {"x"}
    name_value(first, "fc_0.tmp_2")
    assert name_of(first) == "fc_0.tmp_2"
    assert named_values(program)["fc_0.tmp_2"].is_same(first)
    assert named_value(program, "tanh_0.tmp_0") is None


def test_asking_first_for_a_later_value_changes_no_name() -> None:
    (_kept, forwards), (_also_kept, backwards) = chain(), chain()
    assert [made_name(v) for v in forwards] == [made_name(v) for v in backwards[::-1]][::-1]


def test_a_name_stays_when_ops_come_before_and_go() -> None:
    program, values = chain()
    names = [made_name(v) for v in values]
    with building(program):
        insert_before(values[1].get_defining_op())
        inserted = paddle.tanh(values[0])
    with building(program):
        appended = paddle.tanh(values[-1])
    assert made_name(appended) == "tanh_3.tmp_0"
    assert made_name(inserted) == "tanh_4.tmp_0"
    assert [made_name(v) for v in values] == names
    erase(appended.get_defining_op())
    with building(program):
        assert made_name(paddle.tanh(values[-1])) == "tanh_5.tmp_0"  # none is given twice


def test_names_go_on_behind_those_that_were_given() -> None:
    program, values = chain(1)
    name_value(values[1], "tanh_7.tmp_0")
    with static.program_guard(program):
        assert made_name(paddle.tanh(values[1])) == "tanh_8.tmp_0"


def test_results_of_an_op_share_a_prefix_with_the_one_that_was_named() -> None:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        image = static.data("image", [None, 2, 4, 4], "float32")
        values = nn.BatchNorm2D(2)(image)
        name_value(values, "norm_3.tmp_2")
        name_value(paddle.nn.functional.relu(values), "norm_3.tmp_3")
    names = [made_name(v) for v in values.get_defining_op().results()]
    assert names == [f"norm_3.tmp_{n}" for n in (2, 4, 5, 0, 1, 6)]


def test_a_name_is_given_once_in_a_program_and_again_in_another() -> None:
    program, (_, first, second, _) = chain()
    name_value(first, "a")
    with pytest.raises(ValueNameTaken, match=r"'a' is taken by a result of pd_op\.tanh"):
        name_value(second, "a")
    name_value(first, "a")
    name_value(first, "b")
    name_value(second, "a")
    assert named_values(program)["a"].is_same(second)
    _other, values = chain()
    name_value(values[1], "a")


def test_parameters_and_null_values_cannot_be_named() -> None:
    program = static.Program()
    with static.program_guard(program, static.Program()), paddle.utils.unique_name.guard():
        nn.Linear(3, 3)(static.data("x", [None, 3], "float32"))
    weight = named_value(program, "linear_0.w_0")
    for value in (weight, paddle.pir.Value()):
        with pytest.raises(ValueNotNameable):
            name_value(value, "mine")
    assert made_name(weight) == "linear_0.w_0"
    assert made_name(paddle.pir.Value()) is None


def test_a_clone_has_the_names_and_goes_its_own_way() -> None:
    program, values = chain()
    name_value(values[2], "middle")
    for copy in (program.clone(), clone(program)[0]):
        middle = named_values(copy)["middle"]
        with static.program_guard(copy):
            made = [made_name(paddle.tanh(middle)) for _ in range(2)]
        assert made == ["tanh_2.tmp_0", "tanh_3.tmp_0"]


def test_names_are_no_attributes_of_what_an_op_computes() -> None:
    _program, values = chain()
    before = attributes(values[1].get_defining_op())
    name_value(values[1], "a")
    assert attributes(values[1].get_defining_op()) == before


@pytest.mark.parametrize("is_named", [False, True])
def test_names_change_no_byte_of_what_is_saved(is_named: bool, tmp_path: Path) -> None:
    program, values = chain()
    save(Model.of(program, {"y": values[-1]}, static.Scope()), tmp_path / "before")
    if is_named:
        name_all(program)
        name_value(values[2], "middle")
    save(Model.of(program, {"y": values[-1]}, static.Scope()), tmp_path / "after")
    assert (tmp_path / "after.json").read_bytes() == (tmp_path / "before.json").read_bytes()


def test_a_named_program_with_a_branch_and_a_loop_is_saved_and_runs(tmp_path: Path) -> None:
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2], "float32")
        y = static.nn.cond(paddle.mean(x) > 0, lambda: paddle.tanh(x), lambda: x * 2)
        parts = paddle.split(y, 2)
        name_value(y, "chosen")
        name_value(parts[1], "half")
    name_all(program)
    executor = static.Executor(paddle.CPUPlace())
    static.save_inference_model(str(tmp_path / "m"), [x], [parts[1]], executor, program=program)
    loaded, _, fetches = static.load_inference_model(str(tmp_path / "m"), executor)
    [found] = executor.run(loaded, feed={"x": np.ones(2, np.float32)}, fetch_list=fetches)
    np.testing.assert_allclose(found, np.tanh([1.0]), rtol=1e-6)  # two float32 implementations


def test_naming_a_thousand_values_and_finding_one_is_not_quadratic() -> None:
    program, values = chain(1000)
    start = time.thread_time()
    for number, value in enumerate(values[1:]):
        name_value(value, f"v_{number}")
    for value in values:
        made_name(value)
    named_value(program, "v_999")
    # About 10 ms; one walk over the program for each value would take seconds.
    assert time.thread_time() - start < 0.5


def test_threads_that_name_at_once_give_no_name_twice() -> None:
    program, values = chain(200)
    threads = [threading.Thread(target=lambda: [made_name(v) for v in values]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({name_of(v) for v in values}) == 201
    assert named_values(program).keys() == {"x", *(f"tanh_{n}.tmp_0" for n in range(200))}
