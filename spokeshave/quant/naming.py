"""Names for what a site keeps in a scope."""

from __future__ import annotations

from spokeshave.graph import GraphView
from spokeshave.ops import OPS
from spokeshave.quant.sites import Site


def tensor_prefix(view: GraphView, site: Site) -> str:
    """What the names of a site's tensors begin with: the weight it serves and the operand, if it serves one.

    A training program and its test program have the names of weights in common, and two models in one scope
    do not; the names of inner values count up anew in every program.
    """
    if site.is_weight:
        return site.value
    node = view.node(site.node)
    facts = OPS.get(node.op)
    weight = node.operand(facts.weight) if facts is not None and facts.weight else None
    return f"{weight}.{site.operand}" if weight and view.is_parameter(weight) else site.id
