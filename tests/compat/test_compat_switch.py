"""`enable` and `disable`: one switch, and Paddle's own objects behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from compat_nets import switched
from paddle import static

from spokeshave import compat


@pytest.fixture(autouse=True)
def off() -> Iterator[None]:
    with switched(False):
        yield


@pytest.mark.parametrize("patch", compat.PATCHES, ids=lambda p: f"{p.owner.__name__}.{p.name}")
def test_disable_puts_the_very_object_back(patch: compat.Patch) -> None:
    original = patch.now()
    compat.enable()
    assert patch.now() is not original
    compat.disable()
    assert patch.now() is original


def test_no_attribute_is_patched_twice() -> None:
    places = [(patch.owner, patch.name) for patch in compat.PATCHES]
    assert len(set(places)) == len(places)


def test_enabling_twice_is_enabling_once() -> None:
    originals = [patch.now() for patch in compat.PATCHES]
    compat.disable()
    compat.enable()
    patched = [patch.now() for patch in compat.PATCHES]
    compat.enable()
    assert all(patch.now() is found for patch, found in zip(compat.PATCHES, patched))
    compat.disable()
    compat.disable()
    assert all(patch.now() is original for patch, original in zip(compat.PATCHES, originals))


def test_threads_that_switch_at_once_leave_the_originals() -> None:
    originals = [patch.now() for patch in compat.PATCHES]

    def switch() -> None:
        for _ in range(50):
            compat.enable()
            static.name_scope("x")
            compat.disable()

    threads = [threading.Thread(target=switch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compat.disable()
    assert all(patch.now() is original for patch, original in zip(compat.PATCHES, originals))


def test_only_the_door_for_old_scripts_may_import_it() -> None:
    table = json.loads((Path(__file__).parents[2] / "docs" / "map.json").read_text(encoding="utf-8"))
    assert [room for room, may in table["imports"].items() if "compat" in may] == ["slim"]
