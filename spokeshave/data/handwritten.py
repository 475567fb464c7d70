"""The handwritten digits that come with Spokeshave, so that everything can be tried without a download."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np

from spokeshave.errors.data import NotPositive
from spokeshave.errors.registry import UnknownName
from spokeshave.registry import nearest

TRAIN_COUNT = 1400
# Of the seeds from 0 on, the first whose test split has every digit 36 to 47 times.
SPLIT_SEED = 2
DARKEST = np.float32(16)
SPLITS = {"train": slice(0, TRAIN_COUNT), "test": slice(TRAIN_COUNT, None), "all": slice(0, None)}


def digits(split: str = "train", side: int = 28) -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits: pictures float32 [N, 1, side, side] in [0, 1], labels int64 [N, 1].

    `train` has 1400 samples, `test` the other 397, `all` both in that order; samples are shuffled once and
    for all. The originals are 8 pixels wide (`side=8` gives them as they are), others are bilinear
    enlargements, the same bits on every machine. Arrays are the caller's own; the first call takes
    some 50 ms, later ones copy.

    >>> images, labels = digits("test")
    >>> images.shape, labels.shape
    ((397, 1, 28, 28), (397, 1))
    """
    if split not in SPLITS:
        raise UnknownName(what="split of the digits", name=split, nearest=nearest(split, SPLITS))
    if side < 1:
        raise NotPositive(name="side", value=side)
    images, labels = _shuffled(side)
    return images[SPLITS[split]].copy(), labels[SPLITS[split]].copy()


@lru_cache(maxsize=4)
def _shuffled(side: int) -> tuple[np.ndarray, np.ndarray]:
    with (
        resources.files("spokeshave.data").joinpath("digits.npz").open("rb") as file,
        np.load(file) as stored,
    ):
        pixels, labels = stored["pixels"], stored["labels"]
    # RandomState is frozen by NumPy's policy; default_rng may give another order in a later version.
    order = np.random.RandomState(SPLIT_SEED).permutation(len(labels))
    images = pixels[order].astype(np.float32) / DARKEST
    if side != images.shape[-1]:
        images = _stretched(_stretched(images, 1, side), 2, side)
    return images[:, None], labels[order].astype(np.int64)[:, None]


def _stretched(images: np.ndarray, axis: int, length: int) -> np.ndarray:
    """Linear interpolation along one axis, pixel centres at half steps, edges held."""
    have = images.shape[axis]
    at = np.clip((np.arange(length) + 0.5) * (have / length) - 0.5, 0, have - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, have - 1)
    share = (at - low).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(images.ndim)])
    # Products and a sum, element by element: a matrix product would differ between BLAS builds.
    stretched: np.ndarray = np.take(images, low, axis) * (1 - share) + np.take(images, high, axis) * share
    return stretched
