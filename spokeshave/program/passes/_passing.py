"""Letting a value pass in place of an op's result that equals it."""

from __future__ import annotations

from spokeshave.graph import Node
from spokeshave.graph.view import INNER
from spokeshave.program.passes._constants import is_overwritten
from spokeshave.program.rewriting import Editor, Found
from spokeshave.report import Reason


def reason_to_stay(found: Found, node: Node, value_id: str) -> Reason | None:
    """Why a value must not pass in place of the first result of a node that equals it, or None."""
    view = found.view
    if is_overwritten(view, node.out) or is_overwritten(view, value_id):
        text = "another op writes, or may write, over what it reads or makes"
        return found.declined("written-over", node, text)
    # An output that is an input, a weight or another output would be one tensor under two names.
    is_free = view.value(value_id).kind == INNER and not view.is_output(value_id)
    if view.is_output(node.out) and not is_free:
        return found.declined("names-an-output", node, "the model hands out its result, and what it equals")
    return None


def let_pass(node: Node, holder: Node, operand: str, editor: Editor) -> None:
    """Lets all read what `holder` reads at an operand in place of the first result of a node, which goes."""
    editor.rewire(node.out, editor.source(holder, operand))
    editor.erase(node)
