"""Imports go down: which room may import which, and who may name Paddle."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from walking import PACKAGE, Import, Map, Module, dotted, imports, load_map, modules

INTERNALS = ("paddle.base", "paddle.pir", "paddle.core", "paddle.framework.core")


def violations(root: Path) -> list[str]:
    """Imports against the map, loops, relative imports, and Paddle outside the rooms that may name it."""
    table, found = load_map(root), modules(root)
    return [
        *_unmapped(found, table.imports),
        *_loop("the map", table.imports),
        *_loop("modules", _module_graph(found)),
        *(line for module in found for line in _of_module(module, table)),
    ]


def _of_module(module: Module, table: Map) -> list[str]:
    return [
        *_relative(module),
        *_upward(module, table.imports),
        *_paddle(module, table.paddle),
        *_internals(module, table.paddle_internals),
    ]


def _unmapped(found: list[Module], allowed: Mapping[str, list[str]]) -> list[str]:
    return [f"{PACKAGE}/{room}: is not on the map" for room in sorted({m.room for m in found} - set(allowed))]


def _loop(what: str, edges: Mapping[str, Iterable[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [f"{what}: a loop: {' <- '.join(error.args[1])}"]
    return []


def _module_graph(found: list[Module]) -> dict[str, set[str]]:
    names = {module.name for module in found}
    return {m.name: {_home(i.target, names) for i in imports(m)} - {m.name, ""} for m in found}


def _home(target: str, names: set[str]) -> str:
    """The module that a target lies in: the longest known start of its dotted name."""
    while target and target not in names:
        target = target.rpartition(".")[0]
    return target


def _relative(module: Module) -> list[str]:
    lines = {module.at(item.node) for item in imports(module) if item.level}
    return [f"{line}: relative import; write it in full" for line in sorted(lines)]


def _upward(module: Module, allowed: Mapping[str, list[str]]) -> list[str]:
    may = {module.room, *allowed.get(module.room, ())}
    reached = [(item, _room_of(item, allowed)) for item in imports(module) if not item.level]
    return [
        f"{module.at(item.node)}: {module.room} may not import {room}"
        for item, room in reached
        if room and room not in may
    ]


def _room_of(item: Import, allowed: Mapping[str, list[str]]) -> str:
    parts = item.target.split(".")
    if parts[0] != PACKAGE:
        return ""
    return parts[1] if len(parts) > 1 and parts[1] in allowed else PACKAGE


def _paddle(module: Module, rooms: Iterable[str]) -> list[str]:
    if _lies_in(module, rooms):
        return []
    named = [item for item in imports(module) if item.target.split(".")[0] == "paddle"]
    return [f"{module.at(item.node)}: may not import Paddle" for item in named]


def _internals(module: Module, rooms: Iterable[str]) -> list[str]:
    if _lies_in(module, rooms):
        return []
    targets = [(module.at(item.node), item.target) for item in imports(module)]
    found = {(line, _internal(name)) for line, name in [*targets, *_attributes(module)]}
    return [
        f"{line}: {name} is Paddle's own affair; put it into seams" for line, name in sorted(found) if name
    ]


def _lies_in(module: Module, rooms: Iterable[str]) -> bool:
    return any(f"{module.name}.".startswith(f"{PACKAGE}.{room}.") for room in rooms)


def _attributes(module: Module) -> list[tuple[str, str]]:
    """Every attribute chain that starts at an imported name, as (place, full dotted name)."""
    homes = {i.bound: i.bound if i.target.startswith(f"{i.bound}.") else i.target for i in imports(module)}
    chains = [(n, dotted(n).partition(".")) for n in ast.walk(module.tree) if isinstance(n, ast.Attribute)]
    return [
        (module.at(n), f"{homes[name]}.{rest}") for n, (name, _, rest) in chains if name in homes and rest
    ]


def _internal(name: str) -> str:
    """The shortest start of a dotted name that is internal to Paddle, or nothing."""
    parts = name.split(".")
    fronts = [".".join(parts[:n]) for n in range(2, len(parts) + 1)] if parts[0] == "paddle" else []
    return next((f for f in fronts if f in INTERNALS or _is_private(f.rpartition(".")[2])), "")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")
