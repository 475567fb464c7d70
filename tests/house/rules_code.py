"""What the package never does: print, exit, assert, swallow everything, leave a wish in a comment."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from walking import Module, dotted, modules

DOOR_ONLY = {"print", "sys.exit", "exit", "quit"}
WISHES = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def violations(root: Path) -> list[str]:
    """Forbidden statements and words in the package."""
    found = modules(root)
    statements = [line for m in found for node in ast.walk(m.tree) for line in _forbidden(m, node)]
    return statements + [line for m in found for line in _wishes(m.file, (root / m.file).read_text("utf-8"))]


def _forbidden(module: Module, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assert):
        return [f"{module.at(node)}: assert; raise an error with its facts"]
    if isinstance(node, ast.ExceptHandler) and node.type is None:
        return [f"{module.at(node)}: bare except; name what may fail"]
    if isinstance(node, ast.Call) and dotted(node.func) in DOOR_ONLY and module.room != "cli":
        return [f"{module.at(node)}: {dotted(node.func)}() belongs to the command line"]
    return []


def _wishes(file: str, text: str) -> list[str]:
    lines = enumerate(text.splitlines(), 1)
    return [
        f"{file}:{n}: {word} is a wish, not a comment" for n, line in lines for word in WISHES.findall(line)
    ]
