"""What holds for every observer on the shelf, whichever file it came from."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spokeshave.errors.quant import ObserverSawNaN, ObserverSawNothing
from spokeshave.quant import OBSERVERS
from spokeshave.quant.observers import Observer

HIGHEST, LEAST = float(np.finfo(np.float32).max), float(np.float32(1e-45))
FINITE = st.floats(-HIGHEST, HIGHEST, width=32)
VALUES = st.lists(FINITE, min_size=1, max_size=40)
EXTREMES = [HIGHEST, -HIGHEST, LEAST, -LEAST, 0.0, -0.0, 1.0]

every_observer = pytest.mark.parametrize("name", OBSERVERS.names())


def fresh(name: str) -> Observer:
    return OBSERVERS[name]("site")


def bound_of(name: str, *batches: list[float]) -> float:
    observer = fresh(name)
    for batch in batches:
        observer.watch(np.array(batch, np.float32))
    return observer.bound()


@every_observer
@given(seen=VALUES, cuts=st.lists(st.integers(0, 40), max_size=4))
@example(seen=EXTREMES, cuts=[3])
@example(seen=[3.0, 1.0, 2.0], cuts=[1])
@example(seen=[1.0, 3.0, 2.0, 1.0], cuts=[0, 2])
def test_batching_does_not_matter(name: str, seen: list[float], cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(seen)) for cut in cuts), len(seen)]
    parts = [seen[start:end] for start, end in zip(edges, edges[1:])]
    assert bound_of(name, *parts) == bound_of(name, seen)


@every_observer
@given(seen=VALUES)
@example(seen=EXTREMES)
@example(seen=[0.0])
@example(seen=[-2.0, 1.0, 1.5])
def test_the_bound_lies_within_what_was_seen(name: str, seen: list[float]) -> None:
    magnitudes = np.abs(np.array(seen, np.float32))
    bound = bound_of(name, seen)
    assert isinstance(bound, float)
    assert float(magnitudes.min()) <= bound <= float(magnitudes.max())


@every_observer
@given(only=FINITE)
@example(only=HIGHEST)
@example(only=LEAST)
@example(only=-0.0)
def test_one_value_is_its_own_bound(name: str, only: float) -> None:
    assert bound_of(name, [only]) == abs(float(np.float32(only)))


@every_observer
@given(seen=VALUES)
def test_the_sign_does_not_matter(name: str, seen: list[float]) -> None:
    assert bound_of(name, seen) == bound_of(name, [-value for value in seen])


@every_observer
@given(seen=st.lists(FINITE, min_size=6, max_size=6))
def test_the_shape_does_not_matter(name: str, seen: list[float]) -> None:
    flat, shaped = fresh(name), fresh(name)
    flat.watch(np.array(seen, np.float32))
    shaped.watch(np.array(seen, np.float32).reshape(2, 1, 3).transpose(2, 0, 1))
    assert shaped.bound() == flat.bound()


@every_observer
def test_many_values_of_many_batches_are_seen(name: str) -> None:
    values = np.random.RandomState(0).standard_normal(70_000).astype(np.float32)
    whole, parts = fresh(name), fresh(name)
    whole.watch(values)
    for part in np.array_split(values, 7):
        parts.watch(part)
    assert whole.bound() == parts.bound() > 0


@every_observer
@pytest.mark.parametrize("batches", [0, 1, 3])
def test_having_seen_nothing_is_an_error(name: str, batches: int) -> None:
    observer = fresh(name)
    for _ in range(batches):
        observer.watch(np.zeros((0, 3), np.float32))
    with pytest.raises(ObserverSawNothing, match=f"'site' saw no value in {batches}"):
        observer.bound()


@every_observer
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@given(before=VALUES, where=st.integers(0, 40))
def test_what_is_no_finite_number_is_an_error(name: str, bad: float, before: list[float], where: int) -> None:
    observer = fresh(name)
    observer.watch(np.array(before, np.float32))
    values = list(before)
    values.insert(where, bad)
    with pytest.raises(ObserverSawNaN, match="'site' saw 1 values"):
        observer.watch(np.array(values, np.float32))


@every_observer
def test_finite_values_whose_sum_is_not_are_no_error(name: str) -> None:
    assert bound_of(name, [HIGHEST] * 5) == HIGHEST


@every_observer
def test_a_batch_is_neither_changed_nor_kept(name: str) -> None:
    observer, values = fresh(name), np.array([-1.0, 2.0], np.float32)
    observer.watch(values)
    assert values.tolist() == [-1.0, 2.0]
    values[:] = 9.0
    assert observer.bound() == bound_of(name, [-1.0, 2.0])


@every_observer
def test_asking_twice_changes_nothing(name: str) -> None:
    observer = fresh(name)
    observer.watch(np.array([-1.0, 2.0], np.float32))
    first = observer.bound()
    assert observer.bound() == first
    observer.watch(np.array([-1.0, 2.0], np.float32))
    assert observer.bound() == bound_of(name, [-1.0, 2.0, -1.0, 2.0])


@every_observer
def test_two_sites_do_not_share_what_they_saw(name: str) -> None:
    one, other = fresh(name), fresh(name)
    one.watch(np.array([5.0], np.float32))
    other.watch(np.array([3.0], np.float32))
    assert (one.bound(), other.bound()) == (5.0, 3.0)


@every_observer
def test_it_has_a_name_to_type_and_a_page(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    page = (inspect.getdoc(OBSERVERS[name]) or "").splitlines()
    assert page[0].endswith(".")
    assert {"## When to use it", "## Cost"} <= set(page)


def test_there_are_observers_to_test() -> None:
    assert "abs-max" in OBSERVERS.names()
