"""Sources: each kind that a user may give, gone through twice."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spokeshave.data import Feed, digits, open_data
from spokeshave.errors.data import (
    BatchDoesNotFit,
    BatchLacksInput,
    DataNotReadable,
    NoData,
    NotPositive,
    ReaderFailed,
)
from spokeshave.errors.registry import UnknownName
from spokeshave.graph.view import INPUT, Value

X = (Value("x", (-1, 2), "float32", INPUT),)
TWO = (*X, Value("ids", (-1,), "int64", INPUT))
ROWS = np.arange(20, dtype=np.float32).reshape(10, 2)
IDS = np.arange(10)
LABELS = np.arange(10)[:, None]


def _joined(feed: Feed, name: str = "x") -> np.ndarray:
    return np.concatenate([batch.inputs[name] for batch in feed])


def _labels(feed: Feed) -> np.ndarray:
    return np.concatenate([batch.labels for batch in feed if batch.labels is not None])


class _Loader:
    """Iterable and callable at once, as a Paddle DataLoader is."""

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((ROWS[:4], ROWS[4:]))

    def __call__(self) -> Iterator[np.ndarray]:
        raise NotImplementedError


SOURCES: dict[str, Any] = {
    "array": lambda: ROWS,
    "dict": lambda: {"x": ROWS},
    "tuple": lambda: (ROWS,),
    "list of batches": lambda: [ROWS[:4], ROWS[4:]],
    "list of dicts": lambda: [{"x": ROWS[:4]}, {"x": ROWS[4:]}],
    "generator": lambda: (part for part in (ROWS[:4], ROWS[4:])),
    "function": lambda: lambda: iter((ROWS[:4], ROWS[4:])),
    "loader": lambda: _Loader(),
    "feed": lambda: open_data(ROWS, inputs=X),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_gives_all_samples_each_time(kind: str) -> None:
    feed = open_data(SOURCES[kind](), inputs=X, batch_size=4)
    np.testing.assert_array_equal(_joined(feed), ROWS)
    np.testing.assert_array_equal(_joined(feed), ROWS)
    assert feed.names == ("x",)


def test_whole_arrays_are_cut_into_batches() -> None:
    feed = open_data(ROWS, inputs=X, batch_size=4)
    assert [batch.size for batch in feed] == [4, 4, 2]
    assert feed.size == 10


def test_a_limit_on_whole_arrays_is_known_beforehand() -> None:
    feed = open_data(ROWS, inputs=X, batch_size=4, limit=6)
    assert [batch.size for batch in feed] == [4, 2]
    assert feed.size == 6


def test_a_model_of_fixed_batch_size_gets_that_size() -> None:
    fixed = (Value("x", (3, 2), "float32", INPUT),)
    feed = open_data(ROWS, inputs=fixed, batch_size=4)
    assert [batch.size for batch in feed] == [3, 3, 3]
    assert feed.size == 9
    assert [reason.code for reason in feed.left_out] == ["samples-left-over"]
    assert not open_data(ROWS, inputs=fixed, limit=6).left_out


def test_a_tuple_of_arrays_is_inputs_then_labels() -> None:
    feed = open_data((ROWS, IDS, LABELS), inputs=TWO, batch_size=3)
    np.testing.assert_array_equal(_joined(feed, "ids"), IDS)
    np.testing.assert_array_equal(_labels(feed), LABELS)


def test_arrays_of_different_lengths_are_refused_when_opened() -> None:
    with pytest.raises(BatchDoesNotFit, match="x: 10, ids: 9"):
        open_data({"x": ROWS, "ids": IDS[:9]}, inputs=TWO)
    with pytest.raises(BatchDoesNotFit, match="0: none"):
        open_data(np.array(1.0), inputs=X)


def test_a_generator_is_kept_though_it_fills_one_buffer() -> None:
    buffer = np.zeros((2, 2), np.float32)

    def reader() -> Iterator[tuple[np.ndarray, list[int]]]:
        for i in range(3):
            buffer[:] = i
            yield buffer, [i, i]

    feed = open_data(reader(), inputs=X)
    seen = list(feed)
    assert [batch.inputs["x"][0, 0] for batch in seen] == [0, 1, 2]
    assert _joined(feed)[::2, 0].tolist() == [0, 1, 2]
    assert _labels(feed).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_generator_runs_no_further_than_it_is_asked() -> None:
    pulled: list[int] = []

    def reader() -> Iterator[np.ndarray]:
        for i in range(100):
            pulled.append(i)
            yield ROWS

    next(iter(open_data(reader(), inputs=X)))
    assert pulled == [0]


def test_two_passes_over_one_generator_may_interleave() -> None:
    feed = open_data((ROWS[i : i + 2] for i in range(0, 10, 2)), inputs=X)
    for ours, theirs in zip(feed, feed):
        np.testing.assert_array_equal(ours.inputs["x"], theirs.inputs["x"])


def test_a_generator_that_failed_fails_again_and_does_not_look_complete() -> None:
    def reader() -> Iterator[np.ndarray]:
        yield ROWS
        raise OSError("disk")

    feed = open_data(reader(), inputs=X)
    for _ in range(2):
        with pytest.raises(ReaderFailed, match="OSError where batch 1 was due: disk"):
            list(feed)


def test_a_function_that_hands_out_a_used_generator_is_found_out() -> None:
    once = iter([ROWS])
    feed = open_data(lambda: once, inputs=X)
    assert len(list(feed)) == 1
    with pytest.raises(NoData, match="fresh iterator"):
        list(feed)


def test_npy_is_mapped_and_read(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    feed = open_data(tmp_path / "rows.npy", inputs=X, batch_size=4)
    np.testing.assert_array_equal(_joined(feed), ROWS)
    batch = next(iter(feed)).inputs["x"]
    assert not isinstance(batch, np.memmap)
    assert feed.source == "rows.npy"


def test_npz_goes_by_name_and_knows_its_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", label=LABELS, ids=IDS, x=ROWS)
    feed = open_data(str(tmp_path / "all.npz"), inputs=TWO, batch_size=4, labels=True)
    np.testing.assert_array_equal(_joined(feed, "ids"), IDS)
    np.testing.assert_array_equal(_labels(feed), LABELS)


def test_npz_without_names_goes_by_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", ROWS, IDS, LABELS)
    feed = open_data(tmp_path / "all.npz", inputs=TWO)
    np.testing.assert_array_equal(_joined(feed, "ids"), IDS)
    np.testing.assert_array_equal(_labels(feed), LABELS)


def test_npz_with_other_names_says_which_is_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", xs=ROWS)
    with pytest.raises(BatchLacksInput, match=r"'x'.*xs"):
        list(open_data(tmp_path / "all.npz", inputs=X))


def test_a_missing_file_is_told() -> None:
    with pytest.raises(
        DataNotReadable, match=r"digts cannot be read as data: No such file.* `digits`"
    ) as seen:
        open_data("digts", inputs=X)
    assert isinstance(seen.value, OSError)


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(DataNotReadable, match=r"objects\.npy"):
        open_data(path, inputs=X)
    np.savez(tmp_path / "objects.npz", x=np.array([{"a": 1}], object))
    with pytest.raises(DataNotReadable, match="Object arrays cannot be loaded"):
        open_data(tmp_path / "objects.npz", inputs=X)


def _truncated(tmp_path: Path) -> bytes:
    np.save(tmp_path / "whole.npy", ROWS)
    return (tmp_path / "whole.npy").read_bytes()[:-8]


def _zip_of_text(_: Path) -> bytes:
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("x.npy", b"no array")
    return stored.getvalue()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (lambda _: b"a,b\n1,2\n", "neither a .npy nor a .npz"),
        (lambda _: b"", "neither a .npy nor a .npz"),
        (lambda _: b"PK\x03\x04rubbish", "not a zip file"),
        (_truncated, "damaged.npy"),
        (_zip_of_text, "its part 'x' is no array"),
    ],
)
def test_a_damaged_file_is_told(tmp_path: Path, content: Any, told: str) -> None:
    path = tmp_path / "damaged.npy"
    path.write_bytes(content(tmp_path))
    with pytest.raises(DataNotReadable, match=told):
        open_data(path, inputs=X)


def test_an_empty_file_of_samples_is_no_data(tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 2), np.float32))
    with pytest.raises(NoData, match=r"none\.npy"):
        list(open_data(tmp_path / "none.npy", inputs=X))


def test_what_yields_no_batches_is_refused() -> None:
    with pytest.raises(DataNotReadable, match="the given int cannot be read as data"):
        open_data(3, inputs=X)


@pytest.mark.parametrize("settings", [{"batch_size": 0}, {"limit": 0}, {"limit": -1}])
def test_counts_must_be_positive(settings: dict[str, int]) -> None:
    with pytest.raises(NotPositive, match=f"{next(iter(settings))} is"):
        open_data(ROWS, inputs=X, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "image"),
    [
        ((-1, 1, 28, 28), (1, 28, 28)),
        ((-1, 3, 32, 32), (3, 32, 32)),
        ((-1, -1, -1, -1), (1, 28, 28)),
        ((-1, 1, 8, 8), (1, 8, 8)),
    ],
)
def test_digits_come_as_the_model_takes_them(shape: tuple[int, ...], image: tuple[int, ...]) -> None:
    feed = open_data("digits", inputs=(Value("img", shape, "float32", INPUT),), labels=True)
    assert next(iter(feed)).inputs["img"].shape == (32, *image)
    assert feed.size == 1400


def test_digits_of_the_other_splits_go_by_name() -> None:
    inputs = (Value("img", (-1, 1, 28, 28), "float32", INPUT),)
    test = open_data("digits:test", inputs=inputs)
    np.testing.assert_array_equal(_labels(test), digits("test")[1])
    assert open_data("digits:all", inputs=inputs).size == 1797
    with pytest.raises(UnknownName, match="test"):
        open_data("digits:tset", inputs=inputs)


def test_digits_feed_a_model_that_takes_the_label_too() -> None:
    inputs = (Value("img", (-1, 1, 28, 28), "float32", INPUT), Value("label", (-1, 1), "int64", INPUT))
    batch = next(iter(open_data("digits", inputs=inputs, labels=True)))
    np.testing.assert_array_equal(batch.inputs["label"], digits()[1][:32])


def test_digits_for_a_model_that_takes_no_pictures_do_not_fit() -> None:
    with pytest.raises(BatchDoesNotFit, match="'x' has shape"):
        list(open_data("digits", inputs=X))


def test_data_can_be_opened_without_paddle() -> None:
    code = "import sys, spokeshave.data; sys.exit('paddle' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
