"""The columns of the op table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Attrs = Mapping[str, Any]
Shape = tuple[int, ...]


class ChannelFlow(Enum):
    """What an op does to channels on their way through."""

    MIXES = "mixes"  # every channel of the result depends on every channel of the operand, or of its group
    KEEPS = "keeps"  # channel i of the result depends on channel i of each data operand alone
    RESHAPES = "reshapes"  # values move to other places, none is changed
    MAKES = "makes"  # no operand carries channels: a constant
    REDUCES = "reduces"  # the channels of the operand end here (a loss, a mean over all axes)


class Sign(Enum):
    """What is known of the sign of a result before any data is seen."""

    ANY = "any"
    NONNEGATIVE = "nonnegative"
    AS_INPUTS = "as-inputs"  # nonnegative when all data operands are


@dataclass(frozen=True)
class Axis:
    """Along which axes of a weight the output and the input channels lie."""

    out: int
    into: int


@dataclass(frozen=True)
class OpFacts:
    """What is true of an op, whoever asks. Facts that hang on attributes are functions of them.

    `data` names the operands that carry values through (an operand that takes a list is `x.0`, `x.1` … in a
    view); `weight` the one that may be a weight; `channel_axis(attrs, rank)` is where the channels of a
    result of that rank lie, and those of the operand unless the op moves axes; `macs(attrs, shapes)` takes
    the shapes of operands and results by name. `passes_values` says that every result is a value of its one
    data operand (or the zero that pads them), so that both have the same range.
    """

    name: str
    doc: str
    flow: ChannelFlow
    data: tuple[str, ...] = ("x",)
    weight: str | None = None
    weight_axis: Callable[[Attrs], Axis] | None = None
    channel_axis: Callable[[Attrs, int], int] = lambda attrs, rank: 1
    macs: Callable[[Attrs, Mapping[str, Shape]], int] = lambda attrs, shapes: 0
    sign: Sign = Sign.ANY
    passes_values: Callable[[Attrs], bool] = lambda attrs: False
    is_activation: bool = False  # engines fuse it into the op before it

    def out_axis(self, attrs: Attrs) -> int | None:
        """The axis of the weight along which the output channels lie; None for an op without a weight."""
        return self.weight_axis(attrs).out if self.weight_axis is not None else None
