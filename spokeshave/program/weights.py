"""Weights files, read and written here: Paddle takes wrong ones silently, and dies of short ones."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from spokeshave.errors.formats import NameLeadsOut
from spokeshave.errors.program import (
    TensorNotAsDeclared,
    WeightsDoNotFit,
    WeightsMissing,
    WeightsTruncated,
)

_Kind = tuple[tuple[int, ...], str]
Declared = Mapping[str, _Kind]


@dataclass(frozen=True)
class Leeway:
    """Where Paddle 2 itself wrote other tensors than the program declares.

    `integers` may be int8 in place of floats; of `scales` only the count of numbers matters.
    """

    integers: frozenset[str] = frozenset()
    scales: frozenset[str] = frozenset()


STRICT = Leeway()

# Numbers of `VarType.Type` in Paddle's framework.proto. bfloat16 travels as the 16 bits that it is.
_TYPES = {0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64"}
_TYPES.update({20: "uint8", 21: "int8", 22: "bfloat16", 23: "complex64", 24: "complex128"})
_NUMBERS = {name: number for number, name in _TYPES.items()}
_LONGEST_HEADER = 4096
# Paddle 2 and fluid kept with a tensor where its sequences begin; parameters have no use for it.
_MOST_LEVELS = 8


class _Reader:
    """Reads a weights file from front to back, and knows at which tensor it is, for the text of an error."""

    def __init__(self, file: BufferedReader, path: Path, count: int) -> None:
        self._file, self._path, self._count = file, path, count
        self._left = os.fstat(file.fileno()).st_size
        # One buffer for all tensors: fresh memory for each takes longer than reading it.
        self._buffer = bytearray()
        self._tensor, self._number = "", 0

    def begin(self, tensor: str) -> None:
        """The next tensor is this one."""
        self._tensor, self._number = tensor, self._number + 1

    def take(self, size: int) -> memoryview:
        """The next bytes; they hold until more are taken."""
        if size > self._left:
            raise self.broken(f"{size} bytes wanted, {self._left} left")
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        part = memoryview(self._buffer)[:size]
        found = self._file.readinto(part)
        if found != size:
            raise self.broken(f"{size} bytes wanted, {found} left")
        self._left -= size
        return part

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes were taken."""
        return self._left == 0

    def broken(self, found: str) -> WeightsTruncated:
        """The error that says so of the tensor that the reader is at."""
        return WeightsTruncated(
            path=str(self._path), tensor=self._tensor, number=self._number, count=self._count, found=found
        )


def each_weight(
    path: Path, model: Path, declared: Declared, leeway: Leeway = STRICT
) -> Iterator[tuple[str, np.ndarray]]:
    """The tensors of a weights file with their names, each checked against what the program declares.

    Names are not in the file: tensors stand in order of their names. An array holds until the next one is
    asked for, and has the declared shape. Costs one read of the file, and memory for its largest tensor.
    """
    if not is_file(path):
        raise WeightsMissing(model=str(model), path=str(path))
    with path.open("rb") as file:
        reader = _Reader(file, path, len(declared))
        for name in sorted(declared):
            reader.begin(name)
            shape, dtype = _read_header(reader)
            _check_fits(
                path, model, name, _adapted(name, (shape, dtype), declared[name], leeway), declared[name]
            )
            yield name, _read_numbers(reader, shape, dtype).reshape(declared[name][0])
        if not reader.is_at_end:
            more = f"it goes on after the {len(declared)} tensors that the program has"
            raise WeightsDoNotFit(path=str(path), model=str(model), found=more)


def each_weight_in(
    folder: Path, model: Path, declared: Declared, leeway: Leeway = STRICT
) -> Iterator[tuple[str, np.ndarray]]:
    """The tensors of a folder in which each has a file of its name, as fluid wrote them; checked likewise."""
    for name in sorted(declared):
        file = own_file(folder, model, name)
        yield from each_weight(file, model, {name: declared[name]}, leeway)


def own_file(folder: Path, model: Path, name: str) -> Path:
    """The file that a parameter has for itself, which lies in the folder whatever the name is."""
    # By the name alone: what lies in the folder may well be a link, as in the caches of model hubs.
    place = Path(name)
    if "\0" in name or not place.parts or place.anchor or ".." in place.parts:
        raise NameLeadsOut(model=str(model), name=name)
    return folder / name


def is_file(path: Path) -> bool:
    """Whether there is such a file; no file has a name that is longer than names can be."""
    try:
        return path.is_file()
    except OSError:
        return False


def looks_like_weights(head: bytes) -> bool:
    """Whether these are the first 24 bytes of a weights file."""
    if len(head) < 20 or head[:4] != bytes(4):
        return False
    (levels,) = struct.unpack_from("<Q", head, 4)
    if levels:
        return bool(levels <= _MOST_LEVELS)
    version, length = struct.unpack_from("<Ii", head, 12)
    # The description of a tensor begins with its element type.
    return version == 0 and 0 < length < _LONGEST_HEADER and head[20:21] in (b"", b"\x08")


