"""What the house rules share: modules as syntax trees, the map, planted repositories, a readable failure."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Union

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "spokeshave"
Definition = Union[ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef]


@dataclass(frozen=True)
class Module:
    """A Python file: its dotted name, where it lies below the root, and its syntax tree."""

    name: str
    file: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.file.endswith("__init__.py")

    @property
    def is_public(self) -> bool:
        return not any(part.startswith("_") for part in self.name.split("."))

    @property
    def room(self) -> str:
        """The part of the package it lies in; the package itself is the room of its own `__init__`."""
        return self.name.split(".")[1] if "." in self.name else PACKAGE

    def at(self, node: ast.AST) -> str:
        """`file:line` of a node, as the start of a violation."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}"


@dataclass(frozen=True)
class Import:
    """A module, or a name in a module, that an import statement names; `bound` is what it is called here."""

    target: str
    bound: str
    level: int
    node: ast.AST


@dataclass(frozen=True)
class Map:
    """Which room may import which, which may name Paddle and its internals, which need no framework."""

    imports: dict[str, list[str]]
    paddle: list[str]
    paddle_internals: list[str]
    light: list[str]


def modules(root: Path, folder: str = PACKAGE) -> list[Module]:
    """Every Python file below a folder of the repository."""
    return [_module(root, path) for path in sorted((root / folder).rglob("*.py"))]


def load_map(root: Path) -> Map:
    """The table of `docs/map.json`."""
    return Map(**json.loads((root / "docs/map.json").read_text("utf-8")))


def imports(module: Module) -> Iterator[Import]:
    """All imports of a module, at any depth, `import_module("…")` with a written name among them."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (_plain_import(node, name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield Import(f"{node.module}.{name.name}", name.asname or name.name, node.level, node)
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            yield from (Import(text_of(a), "", 0, node) for a in node.args[:1] if text_of(a))


def called(node: ast.Call) -> str:
    """The last part of the name that a call calls: `raises` for `pytest.raises(…)`."""
    return last_name(node.func)


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name, or nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """A chain of names and attributes as text, or nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        front = dotted(node.value)
        return f"{front}.{node.attr}" if front else ""
    return node.id if isinstance(node, ast.Name) else ""


def text_of(node: ast.AST | None) -> str:
    """The string that a literal holds, or nothing for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def exports(module: Module) -> list[str]:
    """The names in `__all__`."""
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(last_name(target) == "__all__" for target in targets):
            return [text_of(inner) for inner in ast.walk(node) if text_of(inner)]
    return []


def definitions(module: Module) -> dict[str, Definition]:
    """The classes and functions at the top level of a module."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in module.tree.body if isinstance(node, kinds)}


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """A small repository below `root`, for a rule to find fault with."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def check_none(found: list[str]) -> None:
    """Fails with the whole list when a rule found anything."""
    assert not found, f"{len(found)} violations:\n" + "\n".join(f"  {line}" for line in found)


def check_reports(found: list[str], *parts: str) -> None:
    """Fails unless exactly one violation holds all the parts of text."""
    matching = [line for line in found if all(part in line for part in parts)]
    assert len(matching) == 1, f"wanted one violation with {parts}, found {found}"


def _module(root: Path, path: Path) -> Module:
    file = path.relative_to(root).as_posix()
    name = file[: -len(".py")].replace("/", ".")
    name = name[: -len(".__init__")] if name.endswith(".__init__") else name
    return Module(name, file, _tree(path.read_text("utf-8"), file))


@cache
def _tree(text: str, file: str) -> ast.Module:
    return ast.parse(text, file)


def _plain_import(node: ast.Import, name: ast.alias) -> Import:
    return Import(name.name, name.asname or name.name.split(".")[0], 0, node)
