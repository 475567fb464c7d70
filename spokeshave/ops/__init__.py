"""Facts about operators, one row each; whoever decides something reads them here."""

from spokeshave.ops._facts import (
    Attrs,
    Axis,
    ChannelFlow,
    OldOp,
    OnCodes,
    OpFacts,
    Shape,
    Sign,
)
from spokeshave.registry import Shelf, instances

OPS: Shelf[OpFacts] = Shelf("op", "spokeshave.ops", instances(OpFacts))

__all__ = ["OPS", "Attrs", "Axis", "ChannelFlow", "OldOp", "OnCodes", "OpFacts", "Shape", "Sign"]
