"""Constants that are worked out while the model runs, and shapes that are put together from lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import paddle

from spokeshave.graph import GraphView, Node
from spokeshave.ops.effects import ASSIGN_VALUE, is_pure
from spokeshave.ops.elementwise import ADD, FLOOR_DIVIDE, MULTIPLY, SCALE, SUBTRACT
from spokeshave.ops.shape import (
    ASSIGN,
    CAST,
    CONCAT,
    FLATTEN,
    FULL,
    FULL_INT_ARRAY,
    RESHAPE,
    SHAPE,
    SHAPE64,
    SLICE,
    SQUEEZE,
    STACK,
    UNSQUEEZE,
)
from spokeshave.program.passes._constants import constant_ints, constant_number, is_overwritten
from spokeshave.program.passes._lengths import Length, Origins
from spokeshave.program.rewriting import Editor, Found, Pass
from spokeshave.report import Reason
from spokeshave.seams import new_constant

# What is longer is no shape, and may be cheaper to make than to store.
LONGEST = 1024
# The number of a `full` is kept as a float, which knows no odd integers above.
LARGEST = 2**53


class FoldConstants(Pass):
    """What is worked out from constants alone becomes a constant; shapes are read where lengths are known.

    `reshape(x, [shape(x)[0], -1])` becomes `reshape(x, [0, -1])`: a length that stays open stays so. Exact:
    integers are added and multiplied, other numbers are only moved, or rounded to another type.

    ## What is left alone
    Arithmetic on lengths that stay open, and on numbers that are no integers; constants of more than 1024
    numbers that differ; what is written over, or read inside a branch or a loop; all in a program that has
    its gradients.
    """

    name = "fold-constants"

    def places(self, view: GraphView) -> Iterable[Found]:
        origins = known_numbers(view)
        known = origins.known
        shapes = {node.id: _shape_of(origins, node) for node in view.nodes if node.op == RESHAPE.name}
        folded = {
            n.id for n in view.nodes if n.op not in LEAVES and n.outputs and _is_settled(known.get(n.out))
        }
        needed = _needed(view, folded, {node_id for node_id, shape in shapes.items() if shape is not None})
        for node in view.nodes:
            if node.id in folded and node.out in needed:
                yield Found.at(view, node, numbers=known[node.out])
            elif node.id not in folded and shapes.get(node.id) is not None:
                yield Found.at(view, node, shape=shapes[node.id])

    def check(self, found: Found) -> Reason | None:
        numbers = found.facts.get("numbers")
        if numbers is None:
            return None
        if numbers.size > LONGEST and np.unique(numbers).size > 1:
            return found.declined("long-constant", found.node, f"it has {numbers.size} numbers")
        if numbers.dtype.kind == "f" and np.signbit(numbers[numbers == 0]).any():
            text = "it has a negative zero, whose sign Paddle drops in a constant"
            return found.declined("negative-zero", found.node, text)
        return None

    def apply(self, found: Found, editor: Editor) -> None:
        node = found.node
        if "shape" in found.facts:
            source = editor.source(node, "x")
            made = editor.before(node, lambda: paddle.reshape(source, list(found.facts["shape"])))
        else:
            dtype = found.view.value(node.out).dtype
            made = editor.before(node, lambda: new_constant(found.facts["numbers"], dtype))
        editor.rewire(node.out, made)


def known_numbers(view: GraphView) -> Origins:
    """The values whose numbers are known before the model runs, entirely or but for some open lengths.

    An array of integers may hold a `Length` here and there, or None where a number is not known.
    """
    known: dict[str, np.ndarray] = {}
    origins = Origins(view, known)
    for node in view.nodes:
        numbers = _numbers_of(origins, node)
        if numbers is not None:
            known[node.out] = numbers
        origins.follow(node)
    return origins


def _numbers_of(origins: Origins, node: Node) -> np.ndarray | None:
    rule = RULES.get(node.op)
    if rule is None or any(is_overwritten(origins.view, value) for _, value in node.outputs):
        return None
    return rule(_Sight(origins.view, node, origins.known, origins))


@dataclass(frozen=True)
class _Sight:
    """A node, and what is known of what it reads."""

    view: GraphView
    node: Node
    known: Mapping[str, np.ndarray]
    origins: Origins

    def at(self, operand: str) -> np.ndarray | None:
        return self.known.get(self.node.operand(operand) or "")

    def ints(self, operand: str) -> tuple[int, ...] | None:
        """The integers of an operand that is a list of them, or of those that it is put together from."""
        parts = self.node.operands(operand)
        arrays = [self.known[value] for value in parts if value in self.known]
        if not parts or len(arrays) < len(parts) or not all(map(_is_settled, arrays)):
            return None
        return tuple(int(n) for array in arrays for n in array.reshape(-1))

    @property
    def is_integer(self) -> bool:
        return self.view.value(self.node.out).dtype in ("int32", "int64")


def _is_settled(numbers: np.ndarray | None) -> bool:
    return numbers is not None and numbers.dtype != object


def _settled(numbers: np.ndarray, dtype: str = "int64") -> np.ndarray:
    """The array as plain integers where nothing in it is open."""
    is_open = numbers.dtype == object and any(not isinstance(n, int) for n in numbers.reshape(-1))
    return numbers if is_open else numbers.astype(dtype)


# One rule an op: the numbers of its first result, None where they are not known.


def _full(sight: _Sight) -> np.ndarray | None:
    number, dtype = constant_number(sight.view, sight.node.out), sight.view.value(sight.node.out).dtype
    shape = sight.view.value(sight.node.out).shape
    if number is None or dtype not in TYPES or -1 in shape or int(np.prod(shape)) > LONGEST:
        return None
    if dtype in ("int32", "int64") and not abs(number) < LARGEST:
        return None
    return np.full(shape, number, dtype)


def _full_int_array(sight: _Sight) -> np.ndarray | None:
    ints = constant_ints(sight.view, sight.node.out)
    return None if ints is None else np.array(ints, np.int64)


def _assign_value(sight: _Sight) -> np.ndarray | None:
    value, numbers = sight.view.value(sight.node.out), sight.node.attrs.get("values", ())
    is_plain = value.dtype in TYPES and all(isinstance(n, (bool, int, float)) for n in numbers)
    if not is_plain or len(numbers) != int(np.prod(value.shape)):
        return None
    return np.array(numbers).astype(value.dtype).reshape(value.shape)


def _shape(sight: _Sight) -> np.ndarray | None:
    value = sight.node.operand("input") or ""
    lengths = sight.view.value(value).shape
    open_ones = [n if n >= 0 else sight.origins.of(value, axis) for axis, n in enumerate(lengths)]
    return _settled(_objects(open_ones), sight.view.value(sight.node.out).dtype)


def _slice(sight: _Sight) -> np.ndarray | None:
    numbers, starts, ends = sight.at("input"), sight.ints("starts"), sight.ints("ends")
    axes, ending = (tuple(sight.node.attrs.get(name, ())) for name in ("axes", "decrease_axis"))
    if numbers is None or starts is None or ends is None or not numbers.ndim or axes != (0,):
        return None
    part = numbers[starts[0] : ends[0]]
    if ending and (ending != (0,) or len(part) != 1):
        return None
    return _settled(part.reshape(part.shape[1:]) if ending else part, sight.view.value(sight.node.out).dtype)


def _scale(sight: _Sight) -> np.ndarray | None:
    numbers, factor = sight.at("x"), constant_number(sight.view, sight.node.operand("scale"))
    bias = sight.node.attrs.get("bias", 0.0)
    # Paddle cuts factor and bias to the type of what they meet; whole ones stay what they are.
    if (
        numbers is None
        or factor is None
        or not sight.is_integer
        or factor != int(factor)
        or bias != int(bias)
    ):
        return None
    first = bool(sight.node.attrs.get("bias_after_scale", True))
    add, times = int(bias), int(factor)
    return _each(sight, lambda n: n * times + add if first else (n + add) * times, numbers)


def _arithmetic(act: Callable[[int, int], int]) -> Callable[[_Sight], np.ndarray | None]:
    def rule(sight: _Sight) -> np.ndarray | None:
        x, y = sight.at("x"), sight.at("y")
        return _each(sight, act, x, y) if x is not None and y is not None and sight.is_integer else None

    return rule


def _quotient(sight: _Sight) -> np.ndarray | None:
    divisor = sight.at("y")
    is_safe = divisor is not None and _is_settled(divisor) and bool(np.all(divisor > 0))
    return _arithmetic(lambda a, b: a // b)(sight) if is_safe else None


def _each(sight: _Sight, act: Callable[..., int], *arrays: np.ndarray) -> np.ndarray | None:
    """What an act on integers gives, None for each element where one is open; nothing where one overflows."""
    kind = np.iinfo(sight.view.value(sight.node.out).dtype)
    aligned = np.broadcast_arrays(*(array.astype(object) for array in arrays))
    rows = zip(*(array.reshape(-1) for array in aligned))
    found = [_kept(sight, act, row) for row in rows]
    if any(isinstance(n, int) and not kind.min <= n <= kind.max for n in found):
        return None
    return _settled(_objects(found).reshape(aligned[0].shape), kind.dtype.name)


def _kept(sight: _Sight, act: Callable[..., int], row: tuple[object, ...]) -> object:
    if all(isinstance(n, int) for n in row):
        return act(*row)
    # A length times one, or plus nothing, is that length still.
    return row[0] if len(row) == 1 and isinstance(row[0], Length) and (act(0), act(1)) == (0, 1) else None


def _cast(sight: _Sight) -> np.ndarray | None:
    numbers, value = sight.at("x"), sight.view.value(sight.node.out)
    if numbers is None or value.dtype not in TYPES:
        return None
    if numbers.dtype == object:
        return numbers if sight.is_integer else None
    # From a number with a fraction to an integer only what fits is sure.
    kind = np.dtype(value.dtype)
    if numbers.dtype.kind == "f" and kind.kind in "iu" and not _fits(numbers, kind):
        return None
    return numbers.astype(kind)


def _fits(numbers: np.ndarray, kind: np.dtype[np.generic]) -> bool:
    bounds = np.iinfo(kind.name)
    return bool(np.all(np.isfinite(numbers)) and np.all((numbers > bounds.min) & (numbers < bounds.max)))


def _gathered(join: Callable[[list[np.ndarray], int], np.ndarray]) -> Callable[[_Sight], np.ndarray | None]:
    def rule(sight: _Sight) -> np.ndarray | None:
        parts = [sight.known.get(value) for value in sight.node.operands("x")]
        axis = sight.node.attrs.get("axis")
        axes = (axis,) if isinstance(axis, int) else sight.ints("axis")
        there = [part for part in parts if part is not None]
        if not there or len(there) < len(parts) or axes is None or len(axes) != 1:
            return None
        dtype = sight.view.value(sight.node.out).dtype
        return _settled(join(there, axes[0]), dtype) if dtype in TYPES else None

    return rule


def _moved(sight: _Sight) -> np.ndarray | None:
    """The same numbers in the shape of the result, where that is known."""
    numbers, shape = sight.at("x"), sight.view.value(sight.node.out).shape
    return None if numbers is None or -1 in shape else numbers.reshape(shape)


def _objects(items: Iterable[object]) -> np.ndarray:
    listed = list(items)
    made = np.empty(len(listed), object)
    made[:] = listed
    return made


TYPES = ("bool", "int32", "int64", "float32", "float64")
LEAVES = (FULL.name, FULL_INT_ARRAY.name, ASSIGN_VALUE)
RULES: dict[str, Callable[[_Sight], np.ndarray | None]] = {
    FULL.name: _full,
    FULL_INT_ARRAY.name: _full_int_array,
    ASSIGN_VALUE: _assign_value,
    **dict.fromkeys((SHAPE.name, SHAPE64.name), _shape),
    SLICE.name: _slice,
    SCALE.name: _scale,
    ADD.name: _arithmetic(lambda a, b: a + b),
    SUBTRACT.name: _arithmetic(lambda a, b: a - b),
    MULTIPLY.name: _arithmetic(lambda a, b: a * b),
    FLOOR_DIVIDE.name: _quotient,
    CAST.name: _cast,
    CONCAT.name: _gathered(lambda parts, axis: np.concatenate(parts, axis)),
    STACK.name: _gathered(lambda parts, axis: np.stack(parts, axis)),
    **dict.fromkeys((ASSIGN.name, RESHAPE.name, FLATTEN.name, SQUEEZE.name, UNSQUEEZE.name), _moved),
}


def _needed(view: GraphView, folded: set[str], reshapes: set[str]) -> set[str]:
    """The values that are still read when what is folded, and shapes of these reshapes, are not any more."""
    needed = {value for _, value in view.outputs}
    for node in reversed(view.nodes):
        is_alive = any(v in needed for _, v in node.outputs) or not is_pure(node.op, node.attrs)
        if is_alive and node.id not in folded:
            read = [node.operand("x") or ""] if node.id in reshapes else [v for _, v in node.inputs]
            needed.update(read)
    return needed


def _shape_of(origins: Origins, node: Node) -> tuple[int, ...] | None:
    """The shape to give a reshape whose shape is put together from lengths, in plain numbers."""
    view, known, values = origins.view, origins.known, node.operands("shape")
    parts = [known[value].reshape(-1) for value in values if value in known]
    is_plain = len(values) == 1 and constant_ints(view, values[0]) is not None
    if is_plain or not parts or len(parts) < len(values):
        return None
    numbers = (number for part in parts for number in part)
    lengths = [_length(origins, node, axis, number) for axis, number in enumerate(numbers)]
    # One that nobody knows can be worked out from the others.
    return tuple(lengths) if lengths.count(-1) <= 1 else None


def _length(origins: Origins, node: Node, axis: int, number: object) -> int:
    """What to write for a length: 0 for that of the operand's own axis, -1 for one that is not known."""
    if isinstance(number, (int, np.integer)):
        return int(number)
    source = node.operand("x") or ""
    is_own = axis < len(origins.view.value(source).shape) and number == origins.of(source, axis)
    return 0 if is_own else -1
