"""Scales and zero points, and the one definition of what they do to numbers."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from spokeshave.errors.numerics import (
    AffineLengthsDiffer,
    AxisOutOfRange,
    ChannelsDiffer,
    ScaleNotUsable,
    ValuesNotFinite,
    ZeroOutsideGrid,
)
from spokeshave.numerics.grid import Grid

SMALLEST_SCALE = float(np.finfo(np.float32).tiny)

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[Any]


@dataclass(frozen=True)
class Affine:
    """Which real number each code of a grid stands for: `(code - zero) * scale`.

    One scale and zero point for all values, or one of each per channel along `axis`, which counts from 0.
    Scales are held as the nearest float32. Hashable; to JSON and back with msgspec without loss.

    >>> Affine((0.5,), (0,), Grid(8, signed=True)).scale
    (0.5,)
    """

    scale: tuple[float, ...]
    zero: tuple[int, ...]
    grid: Grid
    axis: Optional[int] = None  # noqa: UP045 - msgspec evaluates it, and Python 3.9 has no `int | None`

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", tuple(_usable(scale) for scale in self.scale))
        object.__setattr__(self, "zero", tuple(operator.index(zero) for zero in self.zero))
        _check(self)


def encode(x: npt.ArrayLike, affine: Affine) -> Codes:
    """The codes nearest to values: `clip(rint(x / scale) + zero, low, high)`, in float32, half to even.

    Infinities take the outermost codes, NaN is a `ValuesNotFinite`. Costs one float32 copy of `x`.
    """
    steps = _float32(x)
    scale, zero = _aligned(affine, steps.shape)
    with np.errstate(over="ignore"):  # a quotient beyond float32 is infinite, and takes the outermost code
        np.divide(steps, scale, out=steps)
    nan_count = int(np.count_nonzero(np.isnan(steps)))
    if nan_count:
        raise ValuesNotFinite(count=nan_count)
    # Exact where it matters: sums up to 2 ** 24 have no rounding, and larger ones are off the grid anyway.
    np.add(np.rint(steps, out=steps), zero.astype(np.float32), out=steps)
    return np.clip(steps, affine.grid.low, affine.grid.high, out=steps).astype(affine.grid.dtype)


def decode(codes: npt.ArrayLike, affine: Affine) -> Floats:
    """The numbers that codes stand for, as float32: `(codes - zero) * scale`. Beyond float32 is infinity."""
    steps = np.asarray(codes)
    scale, zero = _aligned(affine, steps.shape)
    with np.errstate(over="ignore"):
        return np.asarray((steps.astype(np.int32) - zero).astype(np.float32) * scale)


def snap(x: npt.ArrayLike, affine: Affine) -> Floats:
    """Values moved to the nearest numbers that have a code: `decode(encode(x))`."""
    return decode(encode(x, affine), affine)


def _usable(scale: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        nearest = float(np.float32(scale))
    if not SMALLEST_SCALE <= nearest < np.inf:
        raise ScaleNotUsable(scale=float(scale))
    return nearest


def _check(affine: Affine) -> None:
    scales, zeros = len(affine.scale), len(affine.zero)
    if scales != zeros or scales == 0 or (affine.axis is None and scales > 1):
        raise AffineLengthsDiffer(scales=scales, zeros=zeros, axis=str(affine.axis))
    if affine.axis is not None and affine.axis < 0:
        raise AxisOutOfRange(axis=affine.axis, rank="any number of")
    for zero in affine.zero:
        if not affine.grid.low <= zero <= affine.grid.high:
            raise ZeroOutsideGrid(zero=zero, grid=affine.grid.describe())


def _float32(x: npt.ArrayLike) -> Floats:
    with np.errstate(over="ignore"):
        return np.array(x, dtype=np.float32)


def _aligned(affine: Affine, shape: tuple[int, ...]) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Scales and zero points, shaped to go along their axis of an array."""
    scale, zero = np.array(affine.scale, np.float32), np.array(affine.zero, np.int32)
    if affine.axis is None:
        return scale.reshape(()), zero.reshape(())
    if affine.axis >= len(shape):
        raise AxisOutOfRange(axis=affine.axis, rank=str(len(shape)))
    if shape[affine.axis] != len(scale):
        raise ChannelsDiffer(axis=affine.axis, shape=str(shape), channels=len(scale))
    along = tuple(-1 if i == affine.axis else 1 for i in range(len(shape)))
    return scale.reshape(along), zero.reshape(along)
