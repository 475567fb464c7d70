"""`spokeshave demo`: everything once, on a net trained while you watch."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

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
Cells = tuple[str, str, str, str]


@click.command
@click.option("--output", "-o", "--save-path", "output", metavar="FOLDER", help="Keep the files there.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Steps of training, 64 pictures each; with few of them the net knows little.",
)
def command(output: str | None, steps: int) -> None:
    """Trains a small net on handwritten digits, quantizes it, and shows what that did; under a minute.

    Nothing is downloaded, and every run trains the same net. FOLDER gets the net as Paddle and ONNX files
    (`lenet.json`, `lenet.pdiparams`, `lenet.onnx`) and what `spokeshave quantize` writes (`quantized/`);
    a folder that holds other files is refused. Without it, nothing is kept.

    \b
    Example:
        spokeshave demo --output demo
    """
    with _folder(output) as folder:
        _train(folder / "lenet", steps)
        done = spokeshave.quantize(folder / "lenet", "digits", folder / "quantized")
        spokeshave.export(spokeshave.load(folder / "lenet"), folder / "lenet.onnx")
        rows = _compared(folder / "lenet.onnx", done)
    click.echo("\n" + table(("LeNet", "float32", "INT8", "INT8 is"), rows))
    click.echo(_notes(done, output))
    check_holds(done.verdict)


def _folder(output: str | None) -> AbstractContextManager[Path]:
    if output is not None:
        return AtomicFolder(Path(output))
    return _temporary()
