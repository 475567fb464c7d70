"""Tensors that hold several sequences, one after the other, and know where each begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle
from paddle.base import core


def joined(array: np.ndarray, lengths: Sequence[int]) -> Any:
    """A tensor of the numbers, in sequences of these lengths."""
    tensor = core.DenseTensor()
    tensor.set(np.asarray(array, order="C"), paddle.CPUPlace())
    tensor.set_recursive_sequence_lengths([list(lengths)])
    return tensor


def taken_apart(tensor: Any) -> list[np.ndarray]:
    """The sequences of a tensor; the whole where it has none."""
    array, starts = np.array(tensor), tensor.lod()
    return np.split(array, starts[-1][1:-1]) if starts else [array]
