"""A feed: checked batches that can be gone through more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spokeshave.data.batch import Batch, fit
from spokeshave.errors import SpokeshaveError
from spokeshave.errors.data import LabelsMissing, NoData, ReaderFailed
from spokeshave.graph.view import Value
from spokeshave.report import Reason, Report, Row


@dataclass(frozen=True)
class Feed:
    """Batches for a model. Each is checked against the model's inputs as it is pulled.

    Going through a feed again gives the same batches, as far as the source does: a function that shuffles
    gives another order each time. `size` is the number of samples, None where only a full pass would tell.
    `limit` is the most samples that are handed out; the last batch is cut to meet it.
    """

    source: str
    inputs: tuple[Value, ...]
    batches: Callable[[], Iterable[Any]]
    limit: int | None = None
    needs_labels: bool = False
    size: int | None = None
    left_out: tuple[Reason, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the model's inputs, which are the keys of each batch."""
        return tuple(value.id for value in self.inputs)

    def __iter__(self) -> Iterator[Batch]:
        seen = 0
        for number, item in enumerate(self._pulled()):
            batch = self._within_limit(self._checked(item, number), seen)
            if batch is None:
                break
            seen += batch.size
            yield batch
            if seen == self.limit:
                return
        if not seen:
            limited = "" if self.limit is None else f" within the limit of {self.limit} samples"
            raise NoData(source=self.source, found=f"it yielded no batch{limited}")

    def _checked(self, item: Any, number: int) -> Batch:
        batch = fit(item, self.inputs, number, self.source)
        if self.needs_labels and batch.labels is None:
            raise LabelsMissing(batch=number, source=self.source)
        return batch

    def _within_limit(self, batch: Batch, seen: int) -> Batch | None:
        """The batch, cut to what the limit leaves; None where the model takes whole batches only."""
        if self.limit is None or seen + batch.size <= self.limit:
            return batch
        first = self.inputs[0].shape
        return None if first and first[0] > 0 else _cut(batch, self.limit - seen, self.inputs)

    def _pulled(self) -> Iterator[Any]:
        batches: Iterator[Any] | None = None
        number = 0
        while True:
            try:
                batches = iter(self.batches()) if batches is None else batches
                item = next(batches)
            except StopIteration:
                return
            except SpokeshaveError:
                raise
            except Exception as error:  # A reader may raise anything at all; its error stays the cause.
                raise self._failure(error, number) from error
            yield item
            number += 1

    def _failure(self, error: Exception, number: int) -> ReaderFailed:
        return ReaderFailed(source=self.source, batch=number, kind=type(error).__name__, text=str(error))


def preflight(feed: Feed, inputs: tuple[Value, ...]) -> Report:
    """Pulls one batch, checks it against a model's inputs and says what it holds.

    Meant to run before anything slow starts. What does not fit is raised as an error of its own kind.
    The batch is not lost to the feed.
    """
    batch = next(iter(replace(feed, inputs=inputs)))
    rows = [_row(name, array) for name, array in batch.inputs.items()]
    if batch.labels is not None:
        rows.append(_row("labels", batch.labels))
    facts: dict[str, Any] = {"source": feed.source, "samples": feed.size, "batch_size": batch.size}
    return Report("Data", facts, tuple(rows), feed.left_out)


def _cut(batch: Batch, count: int, inputs: tuple[Value, ...]) -> Batch:
    size, whole = batch.size, {v.id for v in inputs if not v.shape or v.shape[0] > 0}
    arrays = {n: a if n in whole or len(a) != size else a[:count] for n, a in batch.inputs.items()}
    labels = batch.labels
    return Batch(arrays, labels[:count] if labels is not None and labels.ndim else labels)


def _row(name: str, array: np.ndarray) -> Row:
    facts: dict[str, Any] = {"shape": str(list(array.shape)), "dtype": str(array.dtype)}
    if array.dtype.kind not in "biuf" or not array.size:
        return Row(name, "read", facts)
    return Row(name, "fits", {**facts, "min": array.min().item(), "max": array.max().item()})