def weights_parts(declared: Declared, read: Callable[[str], np.ndarray]) -> tuple[bytes | memoryview, ...]:
    """The bytes of a weights file, part by part: tensors in order of their names, as Paddle writes them.

    Parts are the very memory that `read` gives. A tensor that is not as declared is an error: the file could
    not be loaded.
    """
    parts: list[bytes | memoryview] = []
    for name in sorted(declared):
        array = np.asarray(read(name), order="C")
        _check_as_declared(name, array, *declared[name])
        parts += _head(*declared[name]), array.reshape(-1).view(np.uint8).data
    return tuple(parts)


def _head(shape: tuple[int, ...], dtype: str) -> bytes:
    description = _describe(shape, dtype)
    return struct.pack("<IQIi", 0, 0, 0, len(description)) + description


def _size(shape: tuple[int, ...], dtype: str) -> int:
    # Of Python's integers, which do not wrap around: a damaged header may name any lengths.
    return math.prod(shape) * _stored(dtype).itemsize


def _stored(dtype: str) -> np.dtype[Any]:
    """What NumPy holds an element type in."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def _check_as_declared(name: str, array: np.ndarray, shape: tuple[int, ...], dtype: str) -> None:
    if array.shape != shape or array.dtype != _stored(dtype):
        found = f"{array.dtype}{list(array.shape)}"
        raise TensorNotAsDeclared(name=name, found=found, wanted=f"{dtype}{list(shape)}")


def _read_header(reader: _Reader) -> tuple[tuple[int, ...], str]:
    version, levels = struct.unpack("<IQ", reader.take(12))
    if version or levels > _MOST_LEVELS:
        raise reader.broken("there is no tensor header here")
    for _ in range(levels):
        (size,) = struct.unpack("<Q", reader.take(8))
        reader.take(size)
    tensor_version, length = struct.unpack("<Ii", reader.take(8))
    if tensor_version or not 0 < length < _LONGEST_HEADER:
        raise reader.broken("there is no tensor header here")
    fields = list(_fields(bytes(reader.take(length)), reader))
    dtype = _TYPES.get(next((value for field, value in fields if field == 1), -1))
    if dtype is None:
        raise reader.broken("its header names no element type that is known")
    return tuple(value for field, value in fields if field == 2), dtype


def _read_numbers(reader: _Reader, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if min(shape, default=0) < 0:
        raise reader.broken(f"its header gives the shape {list(shape)}")
    return np.frombuffer(reader.take(_size(shape, dtype)), _stored(dtype)).reshape(shape)


def _fields(message: bytes, reader: _Reader) -> Iterator[tuple[int, int]]:
    """Fields of a `TensorDesc` message: pairs of field number and integer, a packed list one by one."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at, reader)
        value, at = _varint(message, at, reader)
        if key & 7 == 0:
            yield key >> 3, value - (1 << 64) if value >= 1 << 63 else value
        elif key & 7 == 2:
            end = at + value
            while at < end:
                value, at = _varint(message, at, reader)
                yield key >> 3, value
        else:
            raise reader.broken("its header is damaged")


def _varint(message: bytes, at: int, reader: _Reader) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        value |= (message[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if message[at - 1] < 128:
            return value, at
    raise reader.broken("its header is damaged")


def _describe(shape: tuple[int, ...], dtype: str) -> bytes:
    dims = b"".join(b"\x10" + _to_varint(length) for length in shape)
    return b"\x08" + _to_varint(_NUMBERS[dtype]) + dims


def _to_varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _adapted(name: str, found: _Kind, wanted: _Kind, leeway: Leeway) -> _Kind:
    """What was found, in the shape and type wanted where the difference is one that is allowed."""
    shape, dtype = found
    if name in leeway.integers and dtype == "int8":
        dtype = wanted[1]
    if name in leeway.scales and math.prod(shape) == math.prod(wanted[0]) and min(shape, default=1) > 0:
        shape = wanted[0]
    return shape, dtype


def _check_fits(path: Path, model: Path, name: str, found: _Kind, wanted: _Kind) -> None:
    if found != wanted:
        shown = f"{name!r} should be {wanted[1]}{list(wanted[0])} and is {found[1]}{list(found[0])}"
        raise WeightsDoNotFit(path=str(path), model=str(model), found=shown)


def read_record(path: Path) -> np.ndarray:
    """The one tensor of a file, as fluid wrote each parameter; bfloat16 as the 16 bits that it is."""
    with path.open("rb") as file:
        reader = _Reader(file, path, 1)
        reader.begin(path.name)
        shape, dtype = _read_header(reader)
        numbers = _read_numbers(reader, shape, dtype)
        if not reader.is_at_end:
            raise reader.broken("it goes on after its tensor")
        return numbers
