"""The quantizers of a program, recognised by their structure.

An activation is `multiply(clip(round(divide(x, s)), lo, hi), s)`, a weight `multiply(cast(int8), s)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spokeshave.engines.onnx._constants import Array, Constants, at
from spokeshave.errors.engines import GridNotExportable, ScaleNotExportable
from spokeshave.graph import GraphView, Node
from spokeshave.ops import elementwise, shape

MULTIPLY, DIVIDE = elementwise.MULTIPLY.name, elementwise.DIVIDE.name
ROUND, CLIP = elementwise.ROUND.name, elementwise.CLIP.name
CAST, TRANSPOSE = shape.CAST.name, shape.TRANSPOSE.name

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


def fake_quant_at(view: GraphView, constants: Constants, value_id: str) -> FakeQuant | None:
    """The quantizer whose result is this value, if one stands there."""
    for multiply, clipped, scale in _products(view, value_id):
        clip = _made_by(view, clipped, CLIP)
        rounded = _made_by(view, clip.operand("x"), ROUND) if clip else None
        divide = _made_by(view, rounded.operand("x"), DIVIDE) if rounded else None
        if clip is None or rounded is None or divide is None or rounded.attrs.get("decimals", 0) != 0:
            continue
        if divide.operand("y") == scale and _has_fixed_bounds(constants, clip):
            return _fake_quant(constants, divide, clip, multiply, scale)
    return None


def int_weight_at(view: GraphView, constants: Constants, value_id: str) -> IntWeight | None:
    """The int8 weight behind this value, also through transposes, if there is one."""
    transpose = _made_by(view, value_id, TRANSPOSE)
    if transpose is not None:
        inner = int_weight_at(view, constants, at(transpose, "x"))
        return inner.moved(tuple(transpose.attrs["perm"])) if inner else None
    for multiply, floats, scale in _products(view, value_id):
        cast = _made_by(view, floats, CAST)
        integers = constants.get(cast.operand("x")) if cast else None
        if cast is not None and integers is not None and integers.dtype == np.int8:
            factors, axis = _along_axis(constants, scale, integers.ndim, multiply.id)
            return IntWeight(integers, at(cast, "x"), factors, scale, axis, multiply.id)
    return None


def _fake_quant(constants: Constants, divide: Node, clip: Node, multiply: Node, scale: str) -> FakeQuant:
    source = at(divide, "x")
    rank = len(constants.view.value(source).shape)
    factors, axis = _along_axis(constants, scale, rank, multiply.id)
    lo, hi = constants.number(clip, "min"), constants.number(clip, "max")
    return FakeQuant(source, factors, scale, axis, lo, hi, divide.id, multiply.id)


def _products(view: GraphView, value_id: str) -> list[tuple[Node, str, str]]:
    """A multiply with its factor and its scale, a float32 parameter; both orders where both could be."""
    multiply = _made_by(view, value_id, MULTIPLY)
    if multiply is None:
        return []
    x, y = at(multiply, "x"), at(multiply, "y")
    return [(multiply, a, b) for a, b in ((x, y), (y, x)) if _is_scale(view, b)]


def _is_scale(view: GraphView, value_id: str) -> bool:
    return view.is_parameter(value_id) and view.value(value_id).dtype == "float32"


def _made_by(view: GraphView, value_id: str | None, op: str) -> Node | None:
    maker = view.maker(value_id) if value_id else None
    return maker if maker is not None and maker.op == op else None


def _has_fixed_bounds(constants: Constants, clip: Node) -> bool:
    return all(constants.get(clip.operand(bound)) is not None for bound in ("min", "max"))


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
