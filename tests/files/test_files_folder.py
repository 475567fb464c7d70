"""Folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from spokeshave.errors.files import CannotRead, CannotWrite, FolderHoldsOtherFiles, SumsMalformed
from spokeshave.files import SUMS, AtomicFolder, _claim, _disk, check_sums, folder

OLD = {"model.json": b"old model", "sub/weights.bin": b"old weights"}
NEW = {"model.json": b"new model", "sub/deep/other.bin": b"new other", "weights.bin": b"new weights"}

with_and_without_exchange = pytest.mark.parametrize("exchanges", [True, False], ids=["exchange", "aside"])


def write(path: Path, files: dict[str, bytes]) -> None:
    with AtomicFolder(path) as staging:
        fill(staging, files)


def fill(staging: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).write_bytes(data)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def fill_and_fail(staging: Path, error: BaseException) -> None:
    fill(staging, NEW)
    raise error


def held(path: Path) -> dict[str, bytes]:
    """What a folder holds besides its sums, after these have been checked."""
    check_sums(path / SUMS)
    files = [file for file in path.rglob("*") if file.is_file() and file != path / SUMS]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write(tmp_path / "out", OLD)
    return tmp_path / "out"


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "exchange", lambda one, other: False)


def test_a_folder_appears_whole_with_its_sums_and_its_parents(tmp_path: Path) -> None:
    out = tmp_path / "a/b/out"
    with AtomicFolder(out) as staging:
        assert staging.parent == out.parent
        assert staging.name.startswith(".out.")
        fill(staging, OLD)
        assert not out.exists()
    assert held(out) == OLD
    assert names(tmp_path / "a/b") == ["out"]


def test_the_sums_list_every_file_sorted(out: Path) -> None:
    names = [line.split("  ")[1] for line in (out / SUMS).read_text().splitlines()]
    assert names == ["model.json", "sub/weights.bin"]


def test_a_folder_is_replaced_as_a_whole(out: Path) -> None:
    write(out, NEW)
    assert held(out) == NEW
    assert names(out.parent) == ["out"]


@pytest.mark.usefixtures("no_exchange")
def test_a_folder_is_replaced_where_names_cannot_be_exchanged(out: Path) -> None:
    write(out, NEW)
    assert held(out) == NEW
    assert names(out.parent) == ["out"]


def test_names_are_exchanged_at_once_here(tmp_path: Path) -> None:
    fill(tmp_path, {"one/a": b"1", "other/b": b"2"})
    if not folder.exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this filesystem cannot exchange names")
    assert names(tmp_path / "one") == ["b"]
    assert names(tmp_path / "other") == ["a"]


def test_an_exchange_that_fails_for_another_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        folder.exchange(tmp_path / "none", tmp_path / "neither")


@pytest.mark.parametrize("number", sorted(folder.NO_EXCHANGE))
def test_a_system_without_exchange_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class Library:
        @staticmethod
        def renameat2(*_: Any) -> int:
            ctypes.set_errno(number)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library)
    assert not folder.exchange(tmp_path, tmp_path)


def test_a_c_library_without_the_call_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert not folder.exchange(tmp_path, tmp_path)


def test_an_exception_leaves_the_target_alone_and_comes_through(out: Path) -> None:
    with pytest.raises(ZeroDivisionError), AtomicFolder(out) as staging:
        fill_and_fail(staging, ZeroDivisionError())
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_an_exception_leaves_no_target_where_none_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), AtomicFolder(tmp_path / "out") as staging:
        fill_and_fail(staging, KeyboardInterrupt())
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", sorted(folder.NO_ROOM))
def test_a_full_disk_inside_the_block_is_told_as_such(out: Path, number: int) -> None:
    with pytest.raises(CannotWrite) as caught, AtomicFolder(out):
        raise OSError(number, os.strerror(number))
    assert caught.value.facts == {"path": str(out), "why": os.strerror(number)}
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_a_missing_input_inside_the_block_stays_what_it_is(out: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing-here"), AtomicFolder(out):
        Path("nothing-here").read_bytes()


@pytest.mark.parametrize("wait", range(8))
@with_and_without_exchange
def test_a_disk_that_fails_leaves_one_whole_folder(
    out: Path, monkeypatch: pytest.MonkeyPatch, wait: int, exchanges: bool
) -> None:
    if not exchanges:
        monkeypatch.setattr(folder, "exchange", lambda one, other: False)
    waits: list[Path] = []

    def fail_at(path: Path) -> None:
        waits.append(path)
        if len(waits) > wait:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_disk, "sync", fail_at)
    with pytest.raises(CannotWrite, match="No space left"):
        write(out, NEW)
    monkeypatch.undo()
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_a_rename_that_fails_puts_the_old_folder_back(
    out: Path, monkeypatch: pytest.MonkeyPatch, no_exchange: None
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".staging"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(CannotWrite, match="Input/output"):
        write(out, NEW)
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_a_file_too_large_for_the_system_leaves_the_old_folder(out: Path) -> None:
    ran = _python(
        """
        import resource, signal
        from spokeshave.errors.files import CannotWrite

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            with AtomicFolder(out) as staging:
                (staging / "model.json").write_bytes(bytes(500))
                (staging / "weights.bin").write_bytes(bytes(100_000))
        except CannotWrite as error:
            print(error.why)
        """,
        out,
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, os.strerror(errno.EFBIG)), ran.stderr
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


KILL_IN_BLOCK = """
with AtomicFolder(out) as staging:
    (staging / "model.json").write_bytes(b"new model")
    stream = (staging / "weights.bin").open("wb", buffering=0)
    stream.write(b"half of the wei")
    kill()
