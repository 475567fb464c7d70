"""Public names say what they promise, and no file hides behind the function it exports."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from walking import Definition, Module, definitions, exports, imports, modules, text_of

Found = Mapping[str, Module]


def violations(root: Path) -> list[str]:
    """Public names without a docstring, modules without their line, functions that hide a module."""
    found = {module.name: module for module in modules(root)}
    lines = [line for module in found.values() for line in _of_module(module, found)]
    return list(dict.fromkeys(lines))


def _of_module(module: Module, found: Found) -> list[str]:
    return [*_own_line(module), *_definitions(module), *_exports(module, found)]


def _own_line(module: Module) -> list[str]:
    first, *rest = (ast.get_docstring(module.tree) or "").splitlines() or [""]
    stands_alone = first.endswith(".") and not any(rest[:1])
    return (
        []
        if stands_alone
        else [f"{module.file}: its docstring must open with a line that says what it is for"]
    )


def _definitions(module: Module) -> list[str]:
    public = [node for name, node in definitions(module).items() if not name.startswith("_")]
    return [line for node in public if module.is_public for line in _undocumented(module, node)]


def _undocumented(module: Module, node: Definition) -> list[str]:
    return [] if ast.get_docstring(node) else [f"{module.at(node)}: {node.name} has no docstring"]


def _exports(module: Module, found: Found) -> list[str]:
    lines: list[str] = []
    for name in exports(module):
        home, node = _defined(module, name, found)
        if home is None:
            lines.append(f"{module.file}: exports {name}, which it does not have")
        elif node is not None:
            lines += _undocumented(home, node) + _hidden(module, name, node, found)
    return lines


def _hidden(module: Module, name: str, node: Definition, found: Found) -> list[str]:
    if not module.is_package or f"{module.name}.{name}" not in found or isinstance(node, ast.ClassDef):
        return []
    return [f"{module.file}: the function {name} hides the module {module.name}.{name}; rename one"]


def _defined(module: Module, name: str, found: Found) -> tuple[Module | None, Definition | None]:
    """Where a name of a module is defined, through imports and lazy homes; its node if it has a docstring."""
    if name in definitions(module):
        return module, definitions(module)[name]
    for home, inner in _homes(module, name):
        if home in found and home != module.name:
            return _defined(found[home], inner, found)
        if f"{home}.{inner}" in found or home.split(".")[0] != module.name.split(".")[0]:
            return module, None
    return (module, None) if name in _assigned(module) else (None, None)


def _homes(module: Module, name: str) -> list[tuple[str, str]]:
    targets = [item.target for item in imports(module) if item.bound == name]
    return [(home, inner) for home, _, inner in (t.rpartition(".") for t in targets)] + _lazy(module, name)


def _lazy(module: Module, name: str) -> list[tuple[str, str]]:
    """The module that a table of lazily loaded names gives as the home of a name."""
    tables = [node for node in ast.walk(module.tree) if isinstance(node, ast.Dict)]
    pairs = [pair for table in tables for pair in zip(table.keys, table.values)]
    return [(text_of(home), name) for key, home in pairs if text_of(key) == name and text_of(home)]


def _assigned(module: Module) -> set[str]:
    names = [node for node in ast.walk(module.tree) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}
