"""What programs and their blocks could be asked for."""

from __future__ import annotations

from typing import Any

from spokeshave.compat._patch import Patch
from spokeshave.errors.compat import NoSuchVar
from spokeshave.program.roles import training_ops
from spokeshave.registry import nearest
from spokeshave.seams import (
    BLOCK,
    PROGRAM,
    Program,
    Value,
    building,
    clone,
    erase,
    is_absent,
    name_all,
    named_values,
    set_test_mode,
)


def _clone(original: Any) -> Any:
    def copied(program: Program, *mapping: Any, for_test: bool = False) -> Program:
        if mapping and not isinstance(mapping[0], bool):
            return original(program, *mapping)
        # Names are made before there are two, so that whoever asks later gets the same of both.
        name_all(program)
        copy, _ = clone(program)
        if for_test or (mapping and mapping[0]):
            with building(copy):
                for op in reversed(training_ops(copy)):
                    erase(op)
            set_test_mode(copy)
        return copy

    return copied


def _all_parameters(_: Any) -> Any:
    return lambda program: program.global_block().all_parameters()


def _list_vars(original: Any) -> Any:
    """Without results that are not there, such as the gradient of an input: they have no name to ask for."""
    return lambda program: [value for value in original(program) if not is_absent(value)]


def _vars(_: Any) -> Any:
    return property(_values, doc="The values of the block, by name.")


def _var(_: Any) -> Any:
    def var(block: Any, name: str) -> Value:
        values = _values(block)
        if name not in values:
            raise NoSuchVar(name=name, nearest=nearest(name, values))
        return values[name]

    return var


def _has_var(_: Any) -> Any:
    return lambda block, name: name in _values(block)


def _values(block: Any) -> dict[str, Value]:
    name_all(block.program)
    return named_values(block.program)


PATCHES = (
    Patch(PROGRAM, "clone", _clone),
    Patch(PROGRAM, "all_parameters", _all_parameters),
    Patch(PROGRAM, "list_vars", _list_vars),
    Patch(BLOCK, "var", _var),
    Patch(BLOCK, "has_var", _has_var),
    Patch(BLOCK, "vars", _vars),
)
