"""The two forms that rounding takes in a program, recognised by structure alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spokeshave.graph.pattern import Match, Step, match
from spokeshave.graph.view import GraphView
from spokeshave.ops.elementwise import CLIP, DIVIDE, MULTIPLY, ROUND
from spokeshave.ops.shape import CAST

ROUNDING = (Step("divide", (DIVIDE.name,)), Step("round", (ROUND.name,)), Step("clip", (CLIP.name,)))
# A bias is rounded to the integers of an int32 sum, which nothing clips.
BIAS_ROUNDING = ROUNDING[:2]
UNPACKING = (Step("cast", (CAST.name,)),)


@dataclass(frozen=True)
class Rounding:
    """`multiply(clip(round(divide(value, scale)), low, high), scale)`: a value on a grid, in float."""

    value: str
    scale: str
    nodes: Match

    @property
    def out(self) -> str:
        """The rounded value."""
        return self.nodes["multiply"].out


@dataclass(frozen=True)
class Unpacking:
    """`multiply(cast(integers), scale)`: a weight that is stored as int8."""

    integers: str
    scale: str
    nodes: Match

    @property
    def out(self) -> str:
        """The weight in float."""
        return self.nodes["multiply"].out


def roundings(view: GraphView) -> tuple[Rounding, ...]:
    """All places where a value is rounded to a grid, in order."""
    return _rounded_by(view, ROUNDING)


def bias_roundings(view: GraphView) -> tuple[Rounding, ...]:
    """All parameters that are rounded to steps without an end, as a bias is, in order."""
    return tuple(r for r in _rounded_by(view, BIAS_ROUNDING) if view.is_parameter(r.value))


def unpackings(view: GraphView) -> tuple[Unpacking, ...]:
    """All weights that are stored as integers, in order."""
    found = []
    for chain, scale in _scaled(view, UNPACKING):
        integers = chain["cast"].operand("x")
        if integers is not None and view.is_parameter(integers):
            found.append(Unpacking(integers, scale, chain))
    return tuple(found)


def _rounded_by(view: GraphView, steps: tuple[Step, ...]) -> tuple[Rounding, ...]:
    found = []
    for chain, scale in _scaled(view, steps):
        value = chain["divide"].operand("x")
        if value is not None and chain["divide"].operand("y") == scale:
            found.append(Rounding(value, scale, chain))
    return tuple(found)


def _scaled(view: GraphView, steps: tuple[Step, ...]) -> list[tuple[Match, str]]:
    """Chains whose result is multiplied by something, in whichever order, with that something."""
    found = []
    for at, other in (("x", "y"), ("y", "x")):
        chain = (*steps[:-1], replace(steps[-1], operand=at), Step("multiply", (MULTIPLY.name,)))
        found += [(m, m["multiply"].operand(other) or "") for m in match(view, chain)]
    order = {node.id: i for i, node in enumerate(view.nodes)}
    return sorted(found, key=lambda pair: order[pair[0]["multiply"].id])
