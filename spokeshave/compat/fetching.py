"""Fetching by name and by value, from a program and from those made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import paddle

from spokeshave.compat._patch import Patch
from spokeshave.compat.strategies import program_in
from spokeshave.errors.compat import ValueOfAnotherProgram
from spokeshave.errors.program import FetchUnknown
from spokeshave.registry import nearest
from spokeshave.seams import PROGRAM, VALUE, Program, Value, counterpart, name_all, name_of, named_values


def _run(original: Any) -> Any:
    def run(
        executor: Any, program: Any = None, feed: Any = None, fetch_list: Any = None, *more: Any, **named: Any
    ) -> Any:
        program = program_in(program)
        target = paddle.static.default_main_program() if program is None else program
        if isinstance(target, PROGRAM) and fetch_list is not None:
            fetch_list = resolved(fetch_list, target, "fetch_list")
        return original(executor, program, feed, fetch_list, *more, **named)

    return run


def resolved(wanted: Any, program: Program, argument: str) -> list[Any]:
    """The values of a program that are meant by names, by its own values and by those of its ancestors.

    `argument` is what they were given as.
    """
    items = list(_flat(wanted))
    values = _by_name(program, {item for item in items if isinstance(item, str)})
    named = [values[item] if isinstance(item, str) else item for item in items]
    find = _initialized if _set_by(program) else counterpart
    return [_found(find, item, program, f"{argument}[{n}]") for n, item in enumerate(named)]


def _found(find: Callable[[Value, Program], Any], item: Any, program: Program, place: str) -> Any:
    """What stands for a value in the program; what is no value goes on to Paddle, which knows what it is."""
    found = find(item, program) if isinstance(item, VALUE) else item
    if found is None and item is not None:
        raise ValueOfAnotherProgram(place=place)
    return found


def _initialized(value: Value, program: Program) -> Value | None:
    """A parameter that a startup program sets: Paddle looks for its name, and dies where it finds none."""
    return value if name_of(value) in _set_by(program) else None


def _set_by(program: Program) -> set[str]:
    """The parameters that a startup program sets; none for any other program."""
    ops = program.global_block().ops
    return {op.str_attr("parameter_name") for op in ops if op.name() == "builtin.set_parameter"}


def _by_name(program: Program, names: set[str]) -> dict[str, Any]:
    """What each name means; the name of a fetch that stands in the program already means itself to Paddle."""
    values: dict[str, Any] = named_values(program, names) if names else {}
    if names - set(values):
        name_all(program)
        ready = [op for op in program.global_block().ops if op.name() == "pd_op.fetch"]
        values = {**named_values(program), **{op.attrs()["name"]: op.attrs()["name"] for op in ready}}
    for name in sorted(names - set(values)):
        raise FetchUnknown(name=name, nearest=nearest(name, values))
    return values


def _flat(wanted: Any) -> Iterator[Any]:
    for item in wanted if isinstance(wanted, (list, tuple)) else (wanted,):
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


PATCHES = (Patch(paddle.static.Executor, "run", _run),)
