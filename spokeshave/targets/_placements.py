"""The parts of a target."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spokeshave.numerics import Grid

OUT = "out"


class Rule(Enum):
    """When a placement holds."""

    ALWAYS = "always"
    CONSTANT_WEIGHT = "constant-weight"  # the op's weight operand is a parameter
    BETWEEN_ACTIVATIONS = "between-activations"  # no operand is a parameter


@dataclass(frozen=True)
class Placement:
    """Where an engine wants a value rounded: an operand of an op, or `out`, what leaves its block.

    The block is the op with the bias and the activation that engines run as part of it. `grid` is for values
    of either sign; `nonnegative`, where given, for those known never to be below zero.
    """

    op: str
    operand: str
    grid: Grid
    rule: Rule = Rule.ALWAYS
    per_channel: bool = False
    nonnegative: Grid | None = None

    @property
    def is_output(self) -> bool:
        """Whether the placement is on what leaves the op."""
        return self.operand == OUT


@dataclass(frozen=True)
class Target:
    """An engine as the planner sees it."""

    name: str
    doc: str
    placements: tuple[Placement, ...]

    def of(self, op: str) -> tuple[Placement, ...]:
        """The placements of one op, in the order of the file."""
        return tuple(p for p in self.placements if p.op == op)
