"""The embedded digits: what they are, how they are split, that they never change."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import spokeshave.data.handwritten as handwritten
from spokeshave.data import digits
from spokeshave.errors.data import NotPositive
from spokeshave.errors.registry import UnknownName

FILE = Path(handwritten.__file__).with_name("digits.npz")


def _digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def test_the_stored_numbers_are_those_of_the_data_set() -> None:
    with np.load(FILE) as stored:
        found = _digest(stored["pixels"], stored["labels"])
        counts = np.bincount(stored["labels"])
    assert found == "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_file_is_the_one_that_its_note_describes() -> None:
    note = FILE.with_name("DIGITS.md").read_text(encoding="utf-8")
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() in note
    assert "CC BY 4.0" in note
    assert "BSD 3-Clause" in note


def test_pictures_have_the_shape_and_range_that_nets_take() -> None:
    images, labels = digits("all")
    assert images.shape == (1797, 1, 28, 28)
    assert labels.shape == (1797, 1)
    assert (str(images.dtype), str(labels.dtype)) == ("float32", "int64")
    assert images.min() == 0.0
    assert 0.9 < images.max() <= 1.0


def test_train_and_test_share_no_sample_and_make_up_all() -> None:
    (train, _), (test, labels), (both, _) = digits("train"), digits("test"), digits("all")
    assert (len(train), len(test)) == (1400, 397)
    np.testing.assert_array_equal(np.concatenate([train, test]), both)
    assert len(np.unique(both.reshape(1797, -1), axis=0)) == 1797
    assert np.bincount(labels[:, 0]).min() >= 36


def test_side_eight_gives_the_originals() -> None:
    images, labels = digits("all", side=8)
    with np.load(FILE) as stored:
        pixels, known = stored["pixels"], stored["labels"]
    order = np.random.RandomState(handwritten.SPLIT_SEED).permutation(1797)
    np.testing.assert_array_equal(images[:, 0] * 16, pixels[order])
    np.testing.assert_array_equal(labels[:, 0], known[order])


def test_enlarging_is_bilinear_between_pixel_centres() -> None:
    small, large = digits("test", side=8)[0][0, 0], digits("test", side=16)[0][0, 0]
    # At twice the size, each new pixel lies a quarter step from the nearest old one.
    row = 0.75 * small[3] + 0.25 * small[4]
    np.testing.assert_allclose(large[7, 1:-1:2], 0.75 * row[:-1] + 0.25 * row[1:], atol=1e-6)
    assert large[0, 0] == small[0, 0]


def test_the_enlarged_pictures_never_change() -> None:
    assert _digest(*digits("all")) == "dd3e80554f1a015bd23e3c7fb62cbd6df7090b035ef2cb77e2fedcf1dc2d362f"


def test_what_a_caller_does_to_the_arrays_stays_with_the_caller() -> None:
    images, labels = digits("test")
    images[:] = 7
    labels[:] = 7
    assert digits("test")[0].max() <= 1.0
    assert len(np.unique(digits("test")[1])) == 10


def test_the_file_is_read_and_enlarged_once() -> None:
    digits("train")
    misses = handwritten._shuffled.cache_info().misses
    digits("test")
    assert handwritten._shuffled.cache_info().misses == misses


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="train"):
        digits("trian")


def test_a_side_of_nothing_is_refused() -> None:
    with pytest.raises(NotPositive, match="side is 0"):
        digits(side=0)
