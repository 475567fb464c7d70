"""From a trained float net to INT8 in ONNX Runtime: agreement, accuracy, bytes, latency."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
from _record import AT_LEAST, Row, finish, options

import spokeshave
from spokeshave import compress, data, models, quant
from spokeshave.compress import Quantized
from spokeshave.engines import OnnxRunner
from spokeshave.measure import clock, compare
from spokeshave.program import Model
from spokeshave.targets import TARGETS

SEED = 0
NETS = {"lenet": (200, 0.05), "mobilenet_v1": (120, 0.05)}  # steps of training, learning rate
QUICK = {"lenet": (60, 0.05)}


def main() -> None:
    """Measures every net."""
    chosen = options(__doc__ or "")
    rows: list[Row] = []
    for name, (steps, rate) in (QUICK if chosen.quick else NETS).items():
        with tempfile.TemporaryDirectory() as folder:
            rows += list(measured(name, trained(name, steps, rate, Path(folder)), Path(folder)))
    finish("int8", rows, chosen, seeds=[SEED])


def trained(name: str, steps: int, rate: float, folder: Path) -> Model:
    """The net after some steps on the digits, saved by Paddle and loaded by us."""
    paddle.seed(SEED)
    net = models.create(name, num_classes=10, in_channels=1)
    images, labels = data.digits("train")
    optimizer = paddle.optimizer.Momentum(rate, 0.9, parameters=net.parameters())
    choose = np.random.default_rng(SEED)
    net.train()
    for _ in range(steps):
        at = choose.integers(0, len(images), 64)
        loss = F.cross_entropy(net(paddle.to_tensor(images[at])), paddle.to_tensor(labels[at]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    net.eval()
    spec = paddle.static.InputSpec([None, 1, 28, 28], "float32", "image")
    paddle.jit.save(net, str(folder / name / "model"), [spec])
    return spokeshave.load(folder / name)


def measured(name: str, model: Model, folder: Path) -> Iterator[Row]:
    """The rows of one net."""
    done = spokeshave.quantize(model, "digits", folder / "int8")
    verdict = done.verdict
    [simulation], [reference] = verdict.to_simulation.outputs, verdict.to_float.outputs
    loss = 100 * ((verdict.accuracy_float or 0) - (verdict.accuracy or 0))
    yield Row(
        name, "top-1 agreement with the simulation", simulation.top1_agreement or 0, "", None, 0.995, AT_LEAST
    )
    yield Row(name, "top-1 agreement with float", reference.top1_agreement or 0)
    yield Row(name, "accuracy of float", 100 * (verdict.accuracy_float or 0), "%")
    yield Row(name, "accuracy lost", loss, "points", None, 0.5)
    yield Row(name, "signal to noise against the simulation", simulation.snr_db, "dB")
    yield Row(name, "the same with biases left unrounded", snr_with_float_biases(model, folder), "dB")
    yield Row(name, "signal to noise against float", reference.snr_db, "dB")
    yield from sizes(name, folder)
    yield from latencies(name, model, done, folder)


def sizes(name: str, folder: Path) -> Iterator[Row]:
    """Weights on disk, packed as a share of float."""
    files = [(folder / "int8" / form / "model.pdiparams").stat().st_size for form in ("int8", "float")]
    yield Row(name, "weights file, int8 to float", files[0] / files[1], "", None, 0.27)


def snr_with_float_biases(model: Model, folder: Path) -> float:
    """How far engine and simulation are apart when the simulation keeps its biases as they are."""
    prepared, _ = compress.prepare(model)
    images = {"image": data.digits("train")[0]}
    drawn = quant.plan(prepared.view, TARGETS["onnxruntime"])
    settled = drawn.settled(quant.observe(prepared, drawn, [images]))
    simulation = quant.apply(prepared, replace(settled, biases=()))
    feed = {"image": data.digits("test")[0]}
    runner = OnnxRunner(folder / "int8/onnx/model.onnx")
    return compare([simulation.run(feed)], [runner.run(feed)]).outputs[0].snr_db


def latencies(name: str, model: Model, done: Quantized, folder: Path) -> Iterator[Row]:
    """Float and INT8 in ONNX Runtime on one thread, batch 1, interleaved."""
    prepared, _ = compress.prepare(model)
    exported = spokeshave.export(prepared, folder / "float.onnx")
    runners = {
        form: OnnxRunner(p, threads=1) for form, p in (("float", exported.path), ("int8", done.artifact.path))
    }
    image: dict[str, Any] = {"image": data.digits("test")[0][:1]}
    calls = {form: partial(runner.run, image) for form, runner in runners.items()}
    times = clock(calls, rounds=15)
    for form, time in times.items():
        yield Row(name, f"latency of {form}", time.median_ms, "ms", (time.low_ms, time.high_ms))
    yield Row(name, "INT8 faster", times["float"].median_ms / times["int8"].median_ms, "x")


if __name__ == "__main__":
    main()
