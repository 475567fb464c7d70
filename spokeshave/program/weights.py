"""The `.pdiparams` format, read and written here: Paddle takes wrong files silently, dies of short ones."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from spokeshave.errors.program import WeightsDoNotFit, WeightsMissing, WeightsTruncated

Declared = Mapping[str, tuple[tuple[int, ...], str]]

# Numbers of `VarType.Type` in Paddle's framework.proto. bfloat16 travels as the 16 bits that it is.
_TYPES = {0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64"}
_TYPES.update({20: "uint8", 21: "int8", 22: "bfloat16", 23: "complex64", 24: "complex128"})
_NUMBERS = {name: number for number, name in _TYPES.items()}
_LONGEST_HEADER = 4096


@dataclass(frozen=True)
class _Place:
    """Where in a file the reader stands, for the text of an error."""

    path: Path
    tensor: str
    number: int
    count: int

    def broken(self, found: str) -> WeightsTruncated:
        return WeightsTruncated(
            path=str(self.path), tensor=self.tensor, number=self.number, count=self.count, found=found
        )


def read_weights(path: Path, model: Path, declared: Declared) -> dict[str, np.ndarray]:
    """The tensors of a weights file by name, each checked against what the program declares.

    Names are not in the file: tensors stand in order of their names. Costs one read of the file.
    """
    if not path.is_file():
        raise WeightsMissing(model=str(model), path=str(path))
    found: dict[str, np.ndarray] = {}
    with path.open("rb") as file:
        for number, name in enumerate(sorted(declared), start=1):
            place = _Place(path, name, number, len(declared))
            shape, dtype = _read_header(file, place)
            _check_fits(path, model, name, (shape, dtype), declared[name])
            found[name] = _read_numbers(file, place, shape, dtype)
        _check_ended(file, path, model, len(declared))
    return found


def weights_bytes(weights: Mapping[str, np.ndarray], dtypes: Mapping[str, str]) -> bytes:
    """The bytes of a weights file: tensors in order of their names, as Paddle writes them."""
    parts: list[bytes | memoryview] = []
    for name in sorted(weights):
        array = np.asarray(weights[name], order="C")
        description = _describe(array.shape, dtypes[name])
        parts.append(struct.pack("<IQIi", 0, 0, 0, len(description)) + description)
        parts.append(array.reshape(-1).view(np.uint8).data)
    return b"".join(parts)


def _read_header(file: BinaryIO, place: _Place) -> tuple[tuple[int, ...], str]:
    version, levels, tensor_version, length = struct.unpack("<IQIi", _take(file, 20, place))
    if version or levels or tensor_version or not 0 < length < _LONGEST_HEADER:
        raise place.broken("there is no tensor header here")
    fields = list(_fields(_take(file, length, place), place))
    dtype = _TYPES.get(next((value for field, value in fields if field == 1), -1))
    if dtype is None:
        raise place.broken("its header names no element type that is known")
    return tuple(value for field, value in fields if field == 2), dtype


def _read_numbers(file: BinaryIO, place: _Place, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    if min(shape, default=0) < 0:
        raise place.broken(f"its header gives the shape {list(shape)}")
    # Of Python's integers, which do not wrap around: a damaged header may name any lengths.
    size = math.prod(shape) * stored.itemsize
    return np.frombuffer(_take(file, size, place), stored).reshape(shape)


def _take(file: BinaryIO, size: int, place: _Place) -> bytes:
    left = place.path.stat().st_size - file.tell()
    if size > left:
        raise place.broken(f"{size} bytes wanted, {left} left")
    return file.read(size)


def _fields(message: bytes, place: _Place) -> Iterator[tuple[int, int]]:
    """Fields of a `TensorDesc` message: pairs of field number and integer, a packed list one by one."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at, place)
        value, at = _varint(message, at, place)
        if key & 7 == 0:
            yield key >> 3, value - (1 << 64) if value >= 1 << 63 else value
        elif key & 7 == 2:
            end = at + value
            while at < end:
                value, at = _varint(message, at, place)
                yield key >> 3, value
        else:
            raise place.broken("its header is damaged")


def _varint(message: bytes, at: int, place: _Place) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        value |= (message[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if message[at - 1] < 128:
            return value, at
    raise place.broken("its header is damaged")


def _describe(shape: tuple[int, ...], dtype: str) -> bytes:
    dims = b"".join(b"\x10" + _to_varint(length) for length in shape)
    return b"\x08" + _to_varint(_NUMBERS[dtype]) + dims


def _to_varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _check_fits(
    path: Path,
    model: Path,
    name: str,
    found: tuple[tuple[int, ...], str],
    wanted: tuple[tuple[int, ...], str],
) -> None:
    if found != wanted:
        shown = f"{name!r} should be {wanted[1]}{list(wanted[0])} and is {found[1]}{list(found[0])}"
        raise WeightsDoNotFit(path=str(path), model=str(model), found=shown)


def _check_ended(file: BinaryIO, path: Path, model: Path, count: int) -> None:
    if file.read(1):
        more = f"it goes on after the {count} tensors that the program has"
        raise WeightsDoNotFit(path=str(path), model=str(model), found=more)
