"""Which program was made from which, and what a value of one has become in the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paddle import pir

from spokeshave.seams.handles import Program, Value
from spokeshave.seams.naming import name_all, name_of, named_value, program_of
from spokeshave.seams.programs import is_absent

_ORIGIN = "spokeshave_origin"


def clone(program: Program) -> tuple[Program, Any]:
    """A copy of a program, and the map whose `look_up` gives each value of the old one in the new one.

    The values of both have names afterwards, the same, by which `descended` finds them again.
    """
    name_all(program)
    mapping = pir.IrMapping()
    copy = program.clone(mapping)
    remember_origin(copy, program)
    return copy, mapping


def remember_origin(copy: Program, program: Program) -> None:
    """Lets a copy know what it was made from, and keeps that alive: values of it may still be asked for."""
    setattr(copy, _ORIGIN, program)


def descended(value: Value, program: Program) -> Value:
    """What a value of an ancestor has become in a program.

    The value itself where it is no ancestor's, or where nothing is left of it.
    """
    # A map of what was cloned would be quicker, and gives dead values where ops were erased since.
    if is_absent(value) or not comes_from(program, value):
        return value
    name = name_of(value)
    found = None if name is None else named_value(program, name)
    return value if found is None else found


def comes_from(program: Program, value: Value) -> bool:
    """Whether a value belongs to a program that this one was made from."""
    maker = value.get_defining_op()
    return maker is not None and any(home is program_of(value) for home in _ancestors(program))


def _ancestors(program: Program) -> Iterator[Program]:
    origin = getattr(program, _ORIGIN, None)
    while origin is not None:
        yield origin
        origin = getattr(origin, _ORIGIN, None)
