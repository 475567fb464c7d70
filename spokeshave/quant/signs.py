"""Which values can never be below zero, known from the graph alone."""

from __future__ import annotations

from spokeshave.graph import GraphView, Node
from spokeshave.ops import OPS, Sign
from spokeshave.quant.moving import unchanged_source


def nonnegative_values(view: GraphView) -> frozenset[str]:
    """The ids of all values that are at least zero whatever goes in; inputs and parameters may be any."""
    known: set[str] = set()
    for node in view.nodes:
        if _is_nonnegative(view, node, known):
            known.update(value for _, value in node.outputs)
    return frozenset(known)


def _is_nonnegative(view: GraphView, node: Node, known: set[str]) -> bool:
    facts = OPS.get(node.op)
    if node.outputs and unchanged_source(view, node.out) in known:
        return True
    if facts is None or facts.sign is Sign.ANY:
        return False
    if facts.sign is Sign.NONNEGATIVE:
        return True
    operands = [value for name in facts.data for value in node.operands(name)]
    return bool(operands) and all(value in known for value in operands)
