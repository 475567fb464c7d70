"""Tensors of a scope, by name, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle

from spokeshave.errors.program import TensorMissing
from spokeshave.seams.handles import Scope


def has_tensor(scope: Scope, name: str) -> bool:
    """Whether the scope holds a tensor of that name, with numbers in it."""
    variable = scope.find_var(name)
    return variable is not None and variable.get_tensor()._is_initialized()


def read_tensor(scope: Scope, name: str) -> np.ndarray:
    """A copy of a tensor."""
    if not has_tensor(scope, name):
        # Running a program whose tensor is missing would end the process.
        raise TensorMissing(name=name)
    return np.array(scope.find_var(name).get_tensor())


def view_tensor(scope: Scope, name: str) -> np.ndarray:
    """A tensor as it lies in the scope, not to be written to; a copy where NumPy has no such type.

    It shows what is there while nothing writes to the tensor, and holds the memory however long it lives.
    """
    if not has_tensor(scope, name):
        raise TensorMissing(name=name)
    try:
        return np.from_dlpack(_Shared(scope.find_var(name).get_tensor()))
    except (BufferError, RuntimeError, TypeError):
        return read_tensor(scope, name)


class _Shared:
    """What NumPy asks of memory that is shared with it."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return self._tensor._to_dlpack()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU, which has one memory


def write_tensor(scope: Scope, name: str, array: np.ndarray) -> None:
    """Puts an array under a name, replacing what was there."""
    scope.var(name).get_tensor().set(np.asarray(array, order="C"), paddle.CPUPlace())


def write_rows(scope: Scope, name: str, start: int, rows: np.ndarray) -> None:
    """Puts an array over the rows of a tensor from `start` on, where it lies."""
    part = scope.find_var(name).get_tensor()._slice(start, start + len(rows))
    part.set(np.asarray(rows, order="C"), paddle.CPUPlace())


def erase_tensors(scope: Scope, names: Sequence[str]) -> None:
    """Forgets tensors."""
    scope.erase(list(names))


def tensor_names(scope: Scope) -> tuple[str, ...]:
    """The names in this scope, sorted."""
    return tuple(sorted(scope.local_var_names()))
