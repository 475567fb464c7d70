"""The few steps on which durable writing rests, and how their failures are told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spokeshave.errors import SpokeshaveError
from spokeshave.errors.files import CannotRead, CannotWrite


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk.

    Every wait for the disk in this room goes through here (callers say `_disk.sync`), so that a
    benchmark can time it apart by wrapping one function.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """The folder and its missing parents, on the disk when this returns."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        sync(folder.parent)


def real(path: Path) -> Path:
    """The absolute path behind links: what is written beside it lies on the same filesystem."""
    return Path(os.path.realpath(path))


def entries(folder: Path) -> Iterator[Path]:
    """All that is not a folder, below a folder, sorted; a link is an entry, whatever it points to."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from entries(entry)
        else:
            yield entry


def folders(folder: Path) -> Iterator[Path]:
    """A folder and all below it, inner ones first."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from folders(entry)
    yield folder


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system refuses inside the block becomes a `CannotWrite` for `path`."""
    try:
        yield
    except SpokeshaveError:
        raise
    except OSError as error:
        raise CannotWrite(path=str(path), why=why(error)) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What the system refuses inside the block becomes a `CannotRead` for `path`."""
    try:
        yield
    except SpokeshaveError:
        raise
    except OSError as error:
        raise CannotRead(path=str(path), why=why(error)) from error


def why(error: OSError) -> str:
    """The system's words for a failure."""
    return error.strerror or str(error)
