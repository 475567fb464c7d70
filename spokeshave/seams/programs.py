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

# What is fed, and what outlives a run without being a parameter.
DATA_OPS = ("pd_op.data", "pd_op.feed")
_WITH_FRACTION = ("float16", "bfloat16", "float32", "float64")
_SET_TENSOR = "pd_op.set_value_with_tensor"
# Ops that write plain numbers, with those that write a tensor.
_SET_VALUE = {"pd_op.set_value": "set_value_with_tensor", "pd_op.set_value_": "set_value_with_tensor_"}
# With the number of a result behind it: the attribute of an op that holds the name of that result.
VALUE_NAME = "value_name_"

# Asking one of these for the names of its operands or results ends the process.
_NAMELESS = frozenset(
    f"pd_op.{op}"
    for op in ("if", "while", "pylayer", "select_input", "select_output", "share_var", "cuda_graph")
)

# Where it was built, how gradients treat it, where it runs: not part of what an op computes.
_NOT_MEANING = frozenset({"op_callstack", "stop_gradient", "place", "persistable"})


def all_ops(program: Program) -> list[Operation]:
    """Every op in order, those inside branches and loops right after the op that holds them."""
    return list(_with_inner(program.global_block().ops))


def ops_within(op: Operation) -> Iterator[Operation]:
    """The ops in the blocks of a branch or a loop, however deep; none for any other op."""
    # Asking for blocks takes long, and an unknown op, which has no name, cannot be asked.
    for block in op.blocks() if op.num_regions() and op.name() else ():
        yield from _with_inner(block.ops)


def input_ops(program: Program) -> dict[str, Value]:
    """What a program is fed, by name, in order."""
    ops = [op for op in program.global_block().ops if op.name() in DATA_OPS]
    return {op.attrs()["name"]: op.result(0) for op in ops if not _is_persistable(op)}


def persistable_values(program: Program) -> dict[str, Value]:
    """What a program keeps in a scope, by name: parameters, and data that outlives a run."""
    data = [op for op in program.global_block().ops if op.name() in DATA_OPS and _is_persistable(op)]
    kept = {name: op.result(0) for name, op in parameter_ops(program).items()}
    return {**kept, **{op.attrs()["name"]: op.result(0) for op in data}}


def is_trainable(value: Value) -> bool:
    """Whether an optimizer may change a parameter."""
    said = value.get_defining_op().attrs().get("trainable")
    return bool(said[0]) if said else not value.stop_gradient


def operands_of(value: Value) -> list[tuple[Operation, int]]:
    """Where a value is read: each op with the position of the operand."""
    readers = {op.id(): op for op in value.all_used_ops()}.values()
    return [
        (op, i)
        for op in readers
        for i, source in enumerate(op.operands_source())
        if not is_absent(source) and source.is_same(value)
    ]


def rename_parameter(value: Value, name: str) -> None:
    """Lets a parameter have its numbers under another name."""
    value.get_defining_op().set_str_attr("parameter_name", name)


def let_gradients_pass(program: Program) -> None:
    """Lets gradients reach the inputs that are numbers with a fraction."""
    for value in input_ops(program).values():
        value.stop_gradient = dtype_name(value) not in _WITH_FRACTION


def stop_gradients_at_set_values(program: Program) -> None:
    """Lets no gradient through where numbers are written over a slice of a value, in place.

    Paddle's gradient of writing plain numbers goes through as if nothing had been written; that of writing a
    tensor is right. So a tensor is written over the slice before.
    """
    for op in all_ops(program):
        if op.name() in _SET_VALUE and not op.operand_source(0).stop_gradient:
            _write_tensor_before(op)


def _write_tensor_before(op: Operation) -> None:
    value, *place = op.operands_source()
    before, attrs = value.get_defining_op(), op.attrs()
    if before is not None and before.name().startswith(_SET_TENSOR) and _writes_at(before, place):
        return
    insert_before(op)
    nothing = paddle.zeros(attrs["shape"], value.dtype)
    write = getattr(paddle._C_ops, _SET_VALUE[op.name()])
    axes = (attrs[name] for name in ("axes", "decrease_axes", "none_axes"))
    written = write(value, nothing, *place, *axes)
    written.stop_gradient = False
    op.operand(0).set_source(written)


def _writes_at(op: Operation, place: Sequence[Value]) -> bool:
    """Whether an op was put before another that writes at this place: both read the very same bounds."""
    return all(own.is_same(other) for own, other in zip(op.operands_source()[2:], place))


def parameter_ops(program: Program) -> dict[str, Operation]:
    """The ops that stand for parameters, by the name that their tensor has in a scope."""
    ops = program.global_block().ops
    return {op.str_attr("parameter_name"): op for op in ops if op.name() == "builtin.parameter"}


def set_test_mode(program: Program) -> None:
    """Turns batch norm and dropout to test mode, in place: call it on a clone that has never run."""
    program.set_is_test_attr()
    forget_schedule(program)


def forget_schedule(program: Program) -> None:
    """Forgets the schedule of a learning rate that is gone: an Executor would look for its parameter."""
    if hasattr(program, "lr_scheduler"):
        del program.lr_scheduler


def set_training_mode(program: Program) -> None:
    """Turns batch norm and dropout to training mode, in place, unless some of them train already."""
    # A batch norm of a layer in test mode works with the stored statistics by the second attribute as well.
    moded = [op for op in all_ops(program) if op.name() and op.has_attr("is_test")]
    if any(not op.attrs()["is_test"] for op in moded):
        return
    for op in moded:
        op.set_bool_attr("is_test", False)
        if op.has_attr("use_global_stats"):
            op.set_bool_attr("use_global_stats", False)


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
    return {k: _plain(v) for k, v in op.attrs().items() if _has_meaning(k)}


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
def back_at_end(program: Program) -> Iterator[None]:
    """Ops that are built after the block land at the end again, wherever those inside it landed.

    The op next to which they landed may go, and with it the place.
    """
    try:
        yield
    finally:
        pir.set_insertion_point_to_block_end(program.global_block())


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
    template, place = _any_parameter(dtype)[1], pir.get_current_insertion_point()
    pir.reset_insertion_point_to_start()
    op = template.clone(pir.IrMapping(), pir.CloneOptions(True, True, True))
    pir.set_insertion_point(place)
    made = op.result(0)
    set_shape(made, shape)
    op.set_str_attr("parameter_name", name)
    return made


def new_input(name: str, like: Value) -> Value:
    """An input of the program being built, with the shape and type of a value; it comes first."""
    with paddle.static.program_guard(paddle.static.default_main_program()):
        pir.reset_insertion_point_to_start()
        made = paddle._pir_ops.data(name, list(like.shape), like.dtype, paddle.base.core.Place())
    made.stop_gradient = True
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
        yield from ops_within(op)


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


def _is_persistable(op: Operation) -> bool:
    return bool(op.attrs().get("persistable") == [True])


def _has_names(op: Operation) -> bool:
    name = op.name()
    return bool(name.startswith("pd_op.") and name not in _NAMELESS)


def _has_meaning(attribute: str) -> bool:
    return attribute not in _NOT_MEANING and not attribute.startswith(VALUE_NAME)


def _plain(attribute: Any) -> Any:
    if isinstance(attribute, (list, tuple)):
        return tuple(_plain(a) for a in attribute)
    if isinstance(attribute, (bool, int, float, str)):
        return attribute
    return str(getattr(attribute, "name", attribute)).lower()
