"""Paddle's seams: modes, clones and what values become in them, erasing, types, files."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static

from spokeshave.errors.program import ErasedInUse, NotAModel, TensorMissing
from spokeshave.seams import (
    TESTED_VERSIONS,
    all_ops,
    attributes,
    building,
    clone,
    descended,
    dtype_name,
    erase,
    erase_tensors,
    has_tensor,
    is_absent,
    new_parameter,
    operand_names,
    parameter_ops,
    read_program,
    read_tensor,
    result_names,
    set_test_mode,
    static_mode,
    taken_apart_on_failure,
    tensor_names,
    words_of,
    write_program,
    write_tensor,
)


@pytest.fixture(autouse=True)
def same_mode() -> Iterator[None]:
    paddle.disable_static()
    yield
    paddle.disable_static()


def chain() -> tuple[Any, dict[str, Any]]:
    """x, tanh of it, exp of that; their program."""
    program = static.Program()
    with building(program):
        x = static.data("x", [None, 3], "float32")
        y = paddle.tanh(x)
        z = paddle.exp(y)
    return program, {"x": x, "y": y, "z": z}


def find(program: Any, name: str) -> Any:
    return next(op for op in all_ops(program) if op.name() == name)


def run(program: Any, *values: Any) -> list[Any]:
    feed = {"x": np.ones((1, 3), np.float32)}
    with static_mode(), static.scope_guard(static.Scope()):
        return list(static.Executor(paddle.CPUPlace()).run(program, feed=feed, fetch_list=list(values)))


def test_the_version_here_is_one_that_was_tested() -> None:
    assert paddle.__version__ in TESTED_VERSIONS


# Modes


@pytest.mark.parametrize("is_static", [False, True])
def test_static_mode_ends_as_it_began(is_static: bool) -> None:
    if is_static:
        paddle.enable_static()
    with static_mode():
        assert not paddle.in_dynamic_mode()
        with static_mode():
            pass
        assert not paddle.in_dynamic_mode()
    assert paddle.in_dynamic_mode() is not is_static
    with pytest.raises(KeyError), static_mode():
        raise KeyError
    assert paddle.in_dynamic_mode() is not is_static


def test_what_is_built_lands_in_the_program_and_startup_ops_nowhere() -> None:
    startup = len(static.default_startup_program().global_block().ops)
    main = len(static.default_main_program().global_block().ops)
    program, _ = chain()
    with building(program):
        new_parameter("w", (3,), "float32")
    assert [op.name() for op in all_ops(program)] == [
        "builtin.parameter",
        "pd_op.data",
        "pd_op.tanh",
        "pd_op.exp",
    ]
    assert len(static.default_startup_program().global_block().ops) == startup
    assert len(static.default_main_program().global_block().ops) == main


# Clones


def test_a_value_becomes_its_likeness_in_a_clone_of_a_clone() -> None:
    program, values = chain()
    first, mapping = clone(program)
    second, _ = clone(first)
    assert descended(values["y"], first).is_same(mapping.look_up(values["y"]))
    assert descended(values["y"], second).is_same(find(second, "pd_op.tanh").result(0))
    assert descended(mapping.look_up(values["y"]), second).is_same(find(second, "pd_op.tanh").result(0))
    np.testing.assert_array_equal(
        run(second, descended(values["z"], second))[0], np.exp(np.tanh(np.ones((1, 3), "f4")))
    )


def test_a_value_of_no_ancestor_stays_itself() -> None:
    program, values = chain()
    stranger, others = chain()
    copy, _ = clone(program)
    own = find(copy, "pd_op.exp").result(0)
    assert descended(own, copy).is_same(own)
    assert descended(others["y"], copy).is_same(others["y"])
    assert descended(values["y"], program).is_same(values["y"])
    assert stranger.num_ops() == copy.num_ops()


def test_a_clone_keeps_its_ancestor_alive() -> None:
    program, values = chain()
    copy, _ = clone(program)
    del program
    gc.collect()
    assert descended(values["z"], copy).is_same(find(copy, "pd_op.exp").result(0))


def test_a_clone_is_apart() -> None:
    program, _ = chain()
    copy, _ = clone(program)
    with building(copy):
        erase(find(copy, "pd_op.exp"))
    assert (copy.num_ops(), program.num_ops()) == (2, 3)


def test_test_mode_stops_dropout_batch_statistics_and_the_schedule() -> None:
    program = static.Program()
    with building(program):
        x = static.data("x", [None, 3], "float32")
        out = F.dropout(nn.BatchNorm1D(3)(x), 0.5)
        rate = paddle.optimizer.lr.StepDecay(0.1, 1)
        paddle.optimizer.SGD(rate).minimize(paddle.mean(out))
    copy, _ = clone(program)
    set_test_mode(copy)
    for name in ("pd_op.batch_norm_", "pd_op.dropout"):
        assert attributes(find(copy, name))["is_test"] is True
        assert attributes(find(program, name))["is_test"] is False
    assert hasattr(program, "lr_scheduler")
    assert not hasattr(copy, "lr_scheduler")


# Erasing


def test_an_op_in_use_is_not_erased() -> None:
    program, _ = chain()
    with pytest.raises(ErasedInUse, match=r"pd_op.tanh cannot be removed: pd_op.exp reads it"):
        erase(find(program, "pd_op.tanh"))
    erase(find(program, "pd_op.exp"))
    erase(find(program, "pd_op.tanh"))
    assert program.num_ops() == 1


def test_a_program_that_reads_what_comes_later_can_go_after_a_failure() -> None:
    program, values = chain()
    find(program, "pd_op.tanh").operand(0).set_source(values["z"])
    with pytest.raises(KeyError), taken_apart_on_failure(program):
        raise KeyError
    assert is_absent(find(program, "pd_op.tanh").operand_source(0))
    del program, values
    gc.collect()  # here the process would end


def test_a_program_is_left_alone_when_all_goes_well() -> None:
    program, values = chain()
    with taken_apart_on_failure(program):
        pass
    assert run(program, values["z"])[0].shape == (1, 3)


# Facts about ops and values


def test_operands_and_results_have_names_or_numbers() -> None:
    program = static.Program()
    with building(program):
        x = static.data("x", [None, 3], "float32")
        y = paddle.static.nn.cond(paddle.mean(x) > 0, lambda: x + 1, lambda: x - 1)
        paddle.concat([x, y])
    assert operand_names(find(program, "pd_op.mean")) == ["x", "axis"]
    assert result_names(find(program, "pd_op.mean")) == ["out"]
    assert operand_names(find(program, "pd_op.if")) == result_names(find(program, "pd_op.if")) == ["0"]
    assert operand_names(find(program, "builtin.combine")) == ["0", "1"]
    assert [op.name() for op in all_ops(program)].count("cf.yield") == 2, "those inside branches too"


def test_attributes_are_plain_data() -> None:
    program = static.Program()
    with building(program):
        paddle.full([2], 1.5, "float32")
        paddle.cast(static.data("x", [2], "int64"), "float32")
    full = attributes(find(program, "pd_op.full"))
    assert (full["shape"], full["value"], full["dtype"]) == ((2,), 1.5, "float32")
    assert "place" not in full
    assert attributes(find(program, "pd_op.cast"))["dtype"] == "float32"


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool"]
)
def test_types_are_spelt_as_numpy_does(dtype: str) -> None:
    with building(static.Program()):
        assert dtype_name(static.data("x", [1], dtype)) == np.dtype(dtype).name


# Tensors


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "bool"]
)
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (), (1,)])
def test_tensors_come_back_as_they_went(dtype: str, shape: tuple[int, ...]) -> None:
    scope, array = static.Scope(), np.ones(shape, dtype)
    write_tensor(scope, "t", array)
    found = read_tensor(scope, "t")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)


def test_what_is_read_is_a_copy_and_what_is_written_too() -> None:
    scope, array = static.Scope(), np.zeros(3, np.float32)
    write_tensor(scope, "t", array)
    array[:] = 1
    read_tensor(scope, "t")[:] = 2
    assert not read_tensor(scope, "t").any()


def test_tensors_are_listed_missed_and_forgotten() -> None:
    scope = static.Scope()
    for name in ("b", "a"):
        write_tensor(scope, name, np.zeros(1, np.float32))
    assert tensor_names(scope) == ("a", "b")
    erase_tensors(scope, ["a"])
    assert not has_tensor(scope, "a")
    with pytest.raises(TensorMissing, match="no tensor 'a'"):
        read_tensor(scope, "a")
    scope.var("empty")
    assert not has_tensor(scope, "empty")


# Files


def test_a_program_comes_back_from_its_file(tmp_path: Path) -> None:
    program, _ = chain()
    with building(program):
        new_parameter("w", (3,), "float32")
    write_program(program, tmp_path / "any name")
    again = read_program(tmp_path / "any name")
    assert [op.name() for op in all_ops(again)] == [op.name() for op in all_ops(program)]
    assert list(parameter_ops(again)) == ["w"]


def test_what_paddle_refuses_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"base_code": {"magic": "pir", "version": 1}, "program": {}}')
    with pytest.raises(
        NotAModel, match=r"m.json is not a Paddle model: Paddle refuses its program: "
    ) as caught:
        read_program(tmp_path / "m.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(InvalidArgument) No  such thing.\n  [Hint: x]", "(InvalidArgument) No such thing."),
        ("\n\n-----\nIn user code:\n\n File x\n  ValueError: y is wrong\n", "ValueError: y is wrong"),
        ("plain words", "plain words"),
        ("", "RuntimeError"),
        ("---\n===\n", "RuntimeError"),
    ],
)
def test_the_words_of_an_error_are_its_telling_line(text: str, words: str) -> None:
    assert words_of(RuntimeError(text)) == words


def test_static_mode_lets_names_go_on_counting() -> None:
    """Names that begin anew make two layers' parameters one to an optimizer."""
    first = paddle.nn.Linear(2, 2).weight.name
    with static_mode():
        assert not paddle.in_dynamic_mode()
    assert paddle.in_dynamic_mode()
    assert paddle.nn.Linear(2, 2).weight.name != first
