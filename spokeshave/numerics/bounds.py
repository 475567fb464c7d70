"""From what was seen of values to the scales and zero points that cover it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spokeshave.errors.numerics import AxisOutOfRange, BoundNotUsable, RangeNotUsable
from spokeshave.numerics.affine import SMALLEST_SCALE, Affine, Floats
from spokeshave.numerics.grid import Grid


def magnitude(x: npt.ArrayLike, axis: int | None = None) -> Floats:
    """The largest magnitude: one number, or one for each channel of `axis` (which may count from the end).

    0 where there are no values; NaN and infinity come through, for whoever takes a scale to refuse.
    Makes no copy of a float32 array.
    """
    with np.errstate(over="ignore"):
        values = np.asarray(x, dtype=np.float32)
    others = None if axis is None else _all_but(axis, values.ndim)
    highest = values.max(axis=others, initial=0)
    lowest = values.min(axis=others, initial=0)
    return np.asarray(np.maximum(np.abs(highest), np.abs(lowest)))


def symmetric(
    bound: float | npt.ArrayLike, grid: Grid, axis: int | None = None
) -> tuple[Affine, tuple[int, ...]]:
    """The scales whose highest code stands for `bound`, zero points 0; and the channels that have no range.

    `bound` is one magnitude, or one per channel of `axis`. A channel whose bound is 0, or so small that its
    scale would leave float32's normal range, gets the scale 1.0 and is in the second result: its values
    all become 0, and whoever writes the report owes a `Reason`.

    >>> symmetric(2.54, Grid(8, signed=True, narrow=True))[0].scale
    (0.019999999552965164,)
    """
    scales = _scales(_bounds(bound), grid.high)
    without_range = tuple(int(i) for i in np.flatnonzero(scales < SMALLEST_SCALE))
    scales[scales < SMALLEST_SCALE] = 1.0
    return Affine(tuple(scales.tolist()), (0,) * len(scales), grid, axis), without_range


def asymmetric(low: float, high: float, grid: Grid) -> Affine:
    """The scale and zero point that spread a grid over a range, which is widened to hold 0.

    The zero point is an integer, so that 0.0 is exact; for that the range may shift by up to half a step.
    A range of no width, or so small that its scale would leave float32's normal range, gets the scale 1.0.

    >>> asymmetric(0.0, 255.0, Grid(8, signed=False))
    Affine(scale=(1.0,), zero=(0,), grid=Grid(bits=8, signed=False, narrow=False), axis=None)
    """
    lowest, highest = _range(low, high)
    # In float64, where the width of a range never overflows.
    scale = float(np.float32((highest - lowest) / (grid.high - grid.low)))
    if scale < SMALLEST_SCALE:
        return Affine((1.0,), (0,), grid)
    zero = round(grid.low - lowest / scale)
    return Affine((scale,), (min(max(zero, grid.low), grid.high),), grid)


def _scales(bounds: Floats, high: int) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        scales = bounds / np.float32(high)
        # At the end of float32, where attention masks live, a scale that was rounded up decodes to infinity.
        return np.where(np.isinf(scales * np.float32(high)), np.nextafter(scales, np.float32(0)), scales)


def _bounds(bound: float | npt.ArrayLike) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        bounds = np.atleast_1d(np.array(bound, dtype=np.float32))
    if bounds.ndim > 1:
        raise AxisOutOfRange(axis=bounds.ndim - 1, rank="the 1")
    for channel in np.flatnonzero(~(np.isfinite(bounds) & (bounds >= 0))):
        raise BoundNotUsable(bound=float(bounds[channel]), channel=int(channel))
    return bounds


def _range(low: float, high: float) -> tuple[float, float]:
    with np.errstate(over="ignore", under="ignore"):
        ends = float(np.float32(low)), float(np.float32(high))
    if not np.isfinite(ends).all() or low > high:
        raise RangeNotUsable(low=float(low), high=float(high))
    return min(ends[0], 0.0), max(ends[1], 0.0)


def _all_but(axis: int, rank: int) -> tuple[int, ...]:
    if not -rank <= axis < rank:
        raise AxisOutOfRange(axis=axis, rank=str(rank))
    return tuple(i for i in range(rank) if i != axis % rank)
