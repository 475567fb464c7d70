"""Feeds: every batch is checked, limits hold, the reader's failures keep their cause."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

from spokeshave.data import Feed, open_data, preflight
from spokeshave.errors.data import BatchNotFinite, DtypeDoesNotFit, LabelsMissing, NoData, ReaderFailed
from spokeshave.graph.view import INPUT, Value
from spokeshave.report import Report

X = (Value("x", (-1, 2), "float32", INPUT),)
FIXED = (Value("x", (4, 2), "float32", INPUT),)


def _rows(count: int, start: int = 0) -> np.ndarray:
    return np.arange(start * 2, (start + count) * 2, dtype=np.float32).reshape(count, 2)


def _sizes(feed: Feed) -> list[int]:
    return [batch.size for batch in feed]


def test_not_only_the_first_batch_is_checked() -> None:
    bad = _rows(3)
    bad[2, 1] = np.nan
    batches = iter(open_data([_rows(3), _rows(3), bad], inputs=X))
    assert [next(batches).size, next(batches).size] == [3, 3]
    with pytest.raises(BatchNotFinite, match=r"Batch 2: .*at \[2, 1\]"):
        next(batches)


def test_a_readers_own_error_is_told_with_its_batch_and_stays_the_cause() -> None:
    def reader() -> Iterator[np.ndarray]:
        yield _rows(3)
        raise KeyError("no such picture")

    with pytest.raises(
        ReaderFailed, match="reader raised KeyError where batch 1 was due: 'no such picture'"
    ) as seen:
        list(open_data(reader, inputs=X))
    assert isinstance(seen.value.__cause__, KeyError)
    assert str(pickle.loads(pickle.dumps(seen.value))) == str(seen.value)


def test_a_function_that_fails_before_its_first_batch_is_a_failed_reader() -> None:
    def reader() -> Iterator[np.ndarray]:
        raise FileNotFoundError("list.txt")

    with pytest.raises(ReaderFailed, match="FileNotFoundError where batch 0"):
        list(open_data(reader, inputs=X))


def test_an_error_of_ours_inside_a_reader_keeps_its_kind() -> None:
    inner = open_data(lambda: iter([]), inputs=X)
    with pytest.raises(NoData, match="<lambda>"):
        list(open_data(lambda: iter(inner), inputs=X))


def test_a_source_without_batches_is_no_data() -> None:
    with pytest.raises(NoData, match="it yielded no batch"):
        list(open_data([], inputs=X))


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3]), (99, [3, 3, 3])])
def test_a_limit_counts_samples_and_cuts_the_last_batch(limit: int, sizes: list[int]) -> None:
    feed = open_data([(_rows(3), np.arange(3))] * 3, inputs=X, limit=limit)
    assert _sizes(feed) == sizes
    assert [len(batch.labels) for batch in feed if batch.labels is not None] == sizes


def test_no_batch_is_pulled_beyond_the_limit() -> None:
    def reader() -> Iterator[np.ndarray]:
        yield _rows(3)
        raise AssertionError("pulled too much")

    assert _sizes(open_data(reader, inputs=X, limit=3)) == [3]


def test_a_fixed_batch_is_never_cut() -> None:
    assert _sizes(open_data([_rows(4)] * 3, inputs=FIXED, limit=9)) == [4, 4]
    with pytest.raises(NoData, match="within the limit of 3 samples"):
        list(open_data([_rows(4)], inputs=FIXED, limit=3))


def test_an_input_of_fixed_length_is_not_cut_with_the_samples() -> None:
    inputs = (*X, Value("scale", (3,), "float32", INPUT))
    batch = next(iter(open_data([(_rows(3), np.ones(3, np.float32))], inputs=inputs, limit=2)))
    assert (len(batch.inputs["x"]), len(batch.inputs["scale"])) == (2, 3)


def test_labels_that_are_needed_and_missing_are_an_error() -> None:
    with pytest.raises(LabelsMissing, match="Batch 0 of the given list has no labels"):
        list(open_data([_rows(3)], inputs=X, labels=True))
    labelled = open_data([(_rows(3), np.arange(3))], inputs=X, labels=True)
    assert next(iter(labelled)).labels is not None


def test_preflight_says_what_the_first_batch_holds() -> None:
    feed = open_data([(_rows(3), np.array([[4], [9], [7]]))], inputs=X)
    report = preflight(feed, X)
    assert [row.subject for row in report.rows] == ["x", "labels"]
    assert report.rows[0].facts == {"shape": "[3, 2]", "dtype": "float32", "min": 0.0, "max": 5.0}
    assert report.rows[1].facts["max"] == 9
    assert Report.from_json(report.to_json()) == report


def test_preflight_checks_against_the_inputs_that_it_is_given() -> None:
    feed = open_data([_rows(3)], inputs=X)
    with pytest.raises(DtypeDoesNotFit):
        preflight(feed, (Value("x", (-1, 2), "int64", INPUT),))


def test_preflight_takes_no_batch_from_a_generator() -> None:
    feed = open_data((_rows(2, i) for i in range(3)), inputs=X)
    preflight(feed, X)
    assert [batch.inputs["x"][0, 0] for batch in feed] == [0.0, 2.0, 4.0]


def test_preflight_reports_samples_that_are_left_over() -> None:
    report = preflight(open_data(_rows(10), inputs=FIXED), FIXED)
    assert report.facts["samples"] == 8
    assert [(r.code, r.subject) for r in report.reasons] == [
        ("samples-left-over", "last 2 of the given ndarray")
    ]
