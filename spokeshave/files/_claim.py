"""Hidden siblings of a target: work in progress, held while its process lives, cleared away when it died."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART, STAGING, ASIDE = "part", "staging", "aside"


def sibling(target: Path, kind: str) -> Path:
    """A free hidden name beside the target that tells the target, the process and the kind."""
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.{kind}")


@contextmanager
def claim(target: Path, kind: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """A sibling made by `make`, held for this process; whatever has its name in the end is removed.

    That is the unfinished work after a failure, and the replaced folder after an exchange.
    """
    path, handle = _make_and_hold(target, kind, make)
    try:
        yield path
    finally:
        remove(path)
        os.close(handle)


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Keeps other processes from clearing `path` away, under whatever name it goes, inside the block."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(
            OSError
        ):  # somebody else's hold protects it as well; without locks, the process id does
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def clear_abandoned(target: Path, kind: str) -> None:
    """Remove the siblings of that kind whose process has died."""
    for path, pid in _siblings(target, kind):
        with _take_over(path, pid) as is_ours:
            if is_ours:
                remove(path)


def restore_aside(target: Path) -> None:
    """Put back a folder whose process died between its two renames; remove it where that came through."""
    for path, pid in _siblings(target, ASIDE):
        with _take_over(path, pid) as is_ours:
            if is_ours and target.exists():
                remove(path)
            elif is_ours:
                path.rename(target)


def remove(path: Path) -> None:
    """Remove a file or a folder if it is there. What resists stays: the next start tries again."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _make_and_hold(target: Path, kind: str, make: Callable[[Path], None]) -> tuple[Path, int]:
    while True:
        path = sibling(target, kind)
        make(path)
        handle = os.open(path, os.O_RDONLY)
        with suppress(OSError):  # some filesystems have no locks; there the process id decides
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_still(handle, path):
            return path, handle
        os.close(handle)  # another process cleared it away before the lock was ours


def _is_still(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _siblings(target: Path, kind: str) -> list[tuple[Path, int]]:
    # Not a glob: the target's name may hold brackets.
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(\d+)-[0-9a-f]{{8}}\.{kind}")
    found = ((path, pattern.fullmatch(path.name)) for path in target.parent.iterdir())
    return sorted((path, int(named[1])) for path, named in found if named)


@contextmanager
def _take_over(path: Path, pid: int) -> Iterator[bool]:
    """Whether the process that made `path` has died; inside the block nobody else takes it over."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # gone meanwhile, or another user's
        yield False
        return
    try:
        yield _is_abandoned(handle, pid)
    finally:
        os.close(handle)


def _is_abandoned(handle: int, pid: int) -> bool:
    # The lock decides, as the system drops it with its process. Ids alone mislead in containers, where
    # a restarted process gets the id of the one that died, and a live one next door cannot be seen.
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not _is_alive(pid)
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
