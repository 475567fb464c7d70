"""`.safetensors` files: a header of names, types and places, and the numbers."""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from spokeshave.errors.models import WeightsUnreadable
from spokeshave.models.weights.pickled import LONGEST

# bfloat16 travels as the 16 bits that it is, as in Paddle's own files.
_ELEMENTS = {"BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4"}
_ELEMENTS.update({"U64": "<u8", "I64": "<i8", "F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"})
_PREFIX = 8


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name: views of its bytes, which are read once."""
    data = path.read_bytes()
    size = int.from_bytes(data[:_PREFIX], "little")
    if len(data) < _PREFIX or size > len(data) - _PREFIX:
        raise WeightsUnreadable(path=str(path), found="it is shorter than its header says")
    try:
        header = json.loads(data[_PREFIX : _PREFIX + size], object_pairs_hook=_once)
        header.pop("__metadata__", None)
        numbers = memoryview(data)[_PREFIX + size :]
        return {str(name): _array(name, entry, numbers) for name, entry in header.items()}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise WeightsUnreadable(path=str(path), found=f"its header is damaged ({error})") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"it has {name[:LONGEST]!r} twice")
    return found


def _array(name: str, entry: Any, numbers: memoryview) -> np.ndarray:
    begin, end = entry["data_offsets"]
    shape, dtype = entry["shape"], np.dtype(_ELEMENTS[entry["dtype"]])
    if any(type(side) is not int or side < 0 for side in (begin, end, *shape)):
        raise ValueError(f"{name[:LONGEST]!r} has sides or places that are no sizes")
    if not begin <= end <= len(numbers) or prod(shape) * dtype.itemsize != end - begin:
        raise ValueError(f"{name[:LONGEST]!r} of shape {shape} does not lie in bytes {begin} to {end}")
    return np.frombuffer(numbers[begin:end], dtype).reshape(shape)
