"""Files that appear whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Union

from spokeshave.errors.files import CannotWrite
from spokeshave.files import _disk
from spokeshave.files._claim import PART, claim, clear_abandoned

Data = Union[bytes, memoryview, tuple[Union[bytes, memoryview], ...]]
"""The bytes of a file, whole or in parts, one behind the other."""


def write_atomically(path: Path, data: Data) -> None:
    """Write a file so that at any moment its name holds the old bytes or the new ones, never a mixture.

    The bytes go to a hidden file beside it, to the disk, and then take the name; a link is followed, the
    mode of a file that is replaced is kept, missing parent folders are made. On any failure the hidden
    file is removed; one that a killed process left is removed by the next write to the same name.
    Costs two waits for the disk. What the system refuses is a `CannotWrite`.
    """
    write_together({path: data})


def write_together(files: Mapping[Path, Data]) -> None:
    """Write several files as `write_atomically` does; all are on the disk before the first takes its name.

    So a full disk, or a kill while bytes are written, leaves all the old files. Names are taken in the order
    of `files`: a kill between two of them, which is a moment, leaves new files beside old ones. Where that
    must be seen, put a list of checksums first. Costs a wait for the disk per file and per folder.
    """
    targets = _targets(files)
    with ExitStack() as stack:
        parts = {target: stack.enter_context(_staged(target, data)) for target, data in targets.items()}
        for target, part in parts.items():
            with _disk.writing(target):
                part.replace(target)
        for folder in dict.fromkeys(target.parent for target in targets):
            with _disk.writing(folder):
                _disk.sync(folder)


def parts_of(data: Data) -> tuple[bytes | memoryview, ...]:
    """The parts of what a file is to hold, in order."""
    return data if isinstance(data, tuple) else (data,)


def _targets(files: Mapping[Path, Data]) -> dict[Path, Data]:
    """The data by the real path of each file."""
    found: dict[Path, Data] = {}
    for path, data in files.items():
        target = _disk.real(path)
        if target in found:
            raise CannotWrite(path=str(target), why="two of the files to be written are this one")
        found[target] = data
    return found


@contextmanager
def _staged(target: Path, data: Data) -> Iterator[Path]:
    """A hidden file beside the target that holds the data, on the disk; gone at the end if nobody took it."""
    with ExitStack() as stack:
        with _disk.writing(target):
            _refuse_all_but_files(target)
            _disk.make_folder(target.parent)
            clear_abandoned(target, PART)
            part = stack.enter_context(claim(target, PART, _make_file))
            _fill(part, data, like=target)
        yield part


def _refuse_all_but_files(target: Path) -> None:
    # Replacing a device such as /dev/null by a file would harm the machine.
    if target.exists() and not target.is_file():
        raise CannotWrite(path=str(target), why="something that is not a file has that name")


def _make_file(path: Path) -> None:
    path.touch(exist_ok=False)


def _fill(part: Path, data: Data, like: Path) -> None:
    with part.open("wb") as file:
        file.writelines(parts_of(data))
    if like.exists():
        shutil.copymode(like, part)
    _disk.sync(part)
