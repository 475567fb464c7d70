"""Sources of data: what a user may give, turned into a feed."""

from __future__ import annotations

import copy
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union

import numpy as np

from spokeshave.data.batch import LABEL_NAMES
from spokeshave.data.feed import Feed
from spokeshave.data.handwritten import digits
from spokeshave.errors.data import BatchDoesNotFit, DataNotReadable, NotPositive
from spokeshave.graph.view import Value
from spokeshave.report import Reason

Arrays = Union[np.ndarray, Mapping[str, Any], tuple[Any, ...]]
DIGITS = "digits"
MAGIC = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")
FILES = "Give a file written by `np.save` or `np.savez`, or the name `digits`."
SOURCES = "Give arrays, a dict of arrays, a list of batches, an iterable, or a function that makes one."


def open_data(
    source: Any,
    *,
    inputs: tuple[Value, ...],
    batch_size: int = 32,
    limit: int | None = None,
    labels: bool = False,
) -> Feed:
    """A feed for a model with these inputs.

    | source | meaning |
    | --- | --- |
    | `"digits"`, `"digits:test"`, `"digits:all"` | the embedded digits (the train split unless said) |
    | a path | `.npy` (one input, mapped, not loaded) or `.npz` (arrays named as the inputs) |
    | an array | all samples of the one input |
    | a dict or a tuple of arrays | all samples of each input, by name or in order |
    | a list, an iterable, a function that makes one | batches: an array, a tuple or list in order, a dict |
    | a generator or another iterator | batches, kept in memory as pulled, since it can run only once |

    Labels follow the inputs in order, or are named `label` or `labels`; with `labels=True` a batch without
    them is an error. Whole arrays are cut into batches of `batch_size`, or of the model's own batch size
    where that is fixed; samples that do not fill such a batch are left out, with a reason in
    `Feed.left_out`. At most `limit` samples are handed out. Opening looks at no batch: `preflight` does.
    """
    for name, value in (("batch_size", batch_size), ("limit", limit)):
        if value is not None and value < 1:
            raise NotPositive(name=name, value=value)
    if isinstance(source, (str, os.PathLike)):
        label, found = _named(os.fspath(source), inputs)
        return _cut_up(label, found, inputs, batch_size, limit, labels)
    if _is_whole(source):
        return _cut_up(_describe(source), source, inputs, batch_size, limit, labels)
    return Feed(_describe(source), inputs, _batches(source), limit, labels)


def _is_whole(source: Any) -> bool:
    if isinstance(source, tuple):
        return bool(source) and all(isinstance(part, np.ndarray) for part in source)
    return isinstance(source, (np.ndarray, Mapping))


def _describe(source: Any) -> str:
    return getattr(source, "__name__", None) or f"the given {type(source).__name__}"


def _named(source: str, inputs: tuple[Value, ...]) -> tuple[str, Arrays]:
    name, _, split = source.partition(":")
    if name == DIGITS:
        return source, _digits_for(inputs, split or "train")
    return Path(source).name, _read(Path(source))


def _digits_for(inputs: tuple[Value, ...], split: str) -> Arrays:
    """The digits under the name of the picture input, as wide and with as many channels as it has."""
    picture = next((value for value in inputs if len(value.shape) == 4), None)
    if picture is None:
        return digits(split)
    _, channels, side, _ = picture.shape
    images, known = digits(split, side) if side > 0 else digits(split)
    return {picture.id: np.repeat(images, max(channels, 1), axis=1), LABEL_NAMES[0]: known}


def _read(path: Path) -> Arrays:
    try:
        return _loaded(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        found = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataNotReadable(source=str(path), found=found.rstrip("."), advice=FILES) from error


def _loaded(path: Path) -> Arrays:
    with path.open("rb") as file:
        start = file.read(max(map(len, MAGIC)))
    # NumPy takes every other file for a pickle and advises to run it.
    if not start.startswith(MAGIC):
        raise ValueError("it is neither a .npy nor a .npz file")
    loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"its part {name!r} is no array")
    # `np.savez(path, a, b)` gives its arrays no names of their own: their order counts.
    unnamed = [f"arr_{i}" for i in range(len(arrays))]
    return tuple(arrays[name] for name in unnamed) if set(arrays) == set(unnamed) else arrays


