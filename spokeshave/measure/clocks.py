"""Timing several things against one another, fairly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from spokeshave.errors.measure import CannotTime

WARM_UPS = 3


@dataclass(frozen=True)
class Timing:
    """Time of one call: the median of the rounds, and what a tenth of them stayed below and above."""

    median_ms: float
    low_ms: float
    high_ms: float
    rounds: int


def clock(
    calls: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 7,
    chunk_ms: float = 60,
    rest_ms: float = 40,
) -> dict[str, Timing]:
    """The time of each call, in milliseconds, measured side by side.

    All are warmed up first. Each round then takes every call in turn: it rests for `rest_ms`, since the
    threads of an engine go on spinning after a run and rob the next one (300 ms after Paddle on several
    threads), calls once untimed, and repeats the call for about `chunk_ms`. Costs about
    `rounds * len(calls) * (chunk_ms + rest_ms)` and two calls more for each.
    """
    for setting, value, least in (("rounds", rounds, 1), ("chunk_ms", chunk_ms, 0), ("rest_ms", rest_ms, 0)):
        if value < least:
            raise CannotTime(setting=setting, value=value, least=least)
    repeats = {name: _repeats(call, chunk_ms) for name, call in calls.items()}
    seen: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(rest_ms / 1000)
            call()
            seen[name].append(_timed_ms(call, repeats[name]))
    return {name: _timing(times) for name, times in seen.items()}


def _repeats(call: Callable[[], object], chunk_ms: float) -> int:
    for _ in range(WARM_UPS):
        call()
    return max(1, round(chunk_ms / max(_timed_ms(call, 1), 1e-4)))


def _timed_ms(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) * 1000 / repeats


def _timing(times: list[float]) -> Timing:
    low, median, high = (float(value) for value in np.percentile(times, (10, 50, 90)))
    return Timing(median, low, high, len(times))
