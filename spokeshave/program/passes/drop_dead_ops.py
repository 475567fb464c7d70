"""Ops whose results nobody reads."""

from __future__ import annotations

from collections.abc import Iterable

from spokeshave.graph import GraphView, Node
from spokeshave.graph.view import INNER
from spokeshave.ops.effects import ASSIGN_VALUE, is_pure
from spokeshave.program.rewriting import Editor, Found, Pass
from spokeshave.report import Reason


class DropDeadOps(Pass):
    """Ops go that no output needs, with the weights that only they read.

    ## What is left alone
    An op that does more than give a result: one that writes into an operand, draws at random, prints, loops
    or branches, or is not Paddle's own, so that nobody knows what it does; and all that these read. A value
    that a script fetches and the model does not name as an output is nobody's: name it to keep it.
    """

    name = "drop-dead-ops"

    def places(self, view: GraphView) -> Iterable[Found]:
        # From the last op to the first, so that a reader goes before what it reads.
        needed = {value for _, value in view.outputs}
        for node in reversed(view.nodes):
            is_needed = any(value in needed for _, value in node.outputs)
            if not is_needed:
                yield Found.at(view, node)
            if is_needed or not _may_go(view, node):
                needed.update(value for _, value in node.inputs)

    def check(self, found: Found) -> Reason | None:
        if not _may_go(found.view, found.node):
            return found.declined("has-effects", found.node, "it may do more than give a result")
        return None

    def apply(self, found: Found, editor: Editor) -> None:
        editor.erase(found.node)


def _may_go(view: GraphView, node: Node) -> bool:
    """Whether nothing is lost with a node whose results nobody reads."""
    if node.op != ASSIGN_VALUE:
        return is_pure(node.op, node.attrs)
    # Paddle writes a constant of many numbers over a fresh tensor, which nobody else reads.
    place = node.operand("output") or ""
    is_fresh = view.value(place).kind == INNER and not view.is_output(place)
    return is_fresh and view.readers(place) == (node,)
