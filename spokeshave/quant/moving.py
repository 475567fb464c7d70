"""Which values are others at another place: moved, picked out or surrounded by zeros, but not computed."""

from __future__ import annotations

from collections.abc import Iterator

from spokeshave.graph import GraphView, Node
from spokeshave.ops import OPS, shape


def unchanged_source(view: GraphView, value: str) -> str | None:
    """The value whose numbers come out here, moved at most; None where they are computed, or of several."""
    maker = view.maker(value)
    facts = OPS.get(maker.op) if maker is not None else None
    if maker is None or facts is None or len(facts.data) != 1:
        return None
    passes = facts.passes_values(maker.attrs) or _adds_only_zeros(view, maker)
    return maker.operand(facts.data[0]) if passes else None


def unchanged_sources(view: GraphView, value: str) -> Iterator[str]:
    """All values whose numbers come out here, the nearest first."""
    source = unchanged_source(view, value)
    while source is not None:
        yield source
        source = unchanged_source(view, source)


def _adds_only_zeros(view: GraphView, node: Node) -> bool:
    """Whether a node pads with zeros, which every grid holds, or with what it was given."""
    if node.op == shape.PAD3D.name:
        return bool(node.attrs["mode"] != "constant" or node.attrs["pad_value"] == 0)
    filling = view.maker(node.operand("pad_value") or "") if node.op == shape.PAD.name else None
    return filling is not None and filling.op == shape.FULL.name and filling.attrs["value"] == 0
