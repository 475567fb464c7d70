"""Several files that are all on the disk before the first takes its name."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from spokeshave.errors.files import CannotWrite
from spokeshave.files import _disk, sums_text, write_atomically, write_sums, write_together


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_all_are_written_and_replaced_parents_made_and_nothing_else_left(tmp_path: Path) -> None:
    files: dict[Path, bytes | memoryview] = {tmp_path / "a": b"1", tmp_path / "b/c": memoryview(b"23")}
    write_together(dict.fromkeys(files, b"old"))
    write_together(files)
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b/c").read_bytes()) == (b"1", b"23")
    assert names(tmp_path) == ["a", "b"]
    assert names(tmp_path / "b") == ["c"]


def test_no_files_are_no_work(tmp_path: Path) -> None:
    write_together({})
    assert names(tmp_path) == []


def test_a_failure_with_any_file_leaves_all_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[Path, bytes | memoryview] = {tmp_path / name: name.encode() for name in "abc"}
    write_together(dict.fromkeys(files, b"old"))
    real_open: Any = Path.open
    for fatal in range(3):
        written: list[Path] = []

        def fail(self: Path, mode: str = "r", *more: Any, at: int = fatal, done: Any = written) -> Any:
            done += [self] if mode == "wb" else []
            if len(done) > at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real_open(self, mode, *more)

        monkeypatch.setattr(Path, "open", fail)
        with pytest.raises(CannotWrite) as caught:
            write_together(files)
        monkeypatch.undo()
        assert caught.value.facts["path"] == str(tmp_path / "abc"[fatal])
        assert {path.read_bytes() for path in files} == {b"old"}
        assert names(tmp_path) == ["a", "b", "c"]


def test_a_file_in_parts_is_the_parts_one_behind_the_other(tmp_path: Path) -> None:
    parts = (b"one ", memoryview(b"two "), b"three")
    write_together({tmp_path / "a": parts})
    assert (tmp_path / "a").read_bytes() == b"one two three"
    write_sums(tmp_path / "SUMS", [tmp_path / "a"])
    assert (tmp_path / "SUMS").read_bytes() == sums_text({"a": parts})


def test_something_that_is_no_file_among_them_stops_all(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(CannotWrite, match="not a file"):
        write_together({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert names(tmp_path) == ["b"]


def test_two_names_of_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(CannotWrite, match="two of the files"):
        write_together({tmp_path / "a": b"1", tmp_path / "link": b"2"})
    assert names(tmp_path) == ["link"]


def test_bytes_wait_for_the_disk_before_names_and_each_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    replace = Path.replace

    def note(self: Path, target: Path) -> Path:
        steps.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(_disk, "sync", lambda path: steps.append("folder" if path.is_dir() else "file"))
    monkeypatch.setattr(Path, "replace", note)
    write_together({tmp_path / "a": b"", tmp_path / "b": b""})
    assert steps == ["file", "file", "a", "b", "folder"]


def test_the_text_of_sums_is_what_write_sums_writes(tmp_path: Path) -> None:
    contents: dict[str, bytes | memoryview] = {"b": b"2", "a c": memoryview(b"1"), "new\nline": b""}
    for name, data in contents.items():
        write_atomically(tmp_path / name, data)
    write_sums(tmp_path / "SUMS", [tmp_path / name for name in contents])
    assert (tmp_path / "SUMS").read_bytes() == sums_text(contents)
