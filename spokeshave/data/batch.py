"""One batch, and the checks that it fits the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spokeshave.errors.data import (
    BatchDoesNotFit,
    BatchLacksInput,
    BatchNotFinite,
    DtypeDoesNotFit,
    InputUnexpected,
    NoData,
)
from spokeshave.graph.view import Value
from spokeshave.registry import nearest

LABEL_NAMES = ("label", "labels")
# NumPy has no bfloat16; Paddle hands it over as the same bits in uint16.
STAND_INS = {"bfloat16": "uint16"}


@dataclass(frozen=True, eq=False)
class Batch:
    """Arrays by the names of the model's inputs, and the labels if they are known; all read-only."""

    inputs: dict[str, np.ndarray]
    labels: np.ndarray | None = None

    @property
    def size(self) -> int:
        """How many samples: the length of the first input, 1 where it has no dimension."""
        return _length(next(iter(self.inputs.values())))


def fit(item: Any, inputs: tuple[Value, ...], number: int, source: str) -> Batch:
    """What a reader yielded as a checked batch of its own arrays, or an error that says what does not fit.

    Costs one copy and one look at every number.
    """
    named, labels = _by_name(item, tuple(v.id for v in inputs), number)
    _check_names(named, inputs, number)
    arrays = {value.id: _fitted(named[value.id], value, number, source) for value in inputs}
    return Batch(arrays, None if labels is None else _frozen(_array(labels, "label", number)))


def _by_name(item: Any, names: tuple[str, ...], number: int) -> tuple[dict[str, Any], Any]:
    if isinstance(item, Batch):
        return item.inputs, item.labels
    if isinstance(item, Mapping):
        labels = next((item[name] for name in LABEL_NAMES if name in item), None)
        return {n: a for n, a in item.items() if n in names or n not in LABEL_NAMES}, labels
    arrays = tuple(item) if isinstance(item, (tuple, list)) else (item,)
    if len(arrays) > len(names) + 1:
        raise BatchDoesNotFit(
            batch=number,
            found=f"there are {len(arrays)} arrays",
            wanted=f"the model takes {len(names)} ({', '.join(names)}), and labels may follow",
            advice="A list or tuple holds one array for each input; join samples with `np.stack`.",
        )
    return dict(zip(names, arrays)), arrays[len(names)] if len(arrays) > len(names) else None


def _check_names(named: dict[str, Any], inputs: tuple[Value, ...], number: int) -> None:
    names = tuple(v.id for v in inputs)
    others = [str(name) for name in named if name not in names]
    for name in names:
        if name not in named:
            near = nearest(name, others)
            raise BatchLacksInput(batch=number, input=name, takes=", ".join(names), nearest=near)
    if others:
        raise InputUnexpected(batch=number, name=others[0], nearest=nearest(others[0], names))


def _fitted(given: Any, value: Value, number: int, source: str) -> np.ndarray:
    array = _array(given, value.id, number)
    _check_shape(array, value, number)
    if array.size == 0:
        found = f"batch {number} holds no sample ({value.id!r} has shape {list(array.shape)})"
        raise NoData(source=source, found=found)
    wanted = np.dtype(STAND_INS.get(value.dtype, value.dtype))
    _check_dtype(array, wanted, value.id, number)
    _check_finite(array, value.id, number)
    return _frozen(array, wanted)


def _array(given: Any, name: str, number: int) -> np.ndarray:
    try:
        return np.asarray(given)
    except ValueError as error:
        raise BatchDoesNotFit(
            batch=number,
            found=f"{name!r} holds parts of different lengths",
            wanted="the model takes one rectangular array",
            advice="Pad or resize the samples to one shape and join them with `np.stack`.",
        ) from error


def _check_shape(array: np.ndarray, value: Value, number: int) -> None:
    found = f"the input {value.id!r} has shape {list(array.shape)}"
    wanted = f"the model takes {_shape_text(value.shape)}"
    if array.ndim != len(value.shape):
        advice = f"Give it {len(value.shape)} dimensions, the first of them the samples."
        raise BatchDoesNotFit(batch=number, found=found, wanted=wanted, advice=advice)
    for axis, (have, want) in enumerate(zip(array.shape, value.shape)):
        if want >= 0 and have != want:
            found, wanted = f"{found}: {have} along dimension {axis}", f"{wanted}: {want} there"
            advice = _shape_advice(array.shape, value.shape, axis)
            raise BatchDoesNotFit(batch=number, found=found, wanted=wanted, advice=advice)


def _shape_advice(have: tuple[int, ...], want: tuple[int, ...], axis: int) -> str:
    if axis == 0:
        return f"This model takes {want[0]} samples at a time: feed batches of that size."
    if len(have) == 4 and _fits((have[0], have[3], have[1], have[2]), want):
        return "The channels seem to come last: `array.transpose(0, 3, 1, 2)`."
    return "Resize or reshape the samples as they were when the model was trained."


def _fits(have: tuple[int, ...], want: tuple[int, ...]) -> bool:
    return all(w < 0 or h == w for h, w in zip(have, want))


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join('any' if length < 0 else str(length) for length in shape)}]"


def _check_dtype(array: np.ndarray, wanted: np.dtype[Any], name: str, number: int) -> None:
    kinds = {"i": "iu"}.get(wanted.kind, wanted.kind)
    if array.dtype.kind in kinds and np.can_cast(array.dtype, wanted, "safe"):
        return
    is_picture = wanted.kind == "f" and array.dtype.kind in "iu"
    first = " (scaled as in training, often divided by 255)" if is_picture else ""
    raise DtypeDoesNotFit(batch=number, input=name, found=str(array.dtype), wanted=str(wanted), first=first)


def _check_finite(array: np.ndarray, name: str, number: int) -> None:
    if array.dtype.kind not in "fc":
        return
    is_finite = np.isfinite(array)
    if is_finite.all():
        return
    bad = np.argwhere(~is_finite)
    index = tuple(int(i) for i in bad[0])
    first = "NaN" if np.isnan(array[index]) else f"{array[index]}"
    raise BatchNotFinite(batch=number, input=name, count=len(bad), first=first, index=str(list(index)))


def _frozen(array: np.ndarray, dtype: np.dtype[Any] | None = None) -> np.ndarray:
    # A copy: readers fill the same buffer again, and a mapped file would be read a second time.
    own = np.array(array, dtype=dtype, order="C")
    own.setflags(write=False)
    return own


def _length(array: np.ndarray) -> int:
    return len(array) if array.ndim else 1
