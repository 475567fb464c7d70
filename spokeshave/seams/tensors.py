"""Tensors of a scope, by name, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

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


def write_tensor(scope: Scope, name: str, array: np.ndarray) -> None:
    """Puts an array under a name, replacing what was there."""
    scope.var(name).get_tensor().set(np.asarray(array, order="C"), paddle.CPUPlace())


def erase_tensors(scope: Scope, names: Sequence[str]) -> None:
    """Forgets tensors."""
    scope.erase(list(names))


def tensor_names(scope: Scope) -> tuple[str, ...]:
    """The names in this scope, sorted."""
    return tuple(sorted(scope.local_var_names()))
