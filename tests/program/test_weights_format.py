"""The weights file: every type and shape there and back, and as Paddle writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from paddle import static

from spokeshave.errors.program import TensorNotAsDeclared, WeightsDoNotFit, WeightsTruncated
from spokeshave.program.weights import Declared, each_weight, weights_parts
from spokeshave.seams import static_mode

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

TYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
MODEL = Path("m.json")


def read_weights(file: Path, declared: Declared) -> dict[str, Any]:
    return {name: array.copy() for name, array in each_weight(file, MODEL, declared)}


def there_and_back(folder: Path, weights: dict[str, Any], dtypes: dict[str, str]) -> dict[str, Any]:
    file = folder / "m.pdiparams"
    declared = {n: (a.shape, dtypes[n]) for n, a in weights.items()}
    file.write_bytes(b"".join(weights_parts(declared, weights.__getitem__)))
    return read_weights(file, declared)


@given(data=st.data())
def test_arrays_come_back_as_they_went(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    # Lengths above 127 take two bytes in the head of a tensor.
    long = st.sampled_from([(127,), (128,), (300, 2), (1, 16_384)])
    shapes = st.one_of(st.just(()), long, array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
    dtypes = data.draw(st.dictionaries(st.text(min_size=1, max_size=4), st.sampled_from(TYPES), max_size=4))
    weights = {n: data.draw(arrays(dtype, shapes, fill=st.just(1))) for n, dtype in dtypes.items()}
    found = there_and_back(tmp_path_factory.mktemp("weights"), weights, dtypes)
    assert list(found) == sorted(weights)
    for name, array in weights.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_bfloat16_travels_as_its_sixteen_bits(tmp_path: Path) -> None:
    bits = np.arange(6, dtype=np.uint16).reshape(2, 3)
    found = there_and_back(tmp_path, {"w": bits}, {"w": "bfloat16"})
    np.testing.assert_array_equal(found["w"], bits)
    with pytest.raises(WeightsDoNotFit, match=r"should be uint16\[2, 3\] and is bfloat16\[2, 3\]"):
        read_weights(tmp_path / "m.pdiparams", {"w": ((2, 3), "uint16")})


def test_an_array_that_lies_otherwise_in_memory_is_written_in_order(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = there_and_back(tmp_path, {"t": array.T, "s": array[::-1, ::2]}, {"t": "float32", "s": "float32"})
    np.testing.assert_array_equal(found["t"], array.T)
    np.testing.assert_array_equal(found["s"], array[::-1, ::2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "int64", "bool"])
def test_the_bytes_are_those_that_paddle_writes(tmp_path: Path, dtype: str) -> None:
    program, scope = static.Program(), static.Scope()
    weights = {"b": np.ones((2, 300), dtype), "a": np.ones((3,), dtype)}
    with static_mode(), static.program_guard(program, static.Program()), static.scope_guard(scope):
        x = static.data("x", [1], dtype)
        for name, array in weights.items():
            paddle.pir.core.create_parameter(
                dtype, list(array.shape), name=name, initializer=paddle.nn.initializer.Constant(0.0)
            )
            scope.var(name).get_tensor().set(array, paddle.CPUPlace())
        executor = static.Executor(paddle.CPUPlace())
        kept = [op.result(0) for op in program.global_block().ops if op.name() == "builtin.parameter"]
        paddle.static.io.save_vars(executor, str(tmp_path), program, vars=kept, filename="theirs")
        assert x is not None
    declared = {name: (array.shape, dtype) for name, array in weights.items()}
    assert (tmp_path / "theirs").read_bytes() == b"".join(weights_parts(declared, weights.__getitem__))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((2, 4), np.float32), r"'w' is float32\[2, 4\], and the program says float32\[2, 3\]"),
        (np.zeros((2, 3), np.float16), r"'w' is float16\[2, 3\], and the program says float32\[2, 3\]"),
    ],
)
def test_a_tensor_that_is_not_as_declared_is_not_written(array: Any, words: str) -> None:
    with pytest.raises(TensorNotAsDeclared, match=words):
        weights_parts({"w": ((2, 3), "float32")}, {"w": array}.__getitem__)


def test_a_negative_length_that_both_files_name_is_no_length(tmp_path: Path) -> None:
    (tmp_path / "m.pdiparams").write_bytes(_with_length(b"\xff" * 9 + b"\x01"))
    with pytest.raises(WeightsTruncated, match=r"its header gives the shape \[-1\]"):
        read_weights(tmp_path / "m.pdiparams", {"w": ((-1,), "float32")})


def test_lengths_may_be_packed(tmp_path: Path) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    description = b"\x08\x05\x12\x02\x02\x03"
    file = tmp_path / "m.pdiparams"
    file.write_bytes(bytes(16) + len(description).to_bytes(4, "little") + description + numbers.tobytes())
    found = read_weights(file, {"w": ((2, 3), "float32")})
    np.testing.assert_array_equal(found["w"], numbers)


def _with_length(varint: bytes) -> bytes:
    description = b"\x08\x05\x10" + varint
    return bytes(16) + len(description).to_bytes(4, "little") + description + bytes(24)
