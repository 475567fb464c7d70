"""Walking and rewriting PIR programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import paddle
from paddle import pir

from spokeshave.errors.program import ErasedInUse
from spokeshave.seams.handles import Operation, Program, Value

_ORIGIN = "spokeshave_origin"

# Asking one of these for the names of its operands or results ends the process.
_NAMELESS = frozenset(
    f"pd_op.{op}"
    for op in ("if", "while", "pylayer", "select_input", "select_output", "share_var", "cuda_graph")
)

# Where it was built, how gradients treat it, where it runs: not part of what an op computes.
_NOT_MEANING = frozenset({"op_callstack", "stop_gradient", "place", "persistable"})


def clone(program: Program) -> tuple[Program, Any]:
    """A copy of a program, and the map whose `look_up` gives each value of the old one in the new one.

    The copy remembers both, so that `descended` finds a value of the old one in it.
    """
    mapping = pir.IrMapping()
    copy = program.clone(mapping)
    # The ancestor is kept alive with its values: the map holds bare addresses.
    setattr(copy, _ORIGIN, (program, mapping))
    return copy, mapping


def descended(value: Value, program: Program) -> Value:
    """What a value of an ancestor has become in a program; the value itself where it is no ancestor's."""
    for mapping in reversed(_mappings(program)):
        if mapping.has(value):
            value = mapping.look_up(value)
    return value


def _mappings(program: Program) -> list[Any]:
    found = []
    origin = getattr(program, _ORIGIN, None)
    while origin is not None:
        found.append(origin[1])
        origin = getattr(origin[0], _ORIGIN, None)
    return found


def all_ops(program: Program) -> list[Operation]:
    """Every op in order, those inside branches and loops right after the op that holds them."""
    return list(_with_inner(program.global_block().ops))


def inner_ops(op: Operation) -> list[Operation]:
    """The ops inside the blocks of a branch or a loop, and in the blocks of those; none of any other op."""
    return [inner for inner in _with_inner([op]) if inner is not op]


def parameter_ops(program: Program) -> dict[str, Operation]:
    """The ops that stand for parameters, by the name that their tensor has in a scope."""
    ops = program.global_block().ops
    return {op.str_attr("parameter_name"): op for op in ops if op.name() == "builtin.parameter"}


def set_test_mode(program: Program) -> None:
    """Turns batch norm and dropout to test mode, in place: call it on a clone that has never run.

    A learning rate that follows a schedule is forgotten: an Executor would look for its parameter.
    """
    program.set_is_test_attr()
    if hasattr(program, "lr_scheduler"):
        del program.lr_scheduler


def is_absent(value: Value) -> bool:
    """Whether an optional operand or result is not there."""
    # Asking a null value for its shape or maker ends the process.
    return not value.initialized()


def dtype_name(value: Value) -> str:
    """The element type as NumPy spells it."""
    return _spelt(value.dtype)


@cache
def _spelt(dtype: Any) -> str:
    # Asking one of Paddle's enumerations for a name takes longer than all else about a value.
    return str(dtype.name).lower()


def operand_names(op: Operation) -> list[str]:
    """A name for each operand: its own, or its number where the op gives its operands no names."""
    return list(op.get_input_names()) if _has_names(op) else list(map(str, range(op.num_operands())))


def result_names(op: Operation) -> list[str]:
    """A name for each result: its own, or its number where the op gives its results no names."""
    return list(op.get_output_names()) if _has_names(op) else list(map(str, range(op.num_results())))


def attributes(op: Operation) -> dict[str, Any]:
    """What an op was told, as plain data: tuples for lists, names for types."""
    return {k: _plain(v) for k, v in op.attrs().items() if k not in _NOT_MEANING}


def insert_before(op: Operation) -> None:
    """Ops that are built next land before `op`."""
    pir.set_insertion_point(op)


def insert_after(op: Operation) -> None:
    """Ops that are built next land after `op`."""
    pir.set_insertion_point_after(op)


def erase(op: Operation) -> None:
    """Removes an op that nobody reads.

    Paddle aborts the process when a result is in use, so that is looked up first.
    """
    readers = [r for value in op.results() if not is_absent(value) for r in value.all_used_ops()]
    if readers:
        raise ErasedInUse(op=op.name(), reader=readers[0].name())
    op.get_parent_block().remove_op(op)


@contextmanager
def taken_apart_on_failure(program: Program) -> Iterator[None]:
    """If the block fails, no op of the program reads anything any more, so that it can go.

    A program in which an op reads what is made after it ends the process when it goes.
    """
    with ExitStack() as stack:
        stack.callback(_take_apart, program)
        yield
        stack.pop_all()


def new_parameter(name: str, shape: tuple[int, ...], dtype: str) -> Value:
    """A parameter that no optimizer touches, in the program being built; its numbers go to a scope apart."""
    with paddle.static.program_guard(paddle.static.default_main_program()):
        pir.reset_insertion_point_to_start()
        op = _any_parameter(dtype)[1].clone(pir.IrMapping(), pir.CloneOptions(True, True, True))
    made = op.result(0)
    set_shape(made, shape)
    op.set_str_attr("parameter_name", name)
    return made


def set_shape(value: Value, shape: Sequence[int]) -> None:
    """Declares another shape for a value; nothing else about it changes, and no value made from it."""
    value.set_type(pir.create_shaped_type(value.type(), list(shape)))


def new_constant(numbers: np.ndarray, dtype: str) -> Value:
    """A constant in the program being built; one op where its numbers are equal or a list of integers.

    Paddle drops the sign of a negative zero.
    """
    is_uniform = numbers.size > 0 and numbers.tobytes() == numbers.reshape(-1)[0].tobytes() * numbers.size
    if dtype == "int64" and numbers.ndim == 1:
        return paddle._pir_ops.full_int_array(numbers.tolist(), paddle.int64, paddle.CPUPlace())
    if is_uniform and dtype != "float64":
        return paddle.full(numbers.shape, numbers.reshape(-1)[0].item(), dtype)
    return paddle.assign(numbers)


def new_fetch(value: Value, name: str, place: int) -> None:
    """Marks a value of the program being built as its output number `place`, under `name`."""
    paddle._pir_ops.fetch(value, name, place).persistable = True


def _with_inner(ops: Iterable[Operation]) -> Iterator[Operation]:
    for op in ops:
        yield op
        # Asking for blocks takes long, and an unknown op, which has no name, cannot be asked.
        for block in op.blocks() if op.num_regions() and op.name() else ():
            yield from _with_inner(block.ops)


@cache
def _any_parameter(dtype: str) -> tuple[Program, Operation]:
    """A parameter to copy, with the program that holds it: making one afresh takes ten times as long."""
    start, program = paddle.nn.initializer.Constant(0.0), paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        made = pir.core.create_parameter(dtype, [1], name="any", initializer=start, trainable=False)
    made.stop_gradient = True
    op = made.get_defining_op()
    op.erase_attr("op_callstack")
    return program, op


def _take_apart(program: Program) -> None:
    nothing = pir.Value()
    for op in all_ops(program):
        for operand in op.operands():
            operand.set_source(nothing)


def _has_names(op: Operation) -> bool:
    name = op.name()
    return bool(name.startswith("pd_op.") and name not in _NAMELESS)


def _plain(attribute: Any) -> Any:
    if isinstance(attribute, (list, tuple)):
        return tuple(_plain(a) for a in attribute)
    if isinstance(attribute, (bool, int, float, str)):
        return attribute
    return str(getattr(attribute, "name", attribute)).lower()
