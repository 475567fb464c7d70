"""A journal of work that can be resumed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from spokeshave.errors.files import JournalDamaged, ValueNotRecordable
from spokeshave.files import _disk


class Journal:
    """JSON lines, appended one by one: what is done and what came of it, each on the disk before the next.

    Opening reads what earlier runs did. A last line that a kill cut short is dropped, and cut off the file;
    any other line that cannot be read is a `JournalDamaged`. One process at a time writes a journal.
    The file begins with the first record. A record costs one wait for the disk.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._done = _read(self.path)

    @property
    def done(self) -> dict[str, Any]:
        """Key to value of all records, as JSON gives them back; the last one of a key counts."""
        return dict(self._done)

    def record(self, key: str, value: Any) -> None:
        """Add a record; it is on the disk when this returns, and not in the file at all when it raises.

        The value is plain data or a dataclass of it, and reads back as JSON has it: tuples as lists, keys as
        text. Anything else, NaN and infinity are a `ValueNotRecordable`.
        """
        line = _line(key, value)
        with _disk.writing(self.path):
            is_first = not self.path.exists()
            if is_first:
                _disk.make_folder(self.path.parent)
            _append(self.path, line)
            if is_first:
                _disk.sync(self.path.parent)
        self._done[key] = json.loads(line)["value"]


def _line(key: str, value: Any) -> bytes:
    try:
        text = json.dumps({"key": key, "value": msgspec.to_builtins(value)}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueNotRecordable(key=key, why=str(error)) from error
    return text.encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    size = path.stat().st_size if path.exists() else 0
    try:
        with path.open("ab") as stream:
            stream.write(line)
        _disk.sync(path)
    except OSError:
        # Half a line must not stay: the next record would be glued to it.
        if path.exists():
            os.truncate(path, size)
        raise


def _read(path: Path) -> dict[str, Any]:
    with _disk.reading(path):
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    torn = lines.pop()
    done = dict(_parse(line, path, number) for number, line in enumerate(lines, 1))
    if torn:
        _cut(path, len(torn))
    return done


def _cut(path: Path, torn_bytes: int) -> None:
    with _disk.writing(path):
        os.truncate(path, path.stat().st_size - torn_bytes)
        _disk.sync(path)


def _parse(line: bytes, path: Path, number: int) -> tuple[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise JournalDamaged(path=str(path), line=number) from error
    if not isinstance(entry, dict) or entry.keys() != {"key", "value"} or not isinstance(entry["key"], str):
        raise JournalDamaged(path=str(path), line=number)
    return entry["key"], entry["value"]
