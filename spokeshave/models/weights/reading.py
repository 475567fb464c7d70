"""Weights by name from whatever holds them; what it is is seen in its bytes, whatever it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spokeshave.errors import SpokeshaveError
from spokeshave.errors.files import CannotRead
from spokeshave.errors.models import NoWeights, WeightsUnreadable
from spokeshave.models.weights.pickled import LONGEST, read_pickle
from spokeshave.models.weights.safetensors import read_safetensors
from spokeshave.program.weights import read_record

# In a state dict that Paddle saved: from names in the layer to names in a program.
ALIASES = "StructuredToParameterName@@"
# A program that fluid saved beside its parameters.
PROGRAMS = ("__model__",)
SUFFIX = ".pdparams"


@dataclass(frozen=True)
class Stored:
    """Arrays by name, and what Paddle called some of them besides."""

    arrays: Mapping[str, np.ndarray]
    aliases: Mapping[str, str] = field(default_factory=dict)


def read_weights(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of a `.pdparams` or `.safetensors` file, or of a folder with one file each, by name.

    Nothing in the file is executed. bfloat16 comes as the 16 bits that it is.
    """
    return dict(read_stored(Path(path)).arrays)


def read_stored(path: Path, skips: Callable[[str], bool] = lambda _: False) -> Stored:
    """What a file or folder holds; files of a folder that `skips` names are not opened."""
    if not path.exists() and path.with_name(path.name + SUFFIX).exists():
        path = path.with_name(path.name + SUFFIX)
    if not path.exists():
        raise NoWeights(path=str(path), found="there is no such file or folder")
    with _reading(path):
        return _folder(path, skips) if path.is_dir() else _file(path)


def _folder(folder: Path, skips: Callable[[str], bool]) -> Stored:
    files = [f for f in sorted(folder.iterdir()) if f.is_file() and not f.name.startswith((".", *PROGRAMS))]
    if not files:
        raise NoWeights(path=str(folder), found="the folder holds no file of a parameter")
    return Stored({f.name: read_record(f) for f in files if not skips(f.name)})


def _file(path: Path) -> Stored:
    with path.open("rb") as file:
        head = file.read(9)
    size = int.from_bytes(head[:8], "little")
    if path.suffix == ".safetensors" or (head[8:] == b"{" and size < path.stat().st_size):
        return Stored(read_safetensors(path))
    if path.suffix == SUFFIX or head[:1] == b"\x80":
        return _state_dict(path, read_pickle(path))
    found = "it is neither a pickle of arrays nor a .safetensors file"
    raise WeightsUnreadable(path=str(path), found=found)


def _state_dict(path: Path, content: Any) -> Stored:
    if not isinstance(content, dict):
        raise WeightsUnreadable(
            path=str(path), found=f"it holds a {type(content).__name__}, no dict of arrays"
        )
    aliases = content.pop(ALIASES, {})
    arrays = {key: _array(path, key, value) for key, value in content.items()}
    is_plain = isinstance(aliases, dict) and all(isinstance(name, str) for name in aliases.values())
    return Stored(arrays, aliases if is_plain else {})


def _array(path: Path, key: str, value: Any) -> np.ndarray:
    # A tensor outside of a plain state dict is stored with its name.
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        value = value[1]
    if not isinstance(value, np.ndarray):
        found = f"{key[:LONGEST]!r} is a {type(value).__name__}, and weights are arrays"
        raise WeightsUnreadable(path=str(path), found=found)
    return value


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except SpokeshaveError:
        raise
    except OSError as error:
        raise CannotRead(path=str(path), why=error.strerror or str(error)) from error
