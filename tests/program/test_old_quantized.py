"""Models that PaddleSlim quantized: they load, and compute what Paddle 2 computes."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from old_models import Old, built_old, constant, fed, in_old_paddle, op_of
from paddle import static

from spokeshave.program import load, save
from spokeshave.program.old_format import old_parameters, read_old

pytest_plugins = ["program_nets", "old_models"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

CODES = np.array([[-127, 54, 3], [0, 90, 127], [8, -8, 1], [77, 0, -5]], np.float32)
SCALES = np.array([0.5, 1.25, 2.0], np.float32)


def x4() -> Any:
    return static.data("x", [None, 4], "float32")


def onnx_format() -> tuple[list[Any], list[Any]]:
    """Activations quantized per tensor, weights kept as codes with a scale per column; an observer behind."""
    x, zero = x4(), constant("zero", np.zeros(1, np.int32))
    scale, scales = constant("x@scale", np.array([2.5], np.float32)), constant("w@scale", SCALES)
    zeros, codes = constant("zeros", np.zeros(3, np.int32)), constant("w", CODES)
    (q,) = op_of("quantize_linear", _linear(x, scale, zero), {"Y": ("float32", [-1, 4])}, **_told(-1))
    (x,) = op_of("dequantize_linear", _linear(q, scale, zero), {"Y": ("float32", [-1, 4])}, **_told(-1))
    (w,) = op_of("dequantize_linear", _linear(codes, scales, zeros), {"Y": ("float32", [4, 3])}, **_told(1))
    (y,) = op_of("matmul_v2", {"X": x, "Y": w}, {"Out": ("float32", [-1, 3])})
    watched = _told(-1, only_observer=True)
    (q,) = op_of("quantize_linear", _linear(y, scale, zero), {"Y": ("float32", [-1, 3])}, **watched)
    return [x4_of(x)], op_of(
        "dequantize_linear", _linear(q, scale, zero), {"Y": ("float32", [-1, 3])}, **watched
    )


def x4_of(_: Any) -> Any:
    return static.default_main_program().global_block().var("x")


def _linear(x: Any, scale: Any, zero: Any) -> dict[str, Any]:
    return {"X": x, "Scale": scale, "ZeroPoint": zero}


def _told(axis: int, *, only_observer: bool = False) -> dict[str, Any]:
    return {"quant_axis": axis, "bit_length": 8, "is_test": True, "only_observer": only_observer}


def moving_average() -> tuple[list[Any], list[Any]]:
    """A scale that a training run left, then a dequantized product of codes."""
    x, scale = x4(), constant("x@scale", np.array([2.5], np.float32))
    block = static.default_main_program().global_block()
    q = block.create_var(name="q", dtype="float32", shape=[-1, 4])
    block.append_op(
        type="fake_quantize_moving_average_abs_max",
        inputs={"X": [x], "InScale": [scale]},
        outputs={"Out": [q], "OutScale": [scale]},
        attrs={"bit_length": 8, "is_test": True},
    )
    (y,) = op_of("mul", {"X": q, "Y": constant("w", CODES)}, {"Out": ("float32", [-1, 3])})
    out = {"Out": ("float32", [-1, 3])}
    return [x], op_of("fake_dequantize_max_abs", {"X": y, "Scale": scale}, out, max_range=127.0 * 127)


def channel_wise() -> tuple[list[Any], list[Any]]:
    x, scales = x4(), constant("w@scale", SCALES)
    (y,) = op_of("matmul_v2", {"X": x, "Y": constant("w", CODES)}, {"Out": ("float32", [-1, 3])})
    return [x], op_of(
        "fake_channel_wise_dequantize_max_abs",
        {"X": y, "Scales": [scales]},
        {"Out": ("float32", [-1, 3])},
        quant_bits=[8],
        quant_axis=1,
    )


def simulated() -> tuple[list[Any], list[Any]]:
    """The scale of each batch is written into a variable that is kept and that nothing reads before."""
    x, kept = x4(), constant("kept", np.array([9.0], np.float32))
    block = static.default_main_program().global_block()
    y = block.create_var(name="y", dtype="float32", shape=[-1, 4])
    block.append_op(
        type="fake_quantize_dequantize_abs_max",
        inputs={"X": [x]},
        outputs={"Out": [y], "OutScale": [kept]},
        attrs={"bit_length": 8},
    )
    return [x], [y, *op_of("scale", {"X": kept}, {"Out": ("float32", [1])}, scale=2.0)]


BUILDS = {
    "onnx_format": onnx_format,
    "moving_average": moving_average,
    "channel_wise": channel_wise,
    "simulated": simulated,
}


def built(name: str) -> Old:
    """The model with its numbers as they are meant to be."""
    old = built_old(BUILDS[name])
    numbers = {"w": CODES, "w@scale": SCALES, "x@scale": np.array([2.5], np.float32)}
    old.set(**{v.name: numbers[v.name] for v in old.parameters if v.name in numbers})
    return old


@pytest.mark.parametrize("name", BUILDS)
def test_a_quantized_model_computes_what_paddle_computes(tmp_path: Path, name: str) -> None:
    prefix = built(name).save(tmp_path / "m")
    model = load(prefix)
    wanted = in_old_paddle(prefix.with_suffix(".pdmodel"), prefix.with_suffix(".pdiparams"), fed((5, 4)))
    for one, other in zip(model.run(fed((5, 4))).values(), wanted):
        np.testing.assert_array_equal(one, other)
    save(model, tmp_path / "again")
    for one, other in zip(load(tmp_path / "again").run(fed((5, 4))).values(), wanted):
        np.testing.assert_array_equal(one, other)


def test_quantize_and_dequantize_are_what_they_are_by_hand(tmp_path: Path) -> None:
    model = load(built("onnx_format").save(tmp_path / "m"))
    feed = fed((5, 4))
    (found,) = model.run(feed).values()
    x = np.clip(np.round(feed["x"] / 2.5 * 127), -128, 127) * 2.5 / 127
    # float32 products of four numbers of up to 160.
    np.testing.assert_allclose(found, x @ (CODES * SCALES / 127), rtol=1e-5, atol=1e-5)


def test_observers_and_scales_are_no_weights(tmp_path: Path) -> None:
    model = load(built("onnx_format").save(tmp_path / "m"))
    ops = [node.op for node in model.view.nodes]
    assert ops.count("pd_op.quantize_linear") == 1
    assert "pd_op.dequantize_linear" not in ops
    assert [p.name for p in model.program.global_block().all_parameters() if p.trainable] == []


@pytest.mark.parametrize("shape", [(3,), (1, 3)])
def test_weights_may_be_stored_as_int8_and_scales_in_any_shape(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    old = built("onnx_format")
    prefix = old.save(tmp_path / "m")
    wanted = load(prefix).run(fed((5, 4)))
    stored_as_paddleslim_does(old, prefix, shape)
    model = load(prefix)
    assert model.weight("w").dtype == np.int8
    found = model.run(fed((5, 4)))
    np.testing.assert_array_equal(list(found.values()), list(wanted.values()))
    save(model, tmp_path / "again")
    np.testing.assert_array_equal(
        list(load(tmp_path / "again").run(fed((5, 4))).values()), list(wanted.values())
    )


def stored_as_paddleslim_does(old: Old, prefix: Path, shape: tuple[int, ...]) -> None:
    """Writes the weights again, those of `w` as int8 and their scales in another shape."""
    arrays = {v.name: np.array(old.scope.find_var(v.name).get_tensor()) for v in old.parameters}
    arrays["w"] = arrays["w"].astype(np.int8)
    arrays["w@scale"] = arrays["w@scale"].reshape(shape)
    names = sorted(old_parameters(read_old(prefix.with_suffix(".pdmodel").read_bytes(), "m")))
    prefix.with_suffix(".pdiparams").write_bytes(b"".join(record(arrays[name]) for name in names))


def record(array: np.ndarray, levels: tuple[tuple[int, ...], ...] = ()) -> bytes:
    """A tensor as Paddle 2 writes it, with where its sequences begin."""
    number = {"float32": 5, "int32": 2, "int8": 21, "int64": 3}[array.dtype.name]
    description = bytes([8, number]) + b"".join(b"\x10" + bytes([n]) for n in array.shape)
    starts = b"".join(struct.pack(f"<Q{len(s)}Q", 8 * len(s), *s) for s in levels)
    head = struct.pack("<IQ", 0, len(levels)) + starts + struct.pack("<Ii", 0, len(description))
    return head + description + array.tobytes()
