"""Which program was made from which, and what a value of one has become in the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from paddle import pir

from spokeshave.seams.handles import Program, Value
from spokeshave.seams.naming import name_all, name_of, named_value
from spokeshave.seams.programs import all_ops, is_absent

_ORIGIN, _FAMILY = "spokeshave_origin", "spokeshave_family"


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
    if not hasattr(program, _FAMILY):
        setattr(program, _FAMILY, WeakSet([program]))
    mapping = pir.IrMapping()
    copy = program.clone(mapping)  # attributes of the Python object go along, the family too
    name_all(copy)
    setattr(copy, _ORIGIN, _Origin(program, dict(_names(program, copy))))
    getattr(copy, _FAMILY).add(copy)
    return copy, mapping


def plain_clone(program: Program) -> tuple[Program, Any]:
    """A copy that does not remember what it was made from: half the time, for programs that are nobody's."""
    mapping = pir.IrMapping()
    return program.clone(mapping), mapping


def descended(value: Value, program: Program) -> Value:
    """What a value of an ancestor has become in a program.

    The value itself where it is no ancestor's, or where nothing is left of it.
    """
    found = None if is_absent(value) else _inherited(value, program)
    return value if found is None else found


def counterpart(value: Value, program: Program) -> Value | None:
    """The value of a program that stands for one of it, of an ancestor, or of another copy of an ancestor.

    None where there is none. A value whose program is gone may be given too.
    """
    if is_absent(value):
        return None
    if _holds(program, value):
        return value
    found = _inherited(value, program)
    return _of_sibling(value, program) if found is None else found


# Of a value whose program is gone nothing but its id may be asked: all else would end the process.


def _inherited(value: Value, program: Program) -> Value | None:
    known = (origin.names[value.id] for origin in _origins(program) if value.id in origin.names)
    name = next(known, None)
    return None if name is None else named_value(program, name)


def _of_sibling(value: Value, program: Program) -> Value | None:
    """What has the same name in a program with a common ancestor, and has it from there."""
    for sibling in list(getattr(program, _FAMILY, ())):
        if sibling is not program and _holds(sibling, value):
            name = name_of(value)
            shared = {id(o.program): o for o in _origins(sibling)}
            pairs = ((o, shared.get(id(o.program))) for o in _origins(program))
            common = next(((mine, its) for mine, its in pairs if its is not None), None)
            if common and all(name in origin.names.values() for origin in common):
                return named_value(program, str(name))
    return None


def _holds(program: Program, value: Value) -> bool:
    results = (found for op in program.global_block().ops for found in op.results())
    return any(found.is_same(value) for found in results)


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
