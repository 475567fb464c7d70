"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from spokeshave.errors.files import CannotWrite
from spokeshave.files import _disk, sync, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.bin", b"old")
    write_atomically(tmp_path / "a.bin", b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin"]


def test_a_view_of_memory_is_written_as_bytes_are(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", memoryview(bytearray(b"0123"))[1:3])
    assert (tmp_path / "a").read_bytes() == b"12"


def test_missing_parents_are_made(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a/b/c", b"x")
    assert (tmp_path / "a/b/c").read_bytes() == b"x"


def test_a_file_has_the_usual_mode_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_atomically(tmp_path / "a", b"x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode
    (tmp_path / "a").chmod(0o640)
    write_atomically(tmp_path / "a", b"y")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("step", ["open", "replace", "touch"])
def test_after_a_failure_the_old_file_is_whole_and_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")

    def fail(self: Path, *_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, step, fail)
    with pytest.raises(CannotWrite) as caught:
        write_atomically(target, b"new")
    monkeypatch.undo()
    assert caught.value.facts == {"path": str(target), "why": os.strerror(number)}
    assert names(tmp_path) == ["a"]
    assert target.read_bytes() == b"old"


def test_a_failing_wait_for_the_disk_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(_disk, "sync", fail)
    with pytest.raises(CannotWrite, match="Input/output error"):
        write_atomically(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_an_interrupt_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(_disk, "sync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_file_too_large_for_the_system_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    ran = _python(
        """
        import resource, signal, sys
        from pathlib import Path
        from spokeshave.errors.files import CannotWrite
        from spokeshave.files import write_atomically

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_atomically(Path(sys.argv[1]), bytes(100_000))
        except CannotWrite as error:
            print(error.why)
        """,
        tmp_path / "a",
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, os.strerror(errno.EFBIG)), ran.stderr
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("wait", [1, 2])
def test_a_kill_leaves_the_old_or_the_new_file_and_the_next_write_clears_up(
    tmp_path: Path, wait: int
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    ran = _python(
        f"""
        import os, signal, sys
        from pathlib import Path
        from spokeshave.files import _disk, write_atomically

        waits, sync = [], _disk.sync

        def kill_at(path):
            waits.append(path)
            if len(waits) == {wait}:
                os.kill(os.getpid(), signal.SIGKILL)
            sync(path)

        _disk.sync = kill_at
        write_atomically(Path(sys.argv[1]), b"new")
        """,
        tmp_path / "a",
    )
    assert ran.returncode == -9, ran.stderr
    assert (tmp_path / "a").read_bytes() == {1: b"old", 2: b"new"}[wait]
    assert len(names(tmp_path)) == {1: 2, 2: 1}[wait]
    write_atomically(tmp_path / "a", b"newer")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("target", ["folder", "pipe"])
def test_what_is_not_a_file_is_not_replaced(tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotWrite, match="not a file"):
        write_atomically(tmp_path / target, b"x")
    assert names(tmp_path) == ["folder", "pipe"]


def test_a_file_in_place_of_a_parent_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(CannotWrite):
        write_atomically(tmp_path / "a/b", b"x")


def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    replace = Path.replace

    def note(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(_disk, "sync", lambda path: steps.append("folder" if path.is_dir() else "file"))
    monkeypatch.setattr(Path, "replace", note)
    write_atomically(tmp_path / "a", b"x")
    assert steps == ["file", "rename", "folder"]


def test_sync_takes_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    sync(tmp_path / "a")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "b")


def test_sync_waits_for_the_very_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    waited: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: waited.append(os.fstat(handle).st_ino))
    sync(tmp_path / "a")
    assert waited == [(tmp_path / "a").stat().st_ino]


def test_the_names_of_parents_that_are_made_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(_disk, "sync", synced.append)
    write_atomically(tmp_path / "a/b/c", b"x")
    assert synced[:2] == [tmp_path, tmp_path / "a"]
    assert synced[-1] == tmp_path / "a/b"


def _python(code: str, *args: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
