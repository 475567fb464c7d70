"""Every test looks at something."""

from __future__ import annotations

import ast
from pathlib import Path

from walking import Module, called, modules


def violations(root: Path) -> list[str]:
    """Test functions without an assert, a `raises` or `warns`, or a call of `check_...` or `assert_...`."""
    return [
        f"{module.at(node)}: {node.name} checks nothing"
        for module in modules(root, "tests")
        for node in _test_functions(module)
        if not any(_is_check(inner) for inner in ast.walk(node))
    ]


def _test_functions(module: Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = [n for n in ast.walk(module.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [node for node in functions if node.name.startswith("test_")]


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in ("raises", "warns") or called(node).startswith(("check_", "assert_"))
    return isinstance(node, ast.Assert)
