"""`spokeshave demo`: everything once, on a net trained while you watch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import click

import spokeshave
from spokeshave import compress, engines, measure
from spokeshave.cli import _late
from spokeshave.cli.quantize import check_holds
from spokeshave.data import digits
from spokeshave.files import AtomicFolder
from spokeshave.report import table

SEED = 0
PICTURE = (1, 28, 28)
THREADS = 1
BEFORE, AFTER = "float32", "INT8"
Cells = tuple[str, str, str, str]


@click.command
@click.option("-o", "--output", "--save-path", "output", metavar="FOLDER", help="Keep the files there.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    metavar="N",
    help="Steps of training, 64 pictures each; after few of them the net knows little.",
)
def command(output: str | None, steps: int) -> None:
    """Trains a small net, quantizes it, and shows what that did.

    It takes some 10 seconds, downloads nothing, and trains the same net every time. FOLDER gets the net
    as Paddle and ONNX files (`lenet.json`, `lenet.pdiparams`, `lenet.onnx`) and what `spokeshave quantize`
    writes (`quantized`); one that holds other files is refused. Without FOLDER nothing is kept.

    \b
    Example:
        spokeshave demo --output demo
    """
    with _folder(output) as folder:
        _train(folder / "lenet", steps)
        click.echo("Quantizing it and timing both nets")
        exported = spokeshave.export(spokeshave.load(folder / "lenet"), folder / "lenet.onnx")
        done = spokeshave.quantize(folder / "lenet", "digits", folder / "quantized")
        times = _timed({BEFORE: exported.path, AFTER: done.artifact.path})
    rows = _compared(exported.size_bytes, done, times)
    click.echo("\n" + table(("", BEFORE, AFTER, ""), rows))
    click.echo("\n" + _notes(done.verdict.samples, output))
    check_holds(done.verdict)


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
    net = _late.untrained_lenet(SEED)
    losses = _late.steps(net, images, labels, count, SEED)
    with click.progressbar(losses, length=count, label=label, show_pos=True) as shown:
        for _ in shown:
            pass
    _late.save_layer(net, prefix, PICTURE)


def _timed(files: dict[str, Path]) -> dict[str, measure.Timing]:
    """The time that one picture takes in each file, in ONNX Runtime, in turns."""
    picture = {"image": digits("test")[0][:1]}
    runners = {name: engines.OnnxRunner(path, threads=THREADS) for name, path in files.items()}
    try:
        return measure.clock({name: partial(runner.run, picture) for name, runner in runners.items()})
    finally:
        for runner in runners.values():
            runner.close()


def _compared(float_bytes: int, done: compress.Quantized, times: dict[str, measure.Timing]) -> list[Cells]:
    facts, verdict = done.report.facts, done.verdict
    right = [f"{share or 0.0:.2%}" for share in (verdict.accuracy_float, verdict.accuracy)]
    change = 100 * ((verdict.accuracy or 0.0) - (verdict.accuracy_float or 0.0))
    before, after = times[BEFORE], times[AFTER]
    return [
        _smaller("weights", float(facts["weights_before_bytes"] or 0), float(facts["weights_after_bytes"] or 0)),
        _smaller("ONNX file", float_bytes, done.artifact.size_bytes),
        ("accuracy", right[0], right[1], f"{change:+.2f} points"),
        ("latency", _span(before), _span(after), _speed(before.median_ms, after.median_ms)),
    ]


def _smaller(what: str, before: float, after: float) -> Cells:
    return what, f"{before:,.0f} bytes", f"{after:,.0f} bytes", f"{before / after:.2f}x smaller"


def _speed(before: float, after: float) -> str:
    return f"{before / after:.2f}x faster" if after <= before else f"{after / before:.2f}x slower"


def _span(timing: measure.Timing) -> str:
    return f"{1000 * timing.median_ms:.0f} us ({1000 * timing.low_ms:.0f}-{1000 * timing.high_ms:.0f})"


def _notes(samples: int, output: str | None) -> str:
    kept = "Nothing was kept; `--output FOLDER` keeps it." if output is None else f"Wrote {output}."
    return (
        f"Accuracy: on the {samples} test digits, which neither training nor calibration saw; float32 in Paddle,\n"
        "INT8 in ONNX Runtime. Latency: one picture, both in ONNX Runtime on one thread, in turns; the median\n"
        f"of the rounds, and in brackets where a tenth of them stayed below and above. {kept}"
    )
