"""A view as text, one line a node, and what differs between two of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from spokeshave.graph.view import GraphView, Node

SHOWN_ITEMS = 8


def to_text(view: GraphView) -> str:
    """Inputs, outputs and parameters, then a line for each node in order.

    A line such as `relu_0 = relu(conv2d_0) -> float32[-1,6,28,28]`: a node's name stands for its first
    result. Attributes with more than eight items are cut short; `diff` compares them whole.
    """
    return "\n".join(_lines(view, is_whole=False))


def diff(before: GraphView, after: GraphView) -> str:
    """The lines that went (`-`) and came (`+`), with operands by name; empty when the views are equal."""
    old, new = _lines(before, is_whole=True), _lines(after, is_whole=True)
    changes = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    return "\n".join(line for line in changes if not line.startswith("@@"))


def _lines(view: GraphView, is_whole: bool) -> list[str]:
    called = _short_names(view)
    return [
        *(f"input {name}: {_kind(view, name)}" for name in view.inputs),
        *(f"output {name} = {called.get(value, value)}" for name, value in view.outputs),
        *(f"parameter {value.id}: {_kind(view, value.id)}" for value in view.parameters),
        *(_line(view, node, called, is_whole) for node in view.nodes),
    ]


def _short_names(view: GraphView) -> dict[str, str]:
    """First results by the name of their node, unless a value has that name too."""
    return {node.out: node.id for node in view.nodes if node.outputs and node.id not in view.values}


def _line(view: GraphView, node: Node, called: Mapping[str, str], is_whole: bool) -> str:
    operands = ((f"{name}=" if is_whole else "") + called.get(value, value) for name, value in node.inputs)
    op = node.op if is_whole else node.op.rsplit(".", 1)[-1]
    parts = [
        f"{node.id} = {op}({', '.join(operands)})",
        *(f"{name}={_show(value, is_whole)}" for name, value in sorted(node.attrs.items())),
        _results(view, node, is_whole),
        f"@ {node.scope}" if node.scope else "",
    ]
    return " ".join(part for part in parts if part)


def _results(view: GraphView, node: Node, is_whole: bool) -> str:
    has_names = len(node.outputs) > 1 or is_whole
    kinds = ((f"{name} " if has_names else "") + _kind(view, value) for name, value in node.outputs)
    return "-> " + ", ".join(kinds) if node.outputs else ""


def _kind(view: GraphView, value_id: str) -> str:
    value = view.values.get(value_id)
    return "?" if value is None else f"{value.dtype}[{','.join(map(str, value.shape))}]"


def _show(value: Any, is_whole: bool) -> str:
    if is_whole:
        return repr(value)
    if isinstance(value, (list, tuple)):
        more = ",…" if len(value) > SHOWN_ITEMS else ""
        return f"({','.join(_show(item, is_whole) for item in value[:SHOWN_ITEMS])}{more})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
