"""The columns of the op table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

Attrs = Mapping[str, Any]
Shape = tuple[int, ...]


class ChannelFlow(Enum):
    """What an op does to channels on their way through."""

    MIXES = "mixes"  # a channel of the result depends on every channel of the operand, or of its group
    KEEPS = "keeps"  # channel i of the result depends on channel i of each data operand alone
    RESHAPES = "reshapes"  # values move to other places, get lost or come out twice; none is changed
    MAKES = "makes"  # no operand carries channels: a constant, a table that is looked up
    REDUCES = "reduces"  # the channels of the operand end here (a loss, a mean over all axes)


class Sign(Enum):
    """What is known of the sign of a result before any data is seen."""

    ANY = "any"
    NONNEGATIVE = "nonnegative"
    AS_INPUTS = "as-inputs"  # nonnegative when all data operands are


class OnCodes(Enum):
    """What an op makes of integer codes in place of the numbers that they stand for.

    A code is a number divided by a scale and shifted by a zero point; rounding is left out of account.
    `MOVES`: each result is a value of a data operand, or zero, so codes that share scale and zero point go
    through as they are. `SCALES`: all data operands times one a > 0 give the result times a, so codes that
    share a scale go through where the zero point is zero. `MULTIPLIES`: a factor in any one data operand, or
    in one output channel of the weight, comes out as that factor, so each may have a scale of its own.
    `FLOATS`: none of these is promised.
    """

    MOVES = "moves"
    SCALES = "scales"
    MULTIPLIES = "multiplies"
    FLOATS = "floats"


@dataclass(frozen=True)
class Axis:
    """Along which axes of a weight the output and the input channels lie.

    With groups one of the two is as long as a single group, and its slice i belongs to channel i of each
    group: `into` of a convolution, `out` of a transposed one.
    """

    out: int
    into: int


@dataclass(frozen=True)
class OldOp:
    """What an op is called in the old format (ProgramDesc).

    `operands`, `results` and `attrs` give the names there for those here; `constants` are operands here and
    attributes there where they are constant, `computed` what they are called where they are not. `dtypes`
    names the attribute that tells the dtype of an operand there. `derived` gives attributes there that follow
    from those here, or that stand in for what is computed; a constant goes before them. What is in none of
    them has no counterpart. `scratch` are results that must be declared there and that nobody reads; `shares`
    names the operand whose variable a result must be written to.
    """

    type: str
    operands: Mapping[str, str] = field(default_factory=dict, hash=False)
    results: Mapping[str, str] = field(default_factory=lambda: {"out": "Out"}, hash=False)
    attrs: Mapping[str, str] = field(default_factory=dict, hash=False)
    constants: Mapping[str, str] = field(default_factory=dict, hash=False)
    computed: Mapping[str, str] = field(default_factory=dict, hash=False)
    scratch: tuple[str, ...] = ()
    shares: Mapping[str, str] = field(default_factory=dict, hash=False)
    dtypes: Mapping[str, str] = field(default_factory=dict, hash=False)
    derived: Callable[[Attrs], Mapping[str, Any]] = lambda attrs: {}


@dataclass(frozen=True)
class OpFacts:
    """What is true of an op, whoever asks. Facts that hang on attributes are functions of them.

    `data` names the operands that carry values through (an operand that takes a list, as `takes_list` says,
    is `x.0`, `x.1` … in a view); `weight` the one that may be a weight; `channel_axis(attrs, rank)` is where
    the channels of a result of that rank lie, and those of the operand unless the op moves axes;
    `macs(attrs, shapes)` takes the shapes of operands and results by name. `old` is None where the old format
    has no such op.
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
    on_codes: Callable[[Attrs], OnCodes] = lambda attrs: OnCodes.FLOATS
    takes_list: bool = False
    is_activation: bool = False  # engines fuse it into the op before it
    is_batch_norm: bool = False  # a scale and a shift per channel, made of mean, variance, scale and bias
    old: OldOp | None = None

    def out_axis(self, attrs: Attrs) -> int | None:
        """The axis of the weight along which the output channels lie; None for an op without a weight."""
        return self.weight_axis(attrs).out if self.weight_axis is not None else None

    def takes_integer_weight(self, attrs: Attrs) -> bool:
        """Whether the weight can be kept as codes: the scale of a channel comes out as a factor of it."""
        return self.weight is not None and self.on_codes(attrs) is OnCodes.MULTIPLIES

    def passes_values(self, attrs: Attrs) -> bool:
        """Whether every result is a value of the one data tensor, or zero, so that both have one range."""
        is_alone = len(self.data) == 1 and not self.takes_list
        return is_alone and self.on_codes(attrs) is OnCodes.MOVES


def moves(attrs: Attrs) -> OnCodes:
    """Whatever the attributes, values only move."""
    return OnCodes.MOVES


def scales(attrs: Attrs) -> OnCodes:
    """Whatever the attributes, a common factor goes through."""
    return OnCodes.SCALES


def multiplies(attrs: Attrs) -> OnCodes:
    """Whatever the attributes, a factor in any operand goes through."""
    return OnCodes.MULTIPLIES


def same(*names: str) -> dict[str, str]:
    """Attributes that are called the same in the old format."""
    return {name: name for name in names}


def unary(kind: str, *attrs: str, **renamed: str) -> OldOp:
    """An old op from `X` to `Out`, with attributes of the same names or renamed."""
    return OldOp(kind, {"x": "X"}, attrs={**same(*attrs), **renamed})


def binary(kind: str) -> OldOp:
    """An old op from `X` and `Y` to `Out`."""
    return OldOp(kind, {"x": "X", "y": "Y"})


def in_place(row: OpFacts, shares: Mapping[str, str]) -> OpFacts:
    """The form of an op that writes some results over operands; Paddle marks it with an underscore."""
    told = ", ".join(f"`{result}` over `{operand}`" for result, operand in shares.items())
    old = None if row.old is None else replace(row.old, shares=shares)
    return replace(row, name=f"{row.name}_", doc=f"{row.doc} Writes {told}.", old=old)
