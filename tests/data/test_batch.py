"""Every way in which a batch may not fit the model, in words that say what to do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from spokeshave.data import Batch
from spokeshave.data.batch import fit
from spokeshave.errors.data import (
    BatchDoesNotFit,
    BatchLacksInput,
    BatchNotFinite,
    DtypeDoesNotFit,
    InputUnexpected,
    NoData,
)
from spokeshave.graph.view import INPUT, Value

IMAGE = Value("image", (-1, 1, 4, 4), "float32", INPUT)
IDS = Value("ids", (-1, 3), "int64", INPUT)
MASK = Value("mask", (-1, 3), "bool", INPUT)


def _image(*shape: int) -> np.ndarray:
    return np.full(shape or (2, 1, 4, 4), 0.5, np.float32)


def _fit(item: Any, *inputs: Value) -> Batch:
    return fit(item, inputs or (IMAGE,), 3, "reader")


def test_arrays_go_to_the_inputs_in_order_and_the_rest_are_labels() -> None:
    ids, labels = np.zeros((2, 3), np.int64), np.array([[1], [2]])
    batch = _fit((_image(), ids, labels), IMAGE, IDS)
    assert list(batch.inputs) == ["image", "ids"]
    assert batch.size == 2
    assert batch.labels is not None
    assert batch.labels.tolist() == [[1], [2]]


def test_arrays_go_to_the_inputs_by_name_whatever_their_order() -> None:
    batch = _fit({"labels": [1, 2], "ids": np.zeros((2, 3), np.int64), "image": _image()}, IMAGE, IDS)
    assert list(batch.inputs) == ["image", "ids"]
    assert batch.labels is not None


def test_a_lone_array_needs_no_tuple_and_has_no_labels() -> None:
    assert _fit(_image()).labels is None


def test_a_label_that_the_model_takes_is_input_and_label() -> None:
    label = Value("label", (-1, 1), "int64", INPUT)
    batch = _fit({"image": _image(), "label": np.array([[1], [2]])}, IMAGE, label)
    assert list(batch.inputs) == ["image", "label"]
    assert batch.labels is not None


def test_a_batch_keeps_its_numbers_when_the_reader_fills_its_buffer_again() -> None:
    buffer = _image()
    batch = _fit(buffer)
    buffer[:] = 9
    assert batch.inputs["image"].max() == 0.5
    with pytest.raises(ValueError, match="read-only"):
        batch.inputs["image"][:] = 1


def test_a_missing_input_is_named_with_what_looks_like_it() -> None:
    with pytest.raises(
        BatchLacksInput, match=r"Batch 3 has no array for the input 'image'.* imgae"
    ) as caught:
        _fit({"imgae": _image()})
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), BatchLacksInput)


def test_too_few_arrays_name_the_input_that_is_left_over() -> None:
    with pytest.raises(BatchLacksInput, match="'ids'; the model takes image, ids"):
        _fit((_image(),), IMAGE, IDS)


def test_an_array_that_no_input_takes_is_not_dropped() -> None:
    with pytest.raises(InputUnexpected, match=r"an array 'masks'.* mask\."):
        _fit({"mask": np.ones((2, 3), bool), "masks": _image()}, MASK)


def test_more_arrays_than_inputs_and_labels_are_refused() -> None:
    with pytest.raises(BatchDoesNotFit, match=r"there are 5 arrays.* takes 1 \(image\)"):
        _fit([_image()] * 5)


def test_a_missing_dimension_is_told_with_both_shapes() -> None:
    with pytest.raises(
        BatchDoesNotFit, match=r"'image' has shape \[2, 4, 4\].* \[any, 1, 4, 4\].*4 dimensions"
    ):
        _fit(_image(2, 4, 4))


def test_a_wrong_length_is_told_with_its_dimension() -> None:
    with pytest.raises(BatchDoesNotFit, match=r"3 along dimension 1.*: 1 there.*Resize"):
        _fit(_image(2, 3, 4, 4))


def test_channels_that_come_last_are_recognised() -> None:
    with pytest.raises(BatchDoesNotFit, match=r"transpose\(0, 3, 1, 2\)"):
        _fit(_image(2, 4, 4, 1))


def test_a_fixed_batch_size_is_told() -> None:
    with pytest.raises(BatchDoesNotFit, match="8 samples at a time"):
        _fit(_image(), Value("image", (8, 1, 4, 4), "float32", INPUT))


def test_open_dimensions_take_any_length() -> None:
    batch = _fit(_image(2, 3, 9, 7), Value("image", (-1, 3, -1, -1), "float32", INPUT))
    assert batch.inputs["image"].shape == (2, 3, 9, 7)


def test_samples_of_different_lengths_are_no_array() -> None:
    with pytest.raises(BatchDoesNotFit, match="'ids' holds parts of different lengths"):
        _fit({"ids": [[1, 2, 3], [1]]}, IDS)


@pytest.mark.parametrize(
    ("given", "value", "told"),
    [
        (
            _image().astype(np.float64),
            IMAGE,
            r"is float64.* takes float32.*Convert it: `array.astype\('float32'\)`",
        ),
        (_image().astype(np.uint8), IMAGE, r"is uint8.*divided by 255.*astype\('float32'\)"),
        (np.zeros((2, 3), np.float32), IDS, r"is float32.* takes int64"),
        (np.zeros((2, 3), np.uint64), IDS, r"is uint64.* takes int64"),
        (np.zeros((2, 3), bool), IDS, r"is bool.* takes int64"),
        (np.zeros((2, 3), np.int64), MASK, r"is int64.* takes bool"),
        (np.full((2, 3), None), IDS, r"is object.* takes int64"),
        (np.full((2, 3), "a"), IDS, r"is <U1.* takes int64"),
    ],
)
def test_a_type_of_another_kind_or_range_is_refused(given: np.ndarray, value: Value, told: str) -> None:
    with pytest.raises(DtypeDoesNotFit, match=told):
        _fit(given, value)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (np.array([[1, -2, 3]], np.int32), IDS),
        (np.array([[1, 2, 3]], np.uint8), IDS),
        (np.array([[1, 2, 3]], ">i8"), IDS),
        (np.full((1, 1, 4, 4), 0.1, np.float16), IMAGE),
    ],
)
def test_a_narrower_type_of_the_same_kind_is_widened_exactly(given: np.ndarray, value: Value) -> None:
    array = _fit(given, value).inputs[value.id]
    assert array.dtype == np.dtype(value.dtype)
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, given)


def test_bfloat16_comes_as_its_bits() -> None:
    value = Value("x", (-1,), "bfloat16", INPUT)
    assert _fit(np.array([16256], np.uint16), value).inputs["x"].dtype == np.uint16


@pytest.mark.parametrize(("number", "shown"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_numbers_that_are_not_finite_are_counted_and_placed(number: float, shown: str) -> None:
    image = _image()
    image[1, 0, 2, 3] = image[1, 0, 3, 3] = number
    with pytest.raises(
        BatchNotFinite, match=rf"Batch 3: 2 numbers of 'image'.*\({shown}\) at \[1, 0, 2, 3\]"
    ):
        _fit(image)


def test_the_largest_float_is_finite() -> None:
    assert _fit(np.full((2, 1, 4, 4), np.finfo(np.float32).max)).size == 2


def test_a_batch_without_a_sample_is_no_data() -> None:
    with pytest.raises(NoData, match=r"batch 3 holds no sample \('image' has shape \[0, 1, 4, 4\]\)"):
        _fit(_image(0, 1, 4, 4))
