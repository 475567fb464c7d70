"""Checksums of files, in the format that `sha256sum -c` reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from spokeshave.errors.files import ChecksumWrong, FileOutsideFolder, SumsMalformed
from spokeshave.files import _disk
from spokeshave.files.atomic import Data, parts_of, write_atomically

SUMS = "SHA256SUMS"
CHUNK_BYTES = 1 << 20
# A backslash at the start of a line says that its name has escapes.
PLAIN = re.compile(r"([0-9a-f]{64}) [ *]([^\\\r\0]+)")
ESCAPED = re.compile(r"\\([0-9a-f]{64}) [ *]((?:[^\\\r\0]|\\[\\nr])+)")


def digest(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; reads it once, in pieces of 1 MiB."""
    state = hashlib.sha256()
    with _disk.reading(path), Path(path).open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            state.update(chunk)
    return state.hexdigest()


def write_sums(path: Path, files: Sequence[Path]) -> None:
    """Write the sums of `files` to `path`, sorted, with paths relative to its folder.

    `sha256sum -c` run in that folder reads them. Reads every file once. A list without files is
    written, but nothing accepts it.
    """
    folder = Path(path).parent
    lines = [_line(name, digest(file)) for name, file in sorted((_relative(f, folder), f) for f in files)]
    write_atomically(Path(path), "".join(lines).encode("utf-8", "surrogateescape"))


def sums_text(contents: Mapping[str, Data]) -> bytes:
    """What `write_sums` would write for files of these names and contents in its folder."""
    lines = [_line(name, _digest_of(data)) for name, data in sorted(contents.items())]
    return "".join(lines).encode("utf-8", "surrogateescape")


def _digest_of(data: Data) -> str:
    state = hashlib.sha256()
    for part in parts_of(data):
        state.update(part)
    return state.hexdigest()


def sums_of(path: Path) -> dict[str, str]:
    """Relative path to sum. A line that `sha256sum` would not write is a `SumsMalformed`."""
    with _disk.reading(path):
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    if not text.endswith("\n"):
        raise SumsMalformed(path=str(path), line=text.count("\n") + 1, why="is cut short")
    sums: dict[str, str] = {}
    for number, line in enumerate(text[:-1].split("\n"), 1):
        name, found = _parse(line, path, number)
        if name in sums:
            raise SumsMalformed(path=str(path), line=number, why=f"lists {name!r} a second time")
        sums[name] = found
    return sums


def check_sums(sums_file: Path) -> None:
    """Every file that the list names is there and is the one that was listed; reads each once.

    Files that it does not name are not looked at.
    """
    for name, wanted in sums_of(sums_file).items():
        file = Path(sums_file).parent / name
        if not file.exists() or digest(file) != wanted:
            raise ChecksumWrong(path=str(file), sums=str(sums_file))


def _relative(file: Path, folder: Path) -> str:
    here = _disk.real(folder)
    place = _disk.real(Path(file).parent) / Path(file).name
    if here not in place.parents:
        raise FileOutsideFolder(path=str(file), folder=str(folder))
    return place.relative_to(here).as_posix()


def _line(name: str, found: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    mark = "" if escaped == name else "\\"
    return f"{mark}{found}  {escaped}\n"


def _parse(line: str, path: Path, number: int) -> tuple[str, str]:
    parts = PLAIN.fullmatch(line) or ESCAPED.fullmatch(line)
    if parts is None:
        raise SumsMalformed(path=str(path), line=number, why="is not a sum, two spaces and a path")
    name = _unescaped(parts[2])
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or not place.parts:
        raise SumsMalformed(path=str(path), line=number, why=f"names {name!r}, outside its folder")
    return place.as_posix(), parts[1]


def _unescaped(name: str) -> str:
    plain = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}
    return re.sub(r"\\[\\nr]", lambda found: plain[found[0]], name)