"""

KILL_BEFORE = """
holder, name, number = {step}
count, act = [], getattr(holder, name)

def kill_at(*args, **kwargs):
    count.append(args)
    if len(count) == number:
        kill()
    return act(*args, **kwargs)

setattr(holder, name, kill_at)
with AtomicFolder(out) as staging:
    (staging / "model.json").write_bytes(b"new model")
    (staging / "weights.bin").write_bytes(b"new weights")
    (staging / "sub").mkdir()
    (staging / "sub/deep").mkdir()
    (staging / "sub/deep/other.bin").write_bytes(b"new other")
"""


@pytest.mark.parametrize("wait", range(1, 9))
@with_and_without_exchange
def test_a_kill_before_the_swap_leaves_the_old_folder(out: Path, wait: int, exchanges: bool) -> None:
    # Two waits for the sums, three files, three folders.
    _killed(KILL_BEFORE.format(step=f"(_disk, 'sync', {wait})"), out, exchanges)
    assert held(out) == OLD
    _next_run_clears_up(out)


@with_and_without_exchange
def test_a_kill_in_the_block_leaves_the_old_folder(out: Path, exchanges: bool) -> None:
    _killed(KILL_IN_BLOCK, out, exchanges)
    assert held(out) == OLD
    _next_run_clears_up(out)


@with_and_without_exchange
def test_a_kill_behind_the_swap_leaves_the_new_folder(out: Path, exchanges: bool) -> None:
    _killed(KILL_BEFORE.format(step="(_disk, 'sync', 9)"), out, exchanges)
    assert held(out) == NEW
    assert len(names(out.parent)) == 2
    _next_run_clears_up(out)


def test_a_kill_amid_removing_the_old_folder_leaves_the_new_one(out: Path) -> None:
    _killed(KILL_BEFORE.format(step="(os, 'unlink', 2)"), out, exchanges=True)
    assert held(out) == NEW
    _next_run_clears_up(out)


@pytest.mark.parametrize("rename", [1, 2])
def test_a_kill_between_the_two_renames_loses_nothing(out: Path, rename: int) -> None:
    _killed(KILL_BEFORE.format(step=f"(Path, 'rename', {rename})"), out, exchanges=False)
    if rename == 2:
        assert not out.exists()
        (aside,) = out.parent.glob(".out.*.aside")
        assert held(aside) == OLD
    with pytest.raises(ZeroDivisionError), AtomicFolder(out):
        _ = 1 / 0
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_the_staging_folder_of_a_live_process_is_left_alone(out: Path) -> None:
    code = """
    with AtomicFolder(out) as staging:
        (staging / "model.json").write_bytes(b"theirs")
        print("ready", flush=True)
        sys.stdin.readline()
    """
    with subprocess.Popen(
        _command(code, out), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        write(out, NEW)
        assert len(names(out.parent)) == 2
        assert held(out) == NEW
        other.stdin.write("go\n")
    assert other.returncode == 0
    assert held(out) == {"model.json": b"theirs"}
    assert names(out.parent) == ["out"]


def test_the_staging_folder_of_another_thread_or_caller_is_left_alone(out: Path) -> None:
    with AtomicFolder(out) as ours:
        write(out, NEW)
        fill(ours, OLD)
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_a_dead_process_is_known_by_its_lock_even_if_its_id_is_in_use(out: Path) -> None:
    left = out.with_name(f".out.{os.getpid()}-0123abcd.staging")
    fill(left, {"a": b""})
    write(out, NEW)
    assert names(out.parent) == ["out"]


def test_where_there_are_no_locks_the_process_id_decides(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    ours, init = (out.with_name(f".out.{pid}-0123abcd.staging") for pid in (os.getpid(), 1))
    theirs = out.with_name(f".out.{dead.pid}-0123abcd.staging")
    for left in (ours, init, theirs):
        left.mkdir()
    monkeypatch.setattr(fcntl, "flock", no_locks)
    write(out, NEW)
    assert held(out) == NEW
    assert names(out.parent) == sorted([ours.name, init.name, "out"])


def test_a_staging_folder_lost_before_it_was_held_is_made_again(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, lost = fcntl.flock, list[Path]()

    def lose_first(handle: int, how: int) -> None:
        if not lost:
            lost.extend(out.parent.glob(".out.*.staging"))
            lost[0].rmdir()  # as another process does that takes it for a dead one's
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", lose_first)
    with AtomicFolder(out) as staging:
        assert staging not in lost
        fill(staging, NEW)
    assert lost
    assert held(out) == NEW
    assert names(out.parent) == ["out"]


def test_a_folder_that_is_aside_is_left_alone_while_its_process_lives(
    out: Path, monkeypatch: pytest.MonkeyPatch, no_exchange: None
) -> None:
    rename, between = Path.rename, list[str]()

    def start_another(self: Path, target: Path) -> Path:
        if self.name.endswith(".staging"):
            _claim.restore_aside(out)  # what another process does first
            between.extend(names(out.parent))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", start_another)
    write(out, NEW)
    assert [name.rpartition(".")[2] for name in between] in (["aside", "staging"], ["staging", "aside"])
    assert held(out) == NEW
    assert names(out.parent) == ["out"]


def test_a_process_of_another_user_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, signal: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    assert _claim._is_alive(1)


@pytest.mark.parametrize(
    "name", [".outer.1-0123abcd.staging", ".out.1-0123abcd", ".out.x-0123abcd.staging", "b"]
)
def test_what_only_looks_like_a_staging_folder_is_left_alone(out: Path, name: str) -> None:
    fill(out.parent, {f"{name}/file": b"mine"})
    write(out, NEW)
    assert names(out.parent) == sorted([name, "out"])


@pytest.mark.parametrize("file", ["mine.txt", "sub/mine.txt", ".hidden", f"sub/{SUMS}"])
def test_a_folder_that_holds_other_files_is_not_replaced(out: Path, file: str) -> None:
    fill(out, {file: b"mine"})
    with pytest.raises(FolderHoldsOtherFiles) as caught, AtomicFolder(out):
        pytest.fail("the block must not run")
    assert caught.value.facts == {"path": str(out), "file": file}
    assert (out / file).read_bytes() == b"mine"
    assert names(out.parent) == ["out"]


def test_a_folder_without_sums_is_not_replaced(tmp_path: Path) -> None:
    fill(tmp_path, {"out/notes": b"mine"})
    with pytest.raises(FolderHoldsOtherFiles):
        write(tmp_path / "out", NEW)


def test_a_link_among_the_files_is_somebodys(out: Path) -> None:
    (out / "link").symlink_to(out.parent)
    with pytest.raises(FolderHoldsOtherFiles):
        write(out, NEW)


def test_a_file_that_came_while_the_block_ran_is_not_lost(out: Path) -> None:
    with pytest.raises(FolderHoldsOtherFiles), AtomicFolder(out) as staging:
        fill(staging.parent, {"out/mine": b"mine"})
    assert (out / "mine").read_bytes() == b"mine"
    assert names(out.parent) == ["out"]


def test_a_folder_whose_sums_cannot_be_read_is_not_replaced(out: Path) -> None:
    (out / SUMS).write_text("rubbish\n")
    with pytest.raises(SumsMalformed):
        write(out, NEW)


def test_files_that_have_gone_do_not_hinder(out: Path) -> None:
    shutil.rmtree(out / "sub")
    write(out, NEW)
    assert held(out) == NEW


def test_an_empty_folder_is_replaced_and_an_empty_result_has_no_sums(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", {})
    assert names(tmp_path / "out") == []
    write(tmp_path / "out", NEW)
    assert held(tmp_path / "out") == NEW


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")
    with pytest.raises(CannotWrite, match="not a folder"):
        write(tmp_path / "out", NEW)
    assert (tmp_path / "out").read_bytes() == b"mine"


def test_a_file_in_the_place_of_a_parent_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(CannotWrite):
        write(tmp_path / "a/out", NEW)


def test_the_root_is_never_replaced() -> None:
    with pytest.raises(FolderHoldsOtherFiles), AtomicFolder(Path("/")):
        pytest.fail("the block must not run")


def test_a_link_to_the_target_is_followed(out: Path) -> None:
    link = out.with_name("link")
    link.symlink_to(out)
    write(link, NEW)
    assert link.is_symlink()
    assert held(out) == NEW


def test_a_relative_target_stays_where_it_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with AtomicFolder(Path("out")) as staging:
        fill(staging, NEW)
        os.chdir("elsewhere")
    assert held(tmp_path / "out") == NEW


def test_the_folder_has_the_usual_mode_and_a_replaced_one_keeps_its_own(out: Path) -> None:
    usual = out.with_name("usual")
    usual.mkdir()
    assert out.stat().st_mode == usual.stat().st_mode
    out.chmod(0o750)
    write(out, NEW)
    assert stat.S_IMODE(out.stat().st_mode) == 0o750


def test_a_link_to_nowhere_cannot_be_sealed(out: Path) -> None:
    with pytest.raises(CannotRead), AtomicFolder(out) as staging:
        (staging / "link").symlink_to("nowhere")
    assert held(out) == OLD
    assert names(out.parent) == ["out"]


def test_all_is_on_the_disk_before_the_swap_and_the_swap_before_the_removal(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    seen: list[bytes] = []
    sync = _disk.sync

    def note(path: Path) -> None:
        synced.append("." + path.name.partition(".staging")[0].split(".")[-1] if path.is_dir() else path.name)
        seen.append((out / "model.json").read_bytes())
        sync(path)

    monkeypatch.setattr(_disk, "sync", note)
    write(out, NEW)
    assert {"model.json", "weights.bin", "other.bin", ".deep", ".sub"} <= set(synced[:-1])
    assert set(seen[:-1]) == {b"old model"}
    assert seen[-1] == b"new model"


def _killed(code: str, out: Path, exchanges: bool) -> None:
    off = "" if exchanges else "folder.exchange = lambda one, other: False"
    ran = _python(f"{off}\n{code}", out)
    assert ran.returncode == -9, ran.stderr


def _next_run_clears_up(out: Path) -> None:
    write(out, NEW)
    assert held(out) == NEW
    assert names(out.parent) == ["out"]


def _python(code: str, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(code, out), capture_output=True, text=True, timeout=60, check=False)


def _command(code: str, out: Path) -> list[str]:
    head = """
    import os, signal, sys
    from pathlib import Path
    from spokeshave.files import AtomicFolder, _disk, folder

    out = Path(sys.argv[1])

    def kill():
        os.kill(os.getpid(), signal.SIGKILL)
    """
    return [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(code), str(out)]