def _cut_up(
    source: str,
    arrays: Arrays,
    inputs: tuple[Value, ...],
    batch_size: int,
    limit: int | None,
    labels: bool,
) -> Feed:
    have = _sample_count(arrays)
    count = have if limit is None else min(have, limit)
    fixed = _fixed_batch_size(inputs)
    step = fixed or batch_size
    rest = count % step if fixed else 0
    reasons = (_left_over(rest, step, source),) if rest else ()

    def batches() -> Iterator[Any]:
        for start in range(0, count - rest, step):
            yield _slice(arrays, slice(start, min(start + step, count)))

    return Feed(source, inputs, batches, limit, labels, count - rest, reasons)


def _left_over(rest: int, step: int, source: str) -> Reason:
    return Reason("samples-left-over", f"the model takes batches of {step} only", f"last {rest} of {source}")


def _fixed_batch_size(inputs: tuple[Value, ...]) -> int | None:
    """The batch size that the model insists on, where all its inputs agree on one."""
    lengths = {value.shape[0] if value.shape else -1 for value in inputs}
    only = lengths.pop() if len(lengths) == 1 else -1
    return only if only > 0 else None


def _parts(arrays: Arrays) -> dict[str, Any]:
    if isinstance(arrays, Mapping):
        return dict(arrays)
    return {str(i): a for i, a in enumerate(arrays if isinstance(arrays, tuple) else (arrays,))}


def _sample_count(arrays: Arrays) -> int:
    lengths = {name: len(part) if np.ndim(part) else -1 for name, part in _parts(arrays).items()}
    if len(set(lengths.values())) > 1 or -1 in lengths.values():
        told = ", ".join(f"{name}: {'none' if n < 0 else n}" for name, n in lengths.items())
        raise BatchDoesNotFit(
            batch=0,
            found=f"the arrays hold different numbers of samples ({told})",
            wanted="each sample needs a part of every array",
            advice="Give all arrays the same first dimension.",
        )
    return next(iter(lengths.values()), 0)


def _slice(arrays: Arrays, rows: slice) -> Any:
    if isinstance(arrays, Mapping):
        return {name: part[rows] for name, part in arrays.items()}
    return tuple(part[rows] for part in arrays) if isinstance(arrays, tuple) else arrays[rows]


def _batches(source: Any) -> Callable[[], Iterable[Any]]:
    if isinstance(source, Iterator):
        return _Kept(source)
    if isinstance(source, Iterable):
        # Before `callable`: a Paddle DataLoader is both.
        return lambda: source
    if callable(source):
        made: Callable[[], Iterable[Any]] = source
        return made
    raise DataNotReadable(source=_describe(source), found="it yields no batches", advice=SOURCES)


class _Kept:
    """What an iterator yields, kept as it is pulled, so that it can be gone through again.

    An error that ended the iterator comes again as well: the batches before it are not the whole.
    """

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self._seen: list[Any] = []
        self._failure: Exception | None = None

    def __call__(self) -> Iterator[Any]:
        index = 0
        while index < len(self._seen) or self._pull():
            yield self._seen[index]
            index += 1

    def _pull(self) -> bool:
        if self._failure is not None:
            raise self._failure
        try:
            self._seen.append(_copied(next(self._iterator)))
        except StopIteration:
            return False
        except Exception as error:
            self._failure = error
            raise
        return True


def _copied(item: Any) -> Any:
    # Readers may fill one buffer again and again.
    if isinstance(item, Mapping):
        return {name: _copied(part) for name, part in item.items()}
    if isinstance(item, (tuple, list)):
        return tuple(_copied(part) for part in item)
    return np.array(item) if hasattr(item, "__array__") else copy.copy(item)
