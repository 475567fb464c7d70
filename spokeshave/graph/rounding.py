"""The two forms that rounding takes in a program, recognised by structure alone."""

from __future__ import annotations

from dataclasses import dataclass

from spokeshave.graph.pattern import Match, Step, match
from spokeshave.graph.view import GraphView, Node

ROUNDING = (
    Step("divide", ("pd_op.divide",), "x"),
    Step("round", ("pd_op.round",), "x"),
    Step("clip", ("pd_op.clip",), "x"),
    Step("multiply", ("pd_op.multiply",)),
)
# A bias is rounded to the integers of an int32 sum, which nothing clips.
BIAS_ROUNDING = (
    Step("divide", ("pd_op.divide",), "x"),
    Step("round", ("pd_op.round",), "x"),
    Step("multiply", ("pd_op.multiply",)),
)
UNPACKING = (Step("cast", ("pd_op.cast",), "x"), Step("multiply", ("pd_op.multiply",)))


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


def _rounded_by(view: GraphView, steps: tuple[Step, ...]) -> tuple[Rounding, ...]:
    found = []
    for chain in match(view, steps):
        value, scale = chain["divide"].operand("x"), _factor(chain["multiply"])
        if value is not None and scale is not None and chain["divide"].operand("y") == scale:
            found.append(Rounding(value, scale, chain))
    return tuple(found)


def unpackings(view: GraphView) -> tuple[Unpacking, ...]:
    """All weights that are stored as integers, in order."""
    found = []
    for chain in match(view, UNPACKING):
        integers, scale = chain["cast"].operand("x"), _factor(chain["multiply"])
        if integers is not None and scale is not None and view.is_parameter(integers):
            found.append(Unpacking(integers, scale, chain))
    return tuple(found)


def _factor(multiply: Node) -> str | None:
    return multiply.operand("y")
