"""What of a model is known before any input is: parameters, constants, and what moves or casts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from spokeshave.errors.engines import DtypeNotExportable, OperandMissing, OperandNotConstant, WeightMismatch
from spokeshave.graph import GraphView, Node, Value
from spokeshave.ops import shape

Array = np.ndarray[Any, Any]

DTYPES = frozenset(
    ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
)


def numpy_dtype(value: Value) -> np.dtype[Any]:
    """The type of a value as NumPy and ONNX both have it."""
    if value.dtype not in DTYPES:
        raise DtypeNotExportable(value=value.id, dtype=value.dtype)
    return np.dtype(value.dtype)


def at(node: Node, operand: str) -> str:
    """The value at an operand that the node must have."""
    value_id = node.operand(operand)
    if value_id is None:
        raise OperandMissing(node=node.id, op=node.op, operand=operand)
    return value_id


class Constants:
    """The arrays behind the values of a view that do not hang on an input; computed when asked for, once."""

    def __init__(self, view: GraphView, weights: Mapping[str, Array]) -> None:
        self.view, self._weights = view, weights
        self._known: dict[str, Array | None] = {}

    def get(self, value_id: str | None) -> Array | None:
        """The array of a value, or None where it hangs on an input."""
        if value_id is None:
            return None
        if value_id not in self._known:
            self._known[value_id] = self._compute(value_id)
        return self._known[value_id]

    def of(self, node: Node, operand: str) -> Array:
        """The array at an operand that must be a constant."""
        array = self.get(node.operand(operand))
        if array is None:
            raise OperandNotConstant(node=node.id, op=node.op, operand=operand)
        return array

    def integers(self, node: Node, operand: str) -> tuple[int, ...]:
        """The integers at an operand, as `full_int_array` makes them."""
        return tuple(int(n) for n in self.of(node, operand).reshape(-1))

    def number(self, node: Node, operand: str) -> float:
        """The one number at an operand, as `full` makes it."""
        return float(self.of(node, operand).reshape(-1)[0])

    def parameter(self, value_id: str) -> Array:
        """The array of a parameter, checked against what the view says of it."""
        value = self.view.value(value_id)
        array, dtype = self._weights.get(value_id), numpy_dtype(value)
        if array is None or array.shape != value.shape or array.dtype != dtype:
            given = "nothing" if array is None else f"{array.dtype} {list(array.shape)}"
            raise WeightMismatch(parameter=value_id, wanted=f"{dtype} {list(value.shape)}", given=given)
        return array

    def _compute(self, value_id: str) -> Array | None:
        if self.view.is_parameter(value_id):
            return self.parameter(value_id)
        maker = self.view.maker(value_id)
        fold = _FOLDS.get(maker.op) if maker is not None else None
        return fold(self, maker) if fold is not None and maker is not None else None


def _full(constants: Constants, node: Node) -> Array:
    dtype = numpy_dtype(constants.view.value(node.out))
    return np.full(tuple(node.attrs.get("shape", (1,))), node.attrs["value"], dtype)


def _full_int_array(constants: Constants, node: Node) -> Array:
    return np.array(node.attrs["value"], numpy_dtype(constants.view.value(node.out)))


def _reshape(constants: Constants, node: Node) -> Array | None:
    x, target = constants.get(node.operand("x")), constants.get(node.operand("shape"))
    if x is None or target is None:
        return None
    # A zero keeps the dimension that stands at its place.
    return x.reshape([x.shape[i] if n == 0 else int(n) for i, n in enumerate(target)])


def _transpose(constants: Constants, node: Node) -> Array | None:
    x = constants.get(node.operand("x"))
    return None if x is None else np.ascontiguousarray(x.transpose(node.attrs["perm"]))


def _cast(constants: Constants, node: Node) -> Array | None:
    x = constants.get(node.operand("x"))
    return None if x is None else x.astype(numpy_dtype(constants.view.value(node.out)))


_FOLDS: Mapping[str, Callable[[Constants, Node], Array | None]] = {
    shape.FULL.name: _full,
    shape.FULL_INT_ARRAY.name: _full_int_array,
    shape.RESHAPE.name: _reshape,
    shape.TRANSPOSE.name: _transpose,
    shape.CAST.name: _cast,
}
