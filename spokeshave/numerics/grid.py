"""Grids: the integers that codes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spokeshave.errors.numerics import BitsOutOfRange, NarrowNeedsSign

FEWEST_BITS, MOST_BITS = 2, 16


@dataclass(frozen=True)
class Grid:
    """The integers that `bits` bits can hold; a narrow grid leaves out the lowest, to be even about zero.

    >>> Grid(8, signed=True, narrow=True).describe()
    'int8 [-127, 127]'
    """

    bits: int
    signed: bool
    narrow: bool = False

    def __post_init__(self) -> None:
        if not FEWEST_BITS <= self.bits <= MOST_BITS:
            raise BitsOutOfRange(bits=self.bits)
        if self.narrow and not self.signed:
            raise NarrowNeedsSign(bits=self.bits)

    @property
    def low(self) -> int:
        """The lowest code."""
        return int(self.narrow) - (1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The highest code; for a signed grid also the largest magnitude that has a code on both sides."""
        return (1 << (self.bits - self.signed)) - 1

    @property
    def levels(self) -> int:
        """How many codes there are."""
        return self.high - self.low + 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type of NumPy's that holds the codes."""
        return np.dtype(f"{'int' if self.signed else 'uint'}{8 if self.bits <= 8 else 16}")

    def describe(self) -> str:
        """The grid in words, as `int8 [-128, 127]`."""
        return f"{'int' if self.signed else 'uint'}{self.bits} [{self.low}, {self.high}]"


INT8 = Grid(8, signed=True)
INT8_NARROW = Grid(8, signed=True, narrow=True)
UINT8 = Grid(8, signed=False)
