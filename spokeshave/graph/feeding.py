"""What an input takes, and the check of what is fed to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spokeshave.errors.engines import InputMismatch, InputMissing, InputUnknown
from spokeshave.graph.view import Value
from spokeshave.registry import nearest

Array = np.ndarray[Any, Any]

# NumPy has no bfloat16: it travels as the 16 bits that it is.
_TRAVELS_AS = {"bfloat16": "uint16"}


@dataclass(frozen=True)
class InputSpec:
    """What an input takes: a NumPy type and a shape, None where any size fits."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    @staticmethod
    def of(value: Value) -> InputSpec:
        """What an input of a view takes."""
        dtype = _TRAVELS_AS.get(value.dtype, value.dtype)
        return InputSpec(value.id, dtype, tuple(None if n < 0 else n for n in value.shape))

    def open(self) -> InputSpec:
        """The same with any size along every axis."""
        return InputSpec(self.name, self.dtype, (None,) * len(self.shape))

    def __str__(self) -> str:
        return f"{self.dtype} [{', '.join('any' if n is None else str(n) for n in self.shape)}]"

    def fits(self, array: Array) -> bool:
        """Whether an array can be fed as it is."""
        is_shaped = len(array.shape) == len(self.shape)
        is_typed = array.dtype.name == self.dtype and array.dtype.isnative
        return (
            is_typed
            and is_shaped
            and all(want in (None, have) for want, have in zip(self.shape, array.shape))
        )


def check_feed(specs: Sequence[InputSpec], feed: Mapping[str, Array]) -> None:
    """Raises for the first array that is missing, unknown, or of another type or shape than its input."""
    names = [spec.name for spec in specs]
    for name in feed:
        if name not in names:
            raise InputUnknown(input=name, nearest=nearest(name, names))
    for spec in specs:
        if spec.name not in feed:
            raise InputMissing(input=spec.name, wanted=str(spec), given=", ".join(feed) or "none")
        _check_array(spec, feed[spec.name])


def _check_array(spec: InputSpec, given: object) -> None:
    if not isinstance(given, np.ndarray):
        raise InputMismatch(input=spec.name, wanted=str(spec), given=f"a {type(given).__name__}")
    if not spec.fits(given):
        raise InputMismatch(input=spec.name, wanted=str(spec), given=f"{given.dtype} {list(given.shape)}")
