"""Accuracy: by hand, against sorting, and labels that cannot be right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spokeshave.errors.measure import LabelsDoNotFit
from spokeshave.measure import accuracy, correct

SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
LABELS = np.array([1, 2, 1, 0])


def test_top1_and_topk_are_those_counted_by_hand() -> None:
    assert correct(SCORES, LABELS).tolist() == [True, False, False, True]
    assert accuracy(SCORES, LABELS) == 0.5
    assert accuracy(SCORES, LABELS, k=2) == 0.75
    assert accuracy(SCORES, LABELS, k=3) == 1.0


def test_a_column_of_labels_is_as_good_as_a_row() -> None:
    assert accuracy(SCORES, LABELS[:, None].astype(np.uint8)) == accuracy(SCORES, LABELS)


@given(
    arrays(np.int64, (8, 5), elements=st.integers(-2, 2)),
    arrays(np.int64, 8, elements=st.integers(0, 4)),
    st.integers(1, 5),
)
def test_ties_go_to_the_lower_class_as_in_argmax(scores: np.ndarray, labels: np.ndarray, k: int) -> None:
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    expected = (best == labels[:, None]).any(axis=1)
    np.testing.assert_array_equal(correct(scores, labels, k), expected)
    np.testing.assert_array_equal(correct(scores, labels), scores.argmax(axis=1) == labels)


def test_a_model_that_says_the_same_of_all_is_not_good() -> None:
    assert accuracy(np.zeros((10, 10)), np.arange(10)) == 0.1


def test_scores_of_nan_are_never_right() -> None:
    scores = np.full((3, 3), np.nan)
    assert accuracy(scores, np.arange(3)) == 0.0
    assert accuracy(scores, np.arange(3), k=3) == 0.0
    assert accuracy(np.array([[0.9, np.nan, 0.0]]), np.array([0])) == 0.0


@pytest.mark.parametrize(
    ("outputs", "labels", "told"),
    [
        (SCORES, LABELS[:3], "one label for each sample"),
        (SCORES, np.eye(4, 3), "one label for each sample"),
        (SCORES[:0], LABELS[:0], "one label for each sample"),
        (SCORES[0], LABELS, "two dimensions"),
        (SCORES, LABELS.astype(np.float32), "float32, not whole numbers"),
        (SCORES, LABELS + 1, "labels run from 1 to 3, classes from 0 to 2"),
        (SCORES, LABELS - 1, "labels run from -1"),
    ],
)
def test_labels_that_do_not_belong_are_refused(outputs: np.ndarray, labels: np.ndarray, told: str) -> None:
    with pytest.raises(LabelsDoNotFit, match=told):
        accuracy(outputs, labels)
