"""How close one model's outputs are to another's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Optional, Union

import numpy as np

from spokeshave.errors.measure import NothingCompared, OutputNotFinite, OutputsDiffer
from spokeshave.errors.registry import UnknownName
from spokeshave.registry import nearest

Outputs = Union[Mapping[str, np.ndarray], np.ndarray]
Step = Union[float, Mapping[str, float], None]
Figure = Optional[float]
ONLY_OUTPUT = "output"


@dataclass(frozen=True)
class OutputComparison:
    """One output of two models, over all samples.

    `top1_agreement` is the share of samples with the same highest class, None unless the output is scores
    [N, classes]. `cosine` is the mean over samples. `worst` is the largest difference, `worst_steps` the same
    in quantizer steps, None where no step is known. `signal_power` and `noise_power` are mean squares of the
    reference and of the difference. `is_equal` is meant to the bit.
    """

    name: str
    samples: int
    is_equal: bool
    top1_agreement: Figure
    cosine: float
    signal_power: float
    noise_power: float
    worst: float
    worst_steps: Figure

    @property
    def snr_db(self) -> float:
        """Signal to noise in decibels: infinite where nothing differs.

        Computed from the two powers, which are finite, so that a comparison survives JSON.
        """
        if self.noise_power == 0:
            return math.inf
        return 10 * math.log10(self.signal_power / self.noise_power) if self.signal_power else -math.inf


@dataclass(frozen=True)
class Comparison:
    """Every output of two models compared, in the order of the reference."""

    outputs: tuple[OutputComparison, ...]

    def __getitem__(self, name: str) -> OutputComparison:
        by_name = {output.name: output for output in self.outputs}
        if name not in by_name:
            raise UnknownName(what="output", name=name, nearest=nearest(name, by_name))
        return by_name[name]

    @property
    def is_equal(self) -> bool:
        """Whether all outputs are equal to the bit."""
        return all(output.is_equal for output in self.outputs)


class Comparer:
    """Compares batch by batch, with the memory of one batch.

    `step` is the size of a quantizer step, for all outputs or by name.

    >>> comparer = Comparer(step=0.1)
    >>> comparer.watch({"y": np.array([[1.0, 2.0]])}, {"y": np.array([[1.0, 2.1]])})
    >>> round(comparer.result()["y"].worst_steps, 3)
    1.0
    """

    def __init__(self, *, step: Step = None) -> None:
        self._step = step
        self._tallies: dict[str, _Tally] = {}
        self._batches = 0

    def watch(self, reference: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> None:
        """Take one batch of outputs of both models; what does not correspond is an error."""
        number = self._batches
        self._check_names(tuple(reference), tuple(other), number)
        pairs = {name: _checked(name, reference[name], other[name], number) for name in reference}
        for name, (ours, theirs) in pairs.items():
            self._tallies.setdefault(name, _Tally()).watch(ours, theirs)
        self._batches += 1

    def result(self) -> Comparison:
        """What was seen so far; watching may go on."""
        if not any(tally.samples for tally in self._tallies.values()):
            raise NothingCompared()
        return Comparison(tuple(t.result(name, self._step_of(name)) for name, t in self._tallies.items()))

    def _step_of(self, name: str) -> float | None:
        return self._step.get(name) if isinstance(self._step, Mapping) else self._step

    def _check_names(self, ours: tuple[str, ...], theirs: tuple[str, ...], number: int) -> None:
        expected = set(self._tallies) if number else set(ours)
        if set(ours) != expected or set(theirs) != expected:
            raise OutputsDiffer(batch=number, reference=_listed(ours), other=_listed(theirs))


def compare(reference: Iterable[Outputs], other: Iterable[Outputs], *, step: Step = None) -> Comparison:
    """Two models' outputs, batch by batch: dicts by output name, or arrays where there is one output.

    Both are gone through once, side by side, so generators do; one ending before the other is an error.
    A lone array is called `output`.
    """
    comparer = Comparer(step=step)
    for number, (ours, theirs) in enumerate(zip_longest(reference, other)):
        if ours is None or theirs is None:
            told = ("no more batches", "one more batch")
            raise OutputsDiffer(
                batch=number, reference=told[ours is not None], other=told[theirs is not None]
            )
        comparer.watch(_by_name(ours), _by_name(theirs))
    return comparer.result()


class _Tally:
    """Sums over all samples of one output."""

    def __init__(self) -> None:
        self.samples = self.agreed = self.numbers = 0
        self.cosines = self.signal = self.noise = self.worst = 0.0
        self.is_equal = self.is_scores = True

    def watch(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        self.is_equal &= _is_bit_equal(ours, theirs)
        self.is_scores &= ours.ndim == 2 and ours.shape[1] >= 2 and ours.dtype.kind == "f"
        if not ours.size:
            return
        if self.is_scores:
            self.agreed += int((ours.argmax(axis=1) == theirs.argmax(axis=1)).sum())
        x, y = _plain(ours, theirs)
        self.samples += len(x)
        self.numbers += x.size
        self.cosines += float(_cosines(x, y).sum())
        self.signal += float((x * x).sum())
        difference = x - y
        self.noise += float((difference * difference).sum())
        self.worst = max(self.worst, float(np.abs(difference).max()))

    def result(self, name: str, step: float | None) -> OutputComparison:
        samples, numbers = max(self.samples, 1), max(self.numbers, 1)
        return OutputComparison(
            name=name,
            samples=self.samples,
            is_equal=self.is_equal,
            top1_agreement=self.agreed / samples if self.is_scores and self.samples else None,
            cosine=self.cosines / samples,
            signal_power=self.signal / numbers,
            noise_power=self.noise / numbers,
            worst=self.worst,
            worst_steps=self.worst / step if step else None,
        )


def _by_name(outputs: Outputs) -> Mapping[str, np.ndarray]:
    return outputs if isinstance(outputs, Mapping) else {ONLY_OUTPUT: outputs}


def _listed(names: tuple[str, ...]) -> str:
    return f"the outputs {', '.join(names) or 'none'}"


def _checked(name: str, ours: np.ndarray, theirs: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        shapes = (f"{name!r} of shape {list(a.shape)}" for a in (ours, theirs))
        raise OutputsDiffer(batch=number, reference=next(shapes), other=next(shapes))
    is_lone = ~(np.isfinite(ours) & np.isfinite(theirs)) & ~_is_same(ours, theirs)
    if is_lone.any():
        side = "reference" if (is_lone & ~np.isfinite(ours)).any() else "other"
        raise OutputNotFinite(batch=number, output=name, count=int(is_lone.sum()), side=side)
    return ours, theirs


def _is_same(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    is_same: np.ndarray = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    return is_same


def _is_bit_equal(ours: np.ndarray, theirs: np.ndarray) -> bool:
    if ours.dtype != theirs.dtype:
        return False
    as_bytes = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (ours, theirs))
    return np.array_equal(next(as_bytes), next(as_bytes))


def _plain(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 [samples, numbers]; what is not finite is so in both and counts as zero."""
    rows = len(ours) if ours.ndim else 1
    x, y = (a.reshape(rows, -1).astype(np.float64) for a in (ours, theirs))
    is_finite = np.isfinite(x)
    return np.where(is_finite, x, 0.0), np.where(is_finite, y, 0.0)


def _cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The cosine of each pair of rows: 1 for two zero rows, 0 where only one is zero."""
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    both_zero = ~x.any(axis=1) & ~y.any(axis=1)
    products = np.clip((x * y).sum(axis=1), -lengths, lengths)
    cosines: np.ndarray = np.where(both_zero, 1.0, products / np.where(lengths > 0, lengths, 1.0))
    return cosines
