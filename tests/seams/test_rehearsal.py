"""What a child process does stays in it; how it ended is told."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

import pytest

from spokeshave.seams.rehearsal import fate_of


@pytest.mark.parametrize("kind", [signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE])
def test_what_would_end_the_process_is_told(kind: signal.Signals) -> None:
    assert fate_of(lambda: os.kill(os.getpid(), kind)) == kind.name


class Deadly:
    """Garbage that ends any process but the one that made it."""

    def __init__(self) -> None:
        self.itself, self.home = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGSEGV)


def test_garbage_of_this_process_is_not_collected_in_the_other() -> None:
    gc.collect()
    Deadly()
    assert fate_of(lambda: [[] for _ in range(200_000)]) == ""


def test_what_ends_well_or_with_an_exception_survives() -> None:
    assert fate_of(lambda: None) == ""
    assert fate_of(lambda: 1 / 0) == ""
    assert fate_of(sys.exit) == ""


def test_nothing_it_does_is_seen_here(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done: list[int] = []

    def act() -> None:
        done.append(1)
        os.write(2, b"noise")
        (tmp_path / "ran").touch()

    assert fate_of(act) == ""
    assert (tmp_path / "ran").exists()
    assert done == []
    assert capfd.readouterr().err == ""


def test_a_child_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spokeshave.seams.rehearsal._SECONDS", 1)

    def wait() -> None:
        while True:
            signal.pause()

    assert fate_of(wait) == "SIGALRM"
