"""How close two models are: figures worked by hand, laws, and outputs that do not correspond."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spokeshave.errors.measure import NothingCompared, OutputNotFinite, OutputsDiffer
from spokeshave.errors.registry import UnknownName
from spokeshave.measure import Comparer, Comparison, OutputComparison, compare

SCORES = arrays(np.float32, (6, 3), elements=st.floats(-100, 100, width=32))


def _only(reference: np.ndarray, other: np.ndarray, step: float | None = None) -> OutputComparison:
    return compare([reference], [other], step=step)["output"]


def test_figures_are_those_worked_by_hand() -> None:
    reference = np.array([[3.0, 4.0], [0.0, 2.0]], np.float32)
    other = np.array([[4.0, 2.0], [0.0, 1.0]], np.float32)
    found = _only(reference, other, step=0.5)
    assert found.samples == 2
    assert not found.is_equal
    assert found.top1_agreement == 0.5
    assert found.cosine == pytest.approx((20 / (5 * math.sqrt(20)) + 1) / 2)
    assert found.signal_power == pytest.approx(29 / 4)
    assert found.noise_power == pytest.approx(6 / 4)
    assert found.snr_db == pytest.approx(10 * math.log10(29 / 6))
    assert (found.worst, found.worst_steps) == (2.0, 4.0)


def test_equal_outputs_are_equal_in_every_figure() -> None:
    scores = np.random.RandomState(0).randn(5, 4).astype(np.float32)
    found = _only(scores, scores.copy(), step=0.1)
    assert found.is_equal
    assert (found.top1_agreement, found.worst, found.worst_steps) == (1.0, 0.0, 0.0)
    assert found.snr_db == math.inf
    assert found.cosine == pytest.approx(1.0)


@given(SCORES, SCORES, st.integers(1, 5))
def test_batching_does_not_matter(reference: np.ndarray, other: np.ndarray, cut: int) -> None:
    whole = _only(reference, other)
    parts = compare((reference[:cut], reference[cut:]), (other[:cut], other[cut:]))["output"]
    assert (parts.samples, parts.is_equal, parts.worst) == (whole.samples, whole.is_equal, whole.worst)
    assert parts.top1_agreement == whole.top1_agreement
    assert parts.cosine == pytest.approx(whole.cosine)
    assert parts.noise_power == pytest.approx(whole.noise_power)
    assert parts.signal_power == pytest.approx(whole.signal_power)


@given(SCORES, SCORES)
def test_figures_stay_within_their_range(reference: np.ndarray, other: np.ndarray) -> None:
    found = _only(reference, other)
    assert -1 <= found.cosine <= 1
    assert 0 <= (found.top1_agreement or 0) <= 1
    assert found.worst == pytest.approx(float(np.abs(reference.astype("f8") - other).max()))


@pytest.mark.parametrize(
    "output",
    [
        np.zeros((2, 3, 4), np.float32),
        np.zeros((2, 1), np.float32),
        np.zeros(2, np.float32),
        np.zeros((2, 3), np.int64),
    ],
)
def test_top1_agreement_is_for_scores_only(output: np.ndarray) -> None:
    assert _only(output, output).top1_agreement is None


def test_a_scalar_output_is_one_sample() -> None:
    found = _only(np.array(2.0), np.array(1.0))
    assert (found.samples, found.worst) == (1, 1.0)


def test_zeros_agree_with_zeros_and_with_nothing_else() -> None:
    zeros, ones = np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32)
    assert _only(zeros, zeros).cosine == 1.0
    assert _only(zeros, ones).cosine == 0.0
    assert _only(zeros, ones).snr_db == -math.inf


@pytest.mark.parametrize("other", [np.array([[-0.0]], np.float32), np.array([[0.0]], np.float64)])
def test_equal_means_to_the_bit_and_of_one_type(other: np.ndarray) -> None:
    found = _only(np.array([[0.0]], np.float32), other)
    assert not found.is_equal
    assert found.snr_db == math.inf


def test_each_output_is_compared_by_its_name_and_step() -> None:
    reference = {"a": np.zeros((1, 2)), "b": np.ones((1, 2))}
    other = {"b": np.full((1, 2), 1.5), "a": np.zeros((1, 2))}
    found = compare([reference], [other], step={"b": 0.25})
    assert [output.name for output in found.outputs] == ["a", "b"]
    assert found["b"].worst_steps == 2.0
    assert found["a"].worst_steps is None
    assert found["a"].is_equal
    assert not found.is_equal


def test_an_unknown_output_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="output"):
        compare([np.ones((1, 2))], [np.ones((1, 2))])["outputs"]


@pytest.mark.parametrize("change", [0.0, 0.5])
def test_a_comparison_survives_json(change: float) -> None:
    found = compare([np.ones((2, 3))], [np.ones((2, 3)) + change], step=0.1)
    again = msgspec.json.decode(msgspec.json.encode(found), type=Comparison)
    assert again == found
    assert again["output"].snr_db == found["output"].snr_db


def test_other_names_are_refused_in_any_batch() -> None:
    comparer = Comparer()
    with pytest.raises(
        OutputsDiffer, match="In batch 0, the reference has the outputs a, the other has the outputs b"
    ):
        comparer.watch({"a": np.ones(1)}, {"b": np.ones(1)})
    comparer.watch({"a": np.ones(1)}, {"a": np.ones(1)})
    with pytest.raises(OutputsDiffer, match="batch 1"):
        comparer.watch({"c": np.ones(1)}, {"c": np.ones(1)})


def test_other_shapes_are_refused_even_where_they_would_broadcast() -> None:
    with pytest.raises(OutputsDiffer, match=r"'output' of shape \[2, 1\].* of shape \[1, 2\]"):
        _only(np.ones((2, 1)), np.ones((1, 2)))


def test_a_refused_batch_leaves_no_trace() -> None:
    comparer = Comparer()
    comparer.watch({"a": np.ones(1), "b": np.ones(1)}, {"a": np.ones(1), "b": np.ones(1)})
    with pytest.raises(OutputsDiffer):
        comparer.watch({"a": np.zeros(1), "b": np.ones(1)}, {"a": np.ones(1), "b": np.ones(2)})
    assert comparer.result()["a"].is_equal


@pytest.mark.parametrize(
    ("ours", "theirs", "told"), [(1, 2, "no more batches, the other has one more"), (2, 1, "one more")]
)
def test_one_model_run_on_more_batches_is_refused(ours: int, theirs: int, told: str) -> None:
    with pytest.raises(OutputsDiffer, match=f"In batch 1, the reference has {told}"):
        compare([np.ones(1)] * ours, [np.ones(1)] * theirs)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_one_model_alone_blew_up_are_told(number: float) -> None:
    good, bad = np.ones((2, 3)), np.ones((2, 3))
    bad[1, 2] = number
    with pytest.raises(OutputNotFinite, match=r"1 numbers of the output 'output'.*The other has them"):
        _only(good, bad)
    with pytest.raises(OutputNotFinite, match="The reference has them"):
        _only(bad, good)


def test_infinities_that_both_models_give_are_no_difference() -> None:
    masked = np.array([[1.0, -np.inf, 3.0]])
    found = _only(masked, masked + np.array([[0.0, 0.0, 0.5]]))
    assert (found.worst, found.top1_agreement) == (0.5, 1.0)
    assert math.isfinite(found.cosine)


def test_nothing_seen_is_no_agreement() -> None:
    with pytest.raises(NothingCompared):
        Comparer().result()
    with pytest.raises(NothingCompared):
        compare([np.ones((0, 3))], [np.ones((0, 3))])
