"""What every engine offers once it has opened a model, and the check of what is fed to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spokeshave.errors.engines import InputMismatch, InputMissing, InputUnknown
from spokeshave.registry import nearest

Array = np.ndarray[Any, Any]


class Runner(Protocol):
    """A model opened in an engine. `inputs` and `outputs` are the names it is fed and gives."""

    engine: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for one batch, by name."""
        ...

    def fetch(self, feed: Mapping[str, Array], values: Sequence[str]) -> dict[str, Array]:
        """Inner values for one batch, by the ids of the view. Opens the model a second time."""
        ...

    def close(self) -> None:
        """Gives the engine's memory back; the runner is of no use afterwards."""
        ...


@dataclass(frozen=True)
class InputSpec:
    """What an input takes: a NumPy type and a shape, None where any size fits."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.dtype} [{', '.join('any' if n is None else str(n) for n in self.shape)}]"

    def fits(self, array: Array) -> bool:
        """Whether an array can be fed as it is."""
        is_shaped = len(array.shape) == len(self.shape)
        return (
            is_shaped
            and array.dtype == np.dtype(self.dtype)
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
