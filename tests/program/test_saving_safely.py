"""A full disk or a kill while saving leaves the old files whole, or files that are refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from spokeshave.errors.files import CannotWrite, ChecksumWrong
from spokeshave.errors.program import ProgramNotWritable
from spokeshave.files import _disk
from spokeshave.program import Model, load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Saved = Callable[[str], Path]
KINDS = [".json", ".pdiparams", ".sha256"]


@pytest.fixture
def lenet(saved: Saved) -> Model:
    return load(saved("lenet"))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def python(code: str, *args: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("room", "why"), [(300_000, os.strerror(errno.EFBIG)), (10_000, "no room for the program")]
)
def test_a_full_disk_leaves_the_old_files(
    saved: Saved, lenet: Model, tmp_path: Path, room: int, why: str
) -> None:
    save(lenet, tmp_path / "m")
    before = contents(tmp_path)
    done = python(
        f"""
        import resource, signal, sys
        import spokeshave
        from spokeshave.errors.files import CannotWrite

        model = spokeshave.load(sys.argv[2])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
        try:
            spokeshave.save(model, sys.argv[1])
        except CannotWrite as error:
            print(error.why)
        """,
        tmp_path / "m",
        saved("mobilenet"),
    )
    assert done.returncode == 0, done.stderr
    assert why in done.stdout
    assert contents(tmp_path) == before


@pytest.mark.parametrize("wait", [1, 2, 3])
def test_a_kill_while_bytes_are_written_leaves_the_old_files(
    saved: Saved, lenet: Model, tmp_path: Path, wait: int
) -> None:
    save(lenet, tmp_path / "m")
    before = contents(tmp_path)
    done = python(
        f"""
        import os, signal, sys
        import spokeshave
        from spokeshave.files import _disk

        waits, sync = [], _disk.sync

        def kill_at(path):
            waits.append(path)
            if len(waits) == {wait}:
                os.kill(os.getpid(), signal.SIGKILL)
            sync(path)

        _disk.sync = kill_at
        spokeshave.save(spokeshave.load(sys.argv[2]), sys.argv[1])
        """,
        tmp_path / "m",
        saved("mobilenet"),
    )
    assert done.returncode == -9, done.stderr
    assert {name: data for name, data in contents(tmp_path).items() if name in before} == before
    save(lenet, tmp_path / "m")
    assert contents(tmp_path) == before, "the next save clears up"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_interrupt_between_two_names_leaves_nothing_that_loads_wrongly(
    saved: Saved, lenet: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    save(load(saved("mobilenet")), tmp_path / "m")
    names: list[Path] = []
    replace = Path.replace

    def interrupt(self: Path, target: Path) -> Path:
        names.append(target)
        if len(names) == number:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(lenet, tmp_path / "m")
    monkeypatch.undo()
    assert sorted(contents(tmp_path)) == sorted(f"m{kind}" for kind in KINDS)
    if number == 1:
        assert len(load(tmp_path / "m").weights()) > 100, "the old model"
    else:
        with pytest.raises(ChecksumWrong):
            load(tmp_path / "m")


def test_an_interrupt_beside_a_model_of_paddles_own_is_seen_too(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (".json", ".pdiparams"):
        (tmp_path / f"m{kind}").write_bytes(saved("lenet").with_suffix(kind).read_bytes())
    replace = Path.replace

    def interrupt(self: Path, target: Path) -> Path:
        if target.suffix == ".pdiparams":
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(load(saved("mobilenet")), tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ChecksumWrong, match="sha256"):
        load(tmp_path / "m")


def test_all_bytes_are_on_the_disk_before_the_first_name(
    lenet: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    replace = Path.replace

    def note(self: Path, target: Path) -> Path:
        steps.append(target.suffix)
        return replace(self, target)

    monkeypatch.setattr(_disk, "sync", lambda path: steps.append("folder" if path.is_dir() else "file"))
    monkeypatch.setattr(Path, "replace", note)
    save(lenet, tmp_path / "m")
    assert steps == ["file"] * 3 + [".sha256", ".pdiparams", ".json", "folder"]


def test_what_paddle_cannot_write_is_told_and_nothing_is_written(saved: Saved, tmp_path: Path) -> None:
    document = json.loads(saved("lenet").with_suffix(".json").read_text())
    place = {"N": "place", "AT": {"#": "1.a_place", "D": [1, 0, ""]}}
    document["program"]["regions"][0]["blocks"][0]["ops"][0]["QA"] = [place]
    (tmp_path / "odd.json").write_text(json.dumps(document))
    shutil.copy(saved("lenet").with_suffix(".pdiparams"), tmp_path / "odd.pdiparams")
    with pytest.raises(ProgramNotWritable, match=rf"write the program to {tmp_path}/m.json: .*place"):
        save(load(tmp_path / "odd"), tmp_path / "m")
    assert sorted(contents(tmp_path)) == ["odd.json", "odd.pdiparams"]


def test_a_place_that_cannot_be_written_is_told(lenet: Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="file"):
        save(lenet, tmp_path / "file" / "m")
    (tmp_path / "m.json").mkdir()
    with pytest.raises(CannotWrite, match="not a file"):
        save(lenet, tmp_path / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "m.json"]
