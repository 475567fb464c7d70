"""A journal of work that can be resumed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spokeshave.errors.files import CannotRead, CannotWrite, JournalDamaged, ValueNotRecordable
from spokeshave.files import Journal, _disk

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Trial:
    loss: float
    ops: tuple[str, ...]


def test_what_was_recorded_is_done_in_the_next_run(tmp_path: Path) -> None:
    first = Journal(tmp_path / "sub/journal")
    assert first.done == {}
    first.record("a", 1)
    first.record("b", {"x": [0.1, None]})
    first.record("a", 2)
    assert first.done == Journal(tmp_path / "sub/journal").done == {"a": 2, "b": {"x": [0.1, None]}}


def test_a_record_is_one_line_of_json(tmp_path: Path) -> None:
    Journal(tmp_path / "j").record("k\n", "v\nw")
    Journal(tmp_path / "j").record("l", None)
    lines = (tmp_path / "j").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"key": "k\n", "value": "v\nw"},
        {"key": "l", "value": None},
    ]


def test_this_run_sees_a_value_as_the_next_one_does(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.record("trial", Trial(0.1, ("conv", "relu")))
    assert journal.done == Journal(tmp_path / "j").done == {"trial": {"loss": 0.1, "ops": ["conv", "relu"]}}


@given(records=st.lists(st.tuples(st.text(), plain), max_size=4))
def test_plain_data_comes_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    for key, value in records:
        Journal(path).record(key, value)
    assert Journal(path).done == dict(records)


def test_done_is_a_copy(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.done["a"] = 1
    assert journal.done == {}


@pytest.mark.parametrize("kept", range(1, len(b'{"key": "b", "value": 2}')))
def test_a_torn_last_line_is_dropped_and_cut_off(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "j"
    Journal(path).record("a", 1)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "b", "value": 2}'[:kept])
    journal = Journal(path)
    assert journal.done == {"a": 1}
    assert path.read_bytes() == whole
    journal.record("c", 3)
    assert Journal(path).done == {"a": 1, "c": 3}


@pytest.mark.parametrize("torn", [b'{"key"', b'{"key": "a", "value": 1}', b"\0" * 100])
def test_a_torn_only_line_leaves_an_empty_journal(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "j").write_bytes(torn)
    assert Journal(tmp_path / "j").done == {}
    assert (tmp_path / "j").read_bytes() == b""


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"rubbish",
        b'{"key": "b", "val',
        b"\xff",
        b"[1, 2]",
        b'{"key": 1, "value": 2}',
        b'{"key": "b"}',
        b'{"key": "b", "value": 1, "more": 2}',
        b'{"key": "b", "value": 1} {"key": "c", "value": 1}',
    ],
)
def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path, line: bytes) -> None:
    good = b'{"key": "a", "value": 1}\n'
    damaged = good + line + b"\n" + good + b'{"key"'
    (tmp_path / "j").write_bytes(damaged)
    with pytest.raises(JournalDamaged) as caught:
        Journal(tmp_path / "j")
    assert caught.value.facts == {"path": str(tmp_path / "j"), "line": 2}
    assert (tmp_path / "j").read_bytes() == damaged


@pytest.mark.parametrize("value", [object(), float("nan"), float("inf"), {"x": [float("nan")]}, {(1, 2): 3}])
def test_what_json_cannot_hold_is_refused_and_leaves_no_trace(tmp_path: Path, value: Any) -> None:
    journal = Journal(tmp_path / "j")
    journal.record("a", 1)
    with pytest.raises(ValueNotRecordable, match="'b'"):
        journal.record("b", value)
    assert journal.done == Journal(tmp_path / "j").done == {"a": 1}


def test_a_record_that_fails_is_not_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j")
    journal.record("a", 1)

    def fail(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_disk, "sync", fail)
    with pytest.raises(CannotWrite, match="No space left"):
        journal.record("b", 2)
    monkeypatch.undo()
    assert journal.done == {"a": 1}
    journal.record("c", 3)
    assert Journal(tmp_path / "j").done == {"a": 1, "c": 3}


def test_half_a_line_is_taken_back_when_the_file_cannot_grow(tmp_path: Path) -> None:
    ran = _python(
        """
        import resource, signal
        from spokeshave.errors.files import CannotWrite

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        journal.record("a", "x" * 900)
        try:
            journal.record("b", "x" * 900)
        except CannotWrite as error:
            print(error.why)
        journal.record("c", 3)
        """,
        tmp_path / "j",
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, os.strerror(errno.EFBIG)), ran.stderr
    assert Journal(tmp_path / "j").done == {"a": "x" * 900, "c": 3}


def test_a_kill_keeps_all_that_was_recorded(tmp_path: Path) -> None:
    ran = _python(
        """
        import os, signal
        for number in range(5):
            journal.record(str(number), number)
        with Path(sys.argv[1]).open("ab", buffering=0) as stream:
            stream.write(b'{"key": "5", "va')
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path / "j",
    )
    assert ran.returncode == -9, ran.stderr
    assert Journal(tmp_path / "j").done == {str(number): number for number in range(5)}


def test_every_record_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, int]] = []
    journal = Journal(tmp_path / "j")
    monkeypatch.setattr(_disk, "sync", lambda path: synced.append((path.name, path.stat().st_size)))
    journal.record("a", 1)
    size = (tmp_path / "j").stat().st_size
    journal.record("b", 2)
    assert synced[0] == ("j", size)
    assert synced[1][0] == tmp_path.name  # the name of a file that is new
    assert synced[2:] == [("j", 2 * size)]


def test_a_folder_in_the_place_of_a_journal_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotRead):
        Journal(tmp_path)


def _python(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    head = """
    import sys
    from pathlib import Path
    from spokeshave.files import Journal

    journal = Journal(Path(sys.argv[1]))
    """
    command = [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(code), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
