"""Which program was made from which, and what a value of one has become in the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddle import pir

from spokeshave.seams.handles import Program, Value
from spokeshave.seams.naming import name_all, name_of, named_value, program_of
from spokeshave.seams.programs import all_ops, is_absent

_ORIGIN = "spokeshave_origin"


@dataclass(frozen=True)
class _Origin:
    """What a copy was made from, and the names that the copy gave to the values of it.

    It keeps that program alive, as values of it may still be asked for.
    """

    program: Program
    names: Mapping[str, str | None]


def clone(program: Program) -> tuple[Program, Any]:
    """A copy of a program, and the map whose `look_up` gives each value of the old one in the new one.

    All values of the copy have names, by which `descended` finds what became of those of the old one. The
    map is good until the copy is changed: of what was erased since it gives dead values.
    """
    mapping = pir.IrMapping()
    copy = program.clone(mapping)
    name_all(copy)
    setattr(copy, _ORIGIN, _Origin(program, dict(_names(program, copy))))
    return copy, mapping


def descended(value: Value, program: Program) -> Value:
    """What a value of an ancestor has become in a program.

    The value itself where it is no ancestor's, or where nothing is left of it.
    """
    name = None if is_absent(value) else _name_in_copies(value, program)
    found = None if name is None else named_value(program, name)
    return value if found is None else found


def comes_from(program: Program, ancestor: Program) -> bool:
    """Whether a program was made from another, in one step or several."""
    return any(origin.program is ancestor for origin in _origins(program))


def _name_in_copies(value: Value, program: Program) -> str | None:
    if value.get_defining_op() is None:
        return None
    home = program_of(value)
    origins = (origin for origin in _origins(program) if origin.program is home)
    return next((origin.names.get(value.id) for origin in origins), None)


def _origins(program: Program) -> Iterator[_Origin]:
    origin = getattr(program, _ORIGIN, None)
    while origin is not None:
        yield origin
        origin = getattr(origin.program, _ORIGIN, None)


def _names(program: Program, copy: Program) -> Iterator[tuple[str, str | None]]:
    """The name that the copy gives to each value of a program, by what Paddle calls that value."""
    for old, new in zip(all_ops(program), all_ops(copy)):
        for before, after in zip(old.results(), new.results()):
            if not is_absent(before):
                yield before.id, name_of(after)
