"""Names for what a site keeps in a scope."""

from __future__ import annotations

import hashlib

from spokeshave.graph import GraphView, Node
from spokeshave.ops import OPS
from spokeshave.quant.sites import Site


def tensor_prefix(view: GraphView, site: Site) -> str:
    """What the names of a site's tensors begin with: the weight it serves and the operand, if it serves one.

    A training program and its test program have the names of weights in common, and two models in one scope
    do not; the names of inner values count up anew in every program. Where several nodes work with one
    weight, their place among them tells their sites apart. Where a node has none, as a sum, the id of the
    value is told from that of another model by the weights that it comes from.
    """
    if site.is_weight:
        return site.value
    node = view.node(site.node)
    weight = _weight_of(view, node)
    if weight is None:
        return f"{site.id}.{_origin(view, site.value)}"
    users = [n.id for n in view.readers(weight) if _weight_of(view, n) == weight]
    place = f".{users.index(node.id)}" if len(users) > 1 else ""
    return f"{weight}.{site.operand}{place}"


def _weight_of(view: GraphView, node: Node) -> str | None:
    facts = OPS.get(node.op)
    weight = node.operand(facts.weight) if facts is not None and facts.weight else None
    return weight if view.is_parameter(weight) else None


def _origin(view: GraphView, value: str) -> str:
    """A digest of the parameters that a value comes from; of all there are, where it comes from none."""
    waiting, seen = [value], {value}
    while waiting:
        maker = view.maker(waiting.pop())
        before = [v for _, v in maker.inputs if v not in seen] if maker is not None else []
        waiting += before
        seen.update(before)
    own = [p.id for p in view.parameters if p.id in seen] or [p.id for p in view.parameters]
    return hashlib.sha256("\n".join(sorted(own)).encode()).hexdigest()[:12]
