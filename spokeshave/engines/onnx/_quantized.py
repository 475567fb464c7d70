"""The quantizers of a program, recognised by their structure.

An activation is `multiply(clip(round(divide(x, s)), lo, hi), s)`, a weight `multiply(cast(int8), s)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spokeshave.engines.onnx._constants import Array, Constants
from spokeshave.errors.engines import GridNotExportable, ScaleNotExportable
from spokeshave.graph import GraphView, Rounding, roundings, unpackings
from spokeshave.ops import shape

ZERO_OF_NARROW_GRID = 128


@dataclass(frozen=True, eq=False)
class FakeQuant:
    """An activation on a grid: `source` rounded to steps of `scale` between `lo` and `hi`.

    `axis` is the one along which scales differ, None where there is one scale.
    """

    source: str
    scale: Array
    scale_name: str
    axis: int | None
    lo: float
    hi: float
    divide: str
    multiply: str

    @property
    def zero(self) -> int:
        """The zero point under which uint8 holds this grid; the values it can hold only grow."""
        if self.hi - self.lo == 255 and self.lo <= 0 <= self.hi and self.lo.is_integer():
            return int(-self.lo)
        if (self.lo, self.hi) == (-127, 127):
            return ZERO_OF_NARROW_GRID
        raise GridNotExportable(node=self.multiply, lo=self.lo, hi=self.hi)


@dataclass(frozen=True, eq=False)
class IntWeight:
    """A weight stored as int8: `integers * scale`, the scale a number or one for each index of `axis`."""

    integers: Array
    name: str
    scale: Array
    scale_name: str
    axis: int | None
    multiply: str

    def moved(self, perm: tuple[int, ...]) -> IntWeight:
        """The same weight with its axes in another order."""
        axis = None if self.axis is None else perm.index(self.axis)
        integers = np.ascontiguousarray(self.integers.transpose(perm))
        return IntWeight(integers, self.name, self.scale, self.scale_name, axis, self.multiply)


class Quantizers:
    """The quantizers of a view, by the value that each makes, with the arrays behind them."""

    def __init__(self, view: GraphView, constants: Constants) -> None:
        self._view, self._constants = view, constants
        self._roundings = {found.out: found for found in roundings(view)}
        self._unpackings = {found.out: found for found in unpackings(view)}

    def fake_quant_at(self, value_id: str) -> FakeQuant | None:
        """The quantizer whose result is this value, if one stands there that does not depend on an input."""
        found = self._roundings.get(value_id)
        if found is None or not self._is_fixed(found):
            return None
        clip, multiply = found.nodes["clip"], found.nodes["multiply"]
        rank = len(self._view.value(found.value).shape)
        factors, axis = _along_axis(self._constants, found.scale, rank, multiply.id)
        lo, hi = self._constants.number(clip, "min"), self._constants.number(clip, "max")
        return FakeQuant(
            found.value, factors, found.scale, axis, lo, hi, found.nodes["divide"].id, multiply.id
        )

    def int_weight_at(self, value_id: str) -> IntWeight | None:
        """The int8 weight behind this value, also through transposes, if there is one."""
        maker = self._view.maker(value_id)
        if maker is not None and maker.op == shape.TRANSPOSE.name:
            inner = self.int_weight_at(maker.operand("x") or "")
            return inner.moved(tuple(maker.attrs["perm"])) if inner else None
        found = self._unpackings.get(value_id)
        integers = self._constants.get(found.integers) if found else None
        if found is None or integers is None or integers.dtype != np.int8:
            return None
        multiply = found.nodes["multiply"].id
        factors, axis = _along_axis(self._constants, found.scale, integers.ndim, multiply)
        return IntWeight(integers, found.integers, factors, found.scale, axis, multiply)

    def _is_fixed(self, found: Rounding) -> bool:
        bounds = (found.nodes["clip"].operand(name) for name in ("min", "max"))
        is_scale = self._view.is_parameter(found.scale) and self._view.value(found.scale).dtype == "float32"
        is_whole = found.nodes["round"].attrs.get("decimals", 0) == 0
        return is_scale and is_whole and all(self._constants.get(bound) is not None for bound in bounds)


def _along_axis(constants: Constants, scale: str, rank: int, node: str) -> tuple[Array, int | None]:
    """Scales of a broadcast shape as ONNX has them: a number, or a vector and its axis."""
    factors = constants.parameter(scale)
    _refuse_bad_scales(factors, node)
    if factors.size == 1:
        return factors.reshape(()), None
    offset = rank - factors.ndim
    axes = [offset + i for i, length in enumerate(factors.shape) if length != 1]
    if len(axes) > 1:
        raise ScaleNotExportable(node=node, why=f"vary along several axes: {list(factors.shape)}")
    return factors.reshape(-1), axes[0]


def _refuse_bad_scales(factors: Array, node: str) -> None:
    tiny = np.finfo(np.float32).tiny
    if not np.all(np.isfinite(factors) & (factors >= tiny)):
        raise ScaleNotExportable(node=node, why="hold zero, a denormal, a negative or no number")
