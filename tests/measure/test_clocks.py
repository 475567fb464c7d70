"""The clock: order of what is called, and which of two calls takes longer."""

from __future__ import annotations

import time
from functools import partial

import pytest

from spokeshave.errors.measure import CannotTime
from spokeshave.measure import clock
from spokeshave.measure.clocks import WARM_UPS


def test_the_slower_call_is_found_slower() -> None:
    calls = {"slow": partial(time.sleep, 0.005), "fast": partial(time.sleep, 0)}
    times = clock(calls, rounds=3, chunk_ms=6, rest_ms=0)
    assert list(times) == ["slow", "fast"]
    assert times["slow"].median_ms > times["fast"].median_ms
    assert times["slow"].low_ms <= times["slow"].median_ms <= times["slow"].high_ms
    assert times["slow"].rounds == 3


def test_a_time_is_of_one_call_whatever_the_chunk() -> None:
    # A sleep never ends early, and one of 2 ms repeated for 20 ms would show ten times that.
    time_ms = clock({"nap": partial(time.sleep, 0.002)}, rounds=1, chunk_ms=20, rest_ms=0)["nap"].median_ms
    assert 2 <= time_ms < 20


def test_calls_take_turns_each_with_an_untimed_call_first() -> None:
    seen: list[str] = []
    clock({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")}, rounds=2, chunk_ms=0, rest_ms=0)
    warm_up = ["a"] * (WARM_UPS + 1) + ["b"] * (WARM_UPS + 1)
    assert seen == warm_up + ["a", "a", "b", "b"] * 2


def test_nothing_to_time_takes_no_time() -> None:
    assert clock({}) == {}


@pytest.mark.parametrize("settings", [{"rounds": 0}, {"chunk_ms": -1}, {"rest_ms": -1}])
def test_no_rounds_and_negative_times_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(CannotTime, match=next(iter(settings))):
        clock({}, **settings)
