"""Fetching by name and by value, from a program and from those made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import paddle

from spokeshave.compat._patch import Patch
from spokeshave.compat.strategies import program_in
from spokeshave.errors.compat import ValueOfAnotherProgram
from spokeshave.errors.program import FetchUnknown
from spokeshave.registry import nearest
from spokeshave.seams import PROGRAM, VALUE, Program, Value, counterpart, name_all, named_values


def _run(original: Any) -> Any:
    def run(
        executor: Any, program: Any = None, feed: Any = None, fetch_list: Any = None, *more: Any, **named: Any
    ) -> Any:
        program = program_in(program)
        target = paddle.static.default_main_program() if program is None else program
        if isinstance(target, PROGRAM) and fetch_list is not None:
            fetch_list = resolved(fetch_list, target)
        return original(executor, program, feed, fetch_list, *more, **named)

    return run


def resolved(wanted: Any, program: Program) -> list[Any]:
    """The values of a program that are meant by names, by its own values and by those of its ancestors."""
    if _is_startup(program):
        return list(_flat(wanted))
    ready = {op.attrs()["name"] for op in program.global_block().ops if op.name() == "pd_op.fetch"}
    items = list(_flat(wanted))
    names = {item for item in items if isinstance(item, str)} - ready
    values = _by_name(program, names)
    return [
        item if item in ready else values[item] if isinstance(item, str) else value_in(item, program, n)
        for n, item in enumerate(items)
    ]


def value_in(value: Value, program: Program, place: int) -> Value:
    """What stands for a value in a program; `place` is where it stood in the list that was given."""
    found = counterpart(value, program) if isinstance(value, VALUE) else value
    if found is None:
        raise ValueOfAnotherProgram(place=place)
    return found


def _by_name(program: Program, names: set[str]) -> dict[str, Value]:
    values = named_values(program) if names else {}
    if names - set(values):
        name_all(program)
        values = named_values(program)
    for name in sorted(names - set(values)):
        raise FetchUnknown(name=name, nearest=nearest(name, values))
    return values


def _flat(wanted: Any) -> Iterator[Any]:
    for item in wanted if isinstance(wanted, (list, tuple)) else (wanted,):
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


def _is_startup(program: Program) -> bool:
    return any(op.name() == "builtin.set_parameter" for op in program.global_block().ops)


PATCHES = (Patch(paddle.static.Executor, "run", _run),)
