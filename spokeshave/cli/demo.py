"""`spokeshave demo`: everything once, on a net trained while you watch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

import spokeshave
from spokeshave import compress, deploy, engines, measure
from spokeshave.cli import _late
from spokeshave.cli.quantize import check_holds
from spokeshave.data import digits
from spokeshave.files import AtomicFolder
from spokeshave.report import table

SEED = 0
THREADS = 1
DIGIT, PHOTO = (1, 28, 28), (3, 224, 224)
PHOTOS = 4
Cells = tuple[str, str, str, str]


@dataclass(frozen=True)
class Trial:
    """A net before and after: its float ONNX file, what `quantize` made of it, and the times of both."""

    exported: deploy.Artifact
    done: compress.Quantized
    before: measure.Timing
    after: measure.Timing


@click.command
@click.option("-o", "--output", "--save-path", "output", metavar="FOLDER", help="Keep the files there.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=400,
    show_default=True,
    metavar="N",
    help="Steps of training, 64 pictures each; after few of them the net knows little.",
)
def command(output: str | None, steps: int) -> None:
    """Trains a small net, quantizes it, and shows what that did.

    It takes some 15 seconds, downloads nothing, and trains the same net every time. FOLDER gets the net
    as Paddle and ONNX files (`lenet.json`, `lenet.pdiparams`, `lenet.onnx`) and what `spokeshave quantize`
    writes (`quantized`); one that holds other files is refused. Without FOLDER nothing is kept.

    \b
    Example:
        spokeshave demo --output demo
    """
    with _folder(output) as folder:
        _train(folder / "lenet", steps)
        click.echo("Quantizing and timing it ...")
        lenet = _tried(folder / "lenet", "digits", digits("test")[0])
        click.echo("The same with MobileNetV1, untrained, for its size and speed ...")
        mobilenet = _tried_larger()
    click.echo("\n" + table(("", "float32", "INT8", ""), _compared(lenet, mobilenet)))
    click.echo("\n" + _notes(lenet.done.verdict.samples))
    click.echo("Nothing was kept; --output FOLDER keeps LeNet." if output is None else f"Wrote {output}.")
    check_holds(lenet.done.verdict)


def _folder(output: str | None) -> AbstractContextManager[Path]:
    """The folder that was asked for, which appears whole or not at all; else one that goes away."""
    return _temporary() if output is None else AtomicFolder(Path(output))


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="spokeshave-") as name:
        yield Path(name)


def _train(prefix: Path, count: int) -> None:
    images, labels = digits("train")
    label = f"Training LeNet on {len(images)} handwritten digits"
    net = _late.untrained("lenet", SEED)
    losses = _late.steps(net, images, labels, count, SEED)
    with click.progressbar(losses, length=count, label=label, show_pos=True) as shown:
        for _ in shown:
            pass
    _late.save_layer(net, prefix, DIGIT)


def _tried_larger() -> Trial:
    """MobileNetV1 with the weights it starts with: what it takes to run does not hang on their values."""
    photos = np.random.RandomState(SEED).random_sample((PHOTOS, *PHOTO)).astype(np.float32)
    with _temporary() as folder:
        _late.save_layer(_late.untrained("mobilenet_v1", SEED), folder / "mobilenet", PHOTO)
        return _tried(folder / "mobilenet", photos, photos)


def _tried(prefix: Path, data: Any, pictures: np.ndarray) -> Trial:
    """Quantizes a saved net into `quantized` beside it, and times one picture in both, in turns."""
    exported = spokeshave.export(spokeshave.load(prefix), prefix.with_suffix(".onnx"))
    done = spokeshave.quantize(prefix, data, prefix.with_name("quantized"))
    runners = [engines.OnnxRunner(path, threads=THREADS) for path in (exported.path, done.artifact.path)]
    try:
        feed = {runners[0].inputs[0]: pictures[:1]}
        times = measure.clock({str(i): partial(runner.run, feed) for i, runner in enumerate(runners)})
    finally:
        for runner in runners:
            runner.close()
    return Trial(exported, done, times["0"], times["1"])


def _compared(lenet: Trial, mobilenet: Trial) -> list[Cells]:
    return [
        ("LeNet: accuracy", *_accuracy(lenet.done.verdict)),
        ("LeNet: ONNX file", *_sizes(lenet)),
        ("LeNet: one picture", *_latency(lenet)),
        ("MobileNetV1: ONNX file", *_sizes(mobilenet)),
        ("MobileNetV1: one picture", *_latency(mobilenet)),
    ]


def _accuracy(verdict: deploy.Verdict) -> tuple[str, str, str]:
    before, after = verdict.accuracy_float or 0.0, verdict.accuracy or 0.0
    return f"{before:.2%}", f"{after:.2%}", f"{100 * (after - before):+.2f} points"


def _sizes(trial: Trial) -> tuple[str, str, str]:
    before, after = trial.exported.size_bytes, trial.done.artifact.size_bytes
    return f"{before:,} bytes", f"{after:,} bytes", f"{before / after:.2f}x smaller"


def _latency(trial: Trial) -> tuple[str, str, str]:
    before, after = trial.before.median_ms, trial.after.median_ms
    change = f"{before / after:.2f}x faster" if after <= before else f"{after / before:.2f}x slower"
    return _span(trial.before), _span(trial.after), change


def _span(timing: measure.Timing) -> str:
    return f"{timing.median_ms:.3g} ms ({timing.low_ms:.3g} - {timing.high_ms:.3g})"


def _notes(samples: int) -> str:
    return (
        f"Accuracy: on the {samples} test digits, which neither training nor calibration saw; float32 in\n"
        "Paddle, INT8 in ONNX Runtime. Times: both in ONNX Runtime, batch 1, one thread, in turns; the\n"
        "median of the rounds, in brackets what a tenth of them stayed below and above. LeNet is so small\n"
        "that converting to INT8 and back can take longer than INT8 saves."
    )
