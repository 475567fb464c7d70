"""Damaged and malicious files of weights: our own errors, nothing called, memory within bounds."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import struct
import tracemalloc
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from spokeshave.errors import SpokeshaveError
from spokeshave.errors.models import CodeInWeights, WeightsUnreadable
from spokeshave.errors.program import WeightsTruncated
from spokeshave.models import read_weights
from spokeshave.program.weights import weights_parts

ARRAYS: dict[str, np.ndarray] = {
    "conv.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
    "conv.bias": np.zeros(2, np.float16),
    "scalar": np.array(3, np.float32),
    "empty": np.zeros((0, 3), np.float32),
}
PROTOCOLS = range(6)


def read(tmp_path: Path, name: str, content: bytes) -> dict[str, np.ndarray]:
    (tmp_path / name).write_bytes(content)
    return read_weights(tmp_path / name)


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arrays_that_numpy_pickled_are_read(tmp_path: Path, protocol: int) -> None:
    found = read(tmp_path, "a.pdparams", pickle.dumps(dict(ARRAYS), protocol))
    assert_same(found, ARRAYS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", ">f4", "float64", "complex64"])
def test_every_element_type_and_order_is_read(tmp_path: Path, dtype: str, protocol: int) -> None:
    array = np.asfortranarray(np.arange(6).reshape(2, 3).astype(dtype))
    found = read(tmp_path, "a.pdparams", pickle.dumps(OrderedDict(x=array, y=array), protocol))
    np.testing.assert_array_equal(found["x"], array)
    np.testing.assert_array_equal(found["y"], array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (eval, ("1/0",), "eval"),
        (exec, ("raise SystemExit",), "exec"),
        (getattr, ("x", "upper"), "getattr"),
        (np.load, ("/etc/hostname",), "load"),
        (pickle.loads, (b"",), "loads"),
        (io.open, ("written", "w"), "open"),
        (OrderedDict.fromkeys, ("a",), "fromkeys|getattr"),
    ],
)
def test_nothing_that_a_pickle_names_is_called(
    tmp_path: Path, function: Any, arguments: tuple[Any, ...], name: str, protocol: int
) -> None:
    content = pickle.dumps({"x": Calls(function, *arguments)}, protocol)
    with pytest.raises((CodeInWeights, WeightsUnreadable), match=name):
        read(tmp_path, "a.pdparams", content)


def test_a_class_of_the_users_own_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(CodeInWeights, match=r"asks for pathlib"):
        read(tmp_path, "a.pdparams", pickle.dumps({"x": Path("a")}))


@pytest.mark.parametrize(
    "content",
    [
        {"x": np.array([{}], object)},
        {"x": np.array([(1, 2.0)], "i4,f4")},
        {"x": np.array(["text"])},
        {"x": np.array(["2020-01-01"], "M8[D]")},
        {"x": 1.5},
        {"x": {"y": ARRAYS["conv.bias"]}},
        {1: ARRAYS["conv.bias"]},
        [ARRAYS["conv.bias"]],
        ARRAYS["conv.bias"],
        None,
    ],
    ids=str,
)
def test_what_is_no_dict_of_arrays_of_numbers_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(WeightsUnreadable):
        read(tmp_path, "a.pdparams", pickle.dumps(content))


BOMBS = {
    "a place in the memo at four thousand million": b"\x80\x02}r\xff\xff\xff\xff.",
    "a byte array of a terabyte": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",
    "bytes of a terabyte": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b".",
    "a frame of a terabyte": b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"}.",
    "lists of the list before, 60 deep": b"\x80\x04]\x94"
    + b"".join(b"](" + b"h" + bytes([i]) + b"h" + bytes([i]) + b"e\x94" for i in range(60))
    + b".",
    "a key of tuples of the tuple before, 60 deep": b"\x80\x04})\x94"
    + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(60))
    + b"Ns.",
    "an element type of tuples of the tuple before": b"\x80\x04cnumpy\ndtype\n)\x94"
    + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(60))
    + b"\x85R.",
    "a list that holds itself": b"\x80\x04]\x94h\x00a.",
    "a hundred thousand marks": b"\x80\x04" + b"(" * 100_000 + b".",
    "a hundred thousand lists in each other": b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_cannot_ask_for_much_memory_or_time(tmp_path: Path, bomb: str) -> None:
    tracemalloc.start()
    try:
        with suppress(WeightsUnreadable):
            assert read(tmp_path, "a.pdparams", BOMBS[bomb]) == {}
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    entry = '"a":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}'
    header = ("{" + entry % (4, 8) + "," + entry % (0, 4) + "}").encode()
    with pytest.raises(WeightsUnreadable, match="'a' twice"):
        read(tmp_path, "a.safetensors", struct.pack("<Q", len(header)) + header + bytes(8))
    one = pickletools.optimize(pickle.dumps({"a": 1}))
    twice = one.replace(b"K\x01s", b"K\x01s" + b"\x8c\x01aK\x02s")
    assert pickle.loads(twice) == {"a": 2}
    with pytest.raises(WeightsUnreadable, match="'a' twice"):
        read(tmp_path, "a.pdparams", twice)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]},
        {"dtype": "F32", "shape": [1 << 62, 4], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [0, 1 << 70], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]},
        {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]},
        {"shape": [1], "data_offsets": [0, 4]},
        [],
        None,
    ],
    ids=str,
)
def test_a_header_that_lies_is_refused(tmp_path: Path, entry: Any) -> None:
    header = json.dumps({"x": entry}).encode()
    with pytest.raises(WeightsUnreadable, match="header is damaged"):
        read(tmp_path, "a.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))


@pytest.mark.parametrize("header", [b"[]", b"1", b"{", b"\xff", b"[" * 100_000])
def test_a_header_that_is_no_table_is_refused(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(WeightsUnreadable):
        read(tmp_path, "a.safetensors", struct.pack("<Q", len(header)) + header)


def record() -> bytes:
    """The file that fluid wrote for one weight."""
    array = ARRAYS["conv.weight"]
    return b"".join(weights_parts({"w": (array.shape, "float32")}, {"w": array}.__getitem__))


def test_a_truncated_record_in_a_folder_is_refused(tmp_path: Path) -> None:
    whole = record()
    folder = tmp_path / "folder"
    folder.mkdir()
    assert_same(read_folder(folder, whole), {"w": ARRAYS["conv.weight"]})
    for end in (0, 10, 30, len(whole) - 1):
        with pytest.raises(WeightsTruncated, match="'w'"):
            read_folder(folder, whole[:end])
    with pytest.raises(WeightsTruncated, match="goes on after"):
        read_folder(folder, whole + b"\0")


def read_folder(folder: Path, content: bytes) -> dict[str, np.ndarray]:
    (folder / "w").write_bytes(content)
    return read_weights(folder)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file that was cut, or in which bytes were flipped, set, swapped, taken out or put in."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        to = draw(st.integers(0, max(len(content) - 1, 0)))
        kind = draw(st.sampled_from(["cut", "flip", "set", "swap", "drop", "add"]))
        if kind == "cut":
            del content[at:]
        elif kind == "flip" and content:
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "set" and content:
            content[at] = draw(st.integers(0, 255))
        elif kind == "swap" and content:
            content[at], content[to] = content[to], content[at]
        elif kind == "drop":
            del content[min(at, to) : max(at, to)]
        elif kind == "add":
            content[at:at] = draw(st.binary(max_size=9))
    return bytes(content)


def assert_ours(content: bytes, path: Path) -> None:
    """Reading gives arrays or one of our errors, in memory of the order of the file."""
    path.write_bytes(content)
    tracemalloc.start()
    try:
        found = read_weights(path.parent if path.name == "w" else path)
        assert all(isinstance(array, np.ndarray) for array in found.values())
        said = ""
    except SpokeshaveError as error:
        said = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 20e6
    assert len(said) < 2000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_damaged_pickle_gives_our_errors_only(folder: Path, protocol: int) -> None:
    whole = pickle.dumps(dict(ARRAYS), protocol)

    @given(damaged(whole))
    @settings(max_examples=150)
    def check(content: bytes) -> None:
        assert_ours(content, folder / "a.pdparams")

    check()


@given(damaged(save(dict(ARRAYS))))
@settings(max_examples=300)
def test_a_damaged_safetensors_file_gives_our_errors_only(folder: Path, content: bytes) -> None:
    assert_ours(content, folder / "a.safetensors")


@given(damaged(record()))
@settings(max_examples=300)
def test_a_damaged_record_gives_our_errors_only(folder: Path, content: bytes) -> None:
    (folder / "one").mkdir(exist_ok=True)
    assert_ours(content, folder / "one" / "w")


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_give_our_errors_only(folder: Path, content: bytes) -> None:
    assert_ours(b"\x80\x04" + content, folder / "b.pdparams")
