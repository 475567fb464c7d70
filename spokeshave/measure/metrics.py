"""How often a classifier is right."""

from __future__ import annotations

import numpy as np

from spokeshave.errors.measure import LabelsDoNotFit


def accuracy(outputs: np.ndarray, labels: np.ndarray, k: int = 1) -> float:
    """The share of samples whose label is among the `k` highest scores, 0 to 1.

    >>> accuracy(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
    0.5
    """
    return float(correct(outputs, labels, k).mean())


def correct(outputs: np.ndarray, labels: np.ndarray, k: int = 1) -> np.ndarray:
    """For each sample, whether its label is among the `k` highest scores.

    `outputs` is [N, classes], `labels` [N] or [N, 1]. Of equal scores the lower class counts as the higher
    score, as `argmax` has it, so a model that says the same of everything is not taken for a good one.
    """
    wanted = _checked(outputs, labels)
    own = np.take_along_axis(outputs, wanted[:, None], axis=1)
    is_before = np.arange(outputs.shape[1]) < wanted[:, None]
    # `not <=` in place of `>`: a score of NaN counts against the sample.
    ahead = ~(outputs <= own) | ((outputs == own) & is_before)
    ahead[np.arange(len(wanted)), wanted] = np.isnan(own[:, 0])
    is_right: np.ndarray = ahead.sum(axis=1) < k
    return is_right


def _checked(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    found = _misfit(outputs, labels)
    if found:
        raise LabelsDoNotFit(labels=str(list(labels.shape)), outputs=str(list(outputs.shape)), found=found)
    return labels.reshape(-1).astype(np.int64)


def _misfit(outputs: np.ndarray, labels: np.ndarray) -> str:
    if outputs.ndim != 2:
        return "scores need two dimensions"
    if labels.shape not in ((len(outputs),), (len(outputs), 1)) or not len(outputs):
        return "there must be one label for each sample"
    if labels.dtype.kind not in "iu":
        return f"labels are {labels.dtype}, not whole numbers"
    if labels.min() < 0 or labels.max() >= outputs.shape[1]:
        return f"labels run from {labels.min()} to {labels.max()}, classes from 0 to {outputs.shape[1] - 1}"
    return ""
