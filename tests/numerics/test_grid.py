"""Grids of integers."""

from __future__ import annotations

import numpy as np
import pytest

from spokeshave.errors.numerics import BitsOutOfRange, NarrowNeedsSign
from spokeshave.numerics import INT8, INT8_NARROW, UINT8, Grid


@pytest.mark.parametrize(
    ("grid", "low", "high", "levels", "dtype", "words"),
    [
        (INT8, -128, 127, 256, np.int8, "int8 [-128, 127]"),
        (INT8_NARROW, -127, 127, 255, np.int8, "int8 [-127, 127]"),
        (UINT8, 0, 255, 256, np.uint8, "uint8 [0, 255]"),
        (Grid(2, signed=True), -2, 1, 4, np.int8, "int2 [-2, 1]"),
        (Grid(4, signed=True, narrow=True), -7, 7, 15, np.int8, "int4 [-7, 7]"),
        (Grid(9, signed=True), -256, 255, 512, np.int16, "int9 [-256, 255]"),
        (Grid(16, signed=False), 0, 65535, 65536, np.uint16, "uint16 [0, 65535]"),
    ],
)
def test_a_grid_has_these_ends(
    grid: Grid, low: int, high: int, levels: int, dtype: type[np.integer], words: str
) -> None:
    assert (grid.low, grid.high, grid.levels, grid.describe()) == (low, high, levels, words)
    assert grid.dtype == np.dtype(dtype)


@pytest.mark.parametrize("bits", range(2, 17))
@pytest.mark.parametrize(("signed", "narrow"), [(True, False), (True, True), (False, False)])
def test_the_storage_type_holds_every_code_and_is_the_smallest(bits: int, signed: bool, narrow: bool) -> None:
    grid = Grid(bits, signed, narrow)
    held = np.iinfo(grid.dtype)
    assert held.min <= grid.low < grid.high <= held.max
    assert grid.dtype.itemsize == (1 if bits <= 8 else 2)


@pytest.mark.parametrize("bits", [-8, 0, 1, 17, 32])
def test_other_numbers_of_bits_are_refused(bits: int) -> None:
    with pytest.raises(BitsOutOfRange, match=str(bits)):
        Grid(bits, signed=True)


def test_an_unsigned_grid_is_never_narrow() -> None:
    with pytest.raises(NarrowNeedsSign):
        Grid(8, signed=False, narrow=True)
