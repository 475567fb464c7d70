"""Folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from spokeshave.errors.files import CannotWrite, FolderHoldsOtherFiles
from spokeshave.files import _disk
from spokeshave.files._claim import (
    ASIDE,
    STAGING,
    claim,
    clear_abandoned,
    holding,
    remove,
    restore_aside,
    sibling,
)
from spokeshave.files.sums import SUMS, sums_of, write_sums

AT_FDCWD = -100
RENAME_EXCHANGE = 2
# A kernel or filesystem without the call, or a sandbox that forbids calls it does not know.
NO_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})
# Failures of the caller's own writes into the staging folder.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


class AtomicFolder:
    """Gives an empty staging folder to fill; when the block ends well, it takes the target's place at once.

    Before that a `SHA256SUMS` of all its files is written into it (none if it has no files) and all is on
    the disk. If the block fails, the staging folder is removed and the target stays as it was; a full disk
    inside the block becomes a `CannotWrite`. A process killed at any moment leaves the old folder whole;
    its staging folder is cleared away when the same target is written next.

    A folder is only replaced if its own `SHA256SUMS` lists all its files (or it is empty): others are
    somebody's. Links to the target are followed, missing parents are made, its mode is kept.

    The swap is one call (`renameat2` with `RENAME_EXCHANGE`). Where the system has none, the old folder is
    renamed aside and the new one into its place; a kill between the two leaves the old folder whole under a
    hidden name beside the target, and the next `AtomicFolder` of that target puts it back.

    Costs one read of all files for the sums and one wait for the disk per file and folder. Two hosts must
    not write one target at once through a network filesystem: they do not see each other's locks.

        with AtomicFolder(Path("out")) as staging:
            (staging / "model.json").write_bytes(model)
    """

    def __init__(self, path: Path) -> None:
        self.path = _disk.real(path)

    def __enter__(self) -> Path:
        with _disk.writing(self.path), ExitStack() as stack:
            _disk.make_folder(self.path.parent)
            restore_aside(self.path)
            clear_abandoned(self.path, STAGING)
            check_replaceable(self.path)
            self._staging = stack.enter_context(claim(self.path, STAGING, Path.mkdir))
            self._open = stack.pop_all()
        return self._staging

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open, _disk.writing(self.path):
            if error is None:
                self._finish()
            elif isinstance(error, OSError) and error.errno in NO_ROOM:
                raise CannotWrite(path=str(self.path), why=_disk.why(error)) from error

    def _finish(self) -> None:
        _seal(self._staging)
        check_replaceable(self.path)  # once more: the block may have taken hours
        if self.path.exists():
            shutil.copymode(self.path, self._staging)
            _swap(self._staging, self.path)
        else:
            self._staging.rename(self.path)
        _disk.sync(self.path.parent)


def check_replaceable(target: Path) -> None:
    """Refuses a target that `AtomicFolder` would refuse: ask before hours of work, not after them.

    A folder may be replaced when it is empty, or when its own sums list all that it holds.
    """
    target = _disk.real(Path(target))
    if not target.exists():
        return
    if not target.is_dir():
        raise CannotWrite(path=str(target), why="something that is not a folder has that name")
    own = {SUMS, *sums_of(target / SUMS)} if (target / SUMS).exists() else set()
    for file in _disk.entries(target):
        name = file.relative_to(target).as_posix()
        if name not in own:
            raise FolderHoldsOtherFiles(path=str(target), file=name)


def _seal(staging: Path) -> None:
    """Write the sums of what was staged, and have all of it on the disk."""
    files = [file for file in _disk.entries(staging) if file != staging / SUMS]
    if files:
        write_sums(staging / SUMS, files)
    for path in (*files, *_disk.folders(staging)):
        _disk.sync(path)


def _swap(staging: Path, target: Path) -> None:
    """The staged folder gets the target's name; the old one the staging name, which its claim removes."""
    if not exchange(staging, target):
        _rename_aside(staging, target)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    found = ctypes.get_errno()
    if found in NO_EXCHANGE:
        return False
    raise OSError(found, os.strerror(found), str(other))


def _rename_aside(staging: Path, target: Path) -> None:
    aside = sibling(target, ASIDE)
    with holding(target):  # until the aside is gone, nobody may take it for a dead process's
        target.rename(aside)
        try:
            staging.rename(target)
        except OSError:
            aside.rename(target)
            raise
        _disk.sync(target.parent)
        remove(aside)
