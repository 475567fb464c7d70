"""Files that appear whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

from spokeshave.errors.files import CannotWrite
from spokeshave.files import _disk
from spokeshave.files._claim import PART, claim, clear_abandoned


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write a file so that at any moment its name holds the old bytes or the new ones, never a mixture.

    The bytes go to a hidden file beside it, to the disk, and then take the name; a link is followed, the
    mode of a file that is replaced is kept, missing parent folders are made. On any failure the hidden
    file is removed; one that a killed process left is removed by the next write to the same name.
    Costs two waits for the disk. What the system refuses is a `CannotWrite`.
    """
    target = _disk.real(path)
    with _disk.writing(target):
        _refuse_all_but_files(target)
        _disk.make_folder(target.parent)
        clear_abandoned(target, PART)
        with claim(target, PART, _make_file) as part:
            _fill(part, data, like=target)
            part.replace(target)
        _disk.sync(target.parent)


def _refuse_all_but_files(target: Path) -> None:
    # Replacing a device such as /dev/null by a file would harm the machine.
    if target.exists() and not target.is_file():
        raise CannotWrite(path=str(target), why="something that is not a file has that name")


def _make_file(path: Path) -> None:
    path.touch(exist_ok=False)


def _fill(part: Path, data: bytes | memoryview, like: Path) -> None:
    part.write_bytes(data)
    if like.exists():
        shutil.copymode(like, part)
    _disk.sync(part)
