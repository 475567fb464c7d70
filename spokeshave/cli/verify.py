"""`spokeshave verify`: is a folder that was written earlier still right."""

from __future__ import annotations

from pathlib import Path

import click

import spokeshave
from spokeshave import deploy, files, program
from spokeshave.cli import _options, _output
from spokeshave.cli.quantize import check_holds, standing
from spokeshave.data import open_data
from spokeshave.errors.cli import NotAQuantizedFolder

SIMULATION, ONNX = "float/model.json", "onnx/model.onnx"


@click.command
@click.argument("original")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--data", required=True, metavar="DATA", help=f"To verify on: {_options.DATA_HELP}")
@_options.batch_size
@_options.limit
@_options.as_json
def command(
    original: str, folder: Path, data: str, batch_size: int, limit: int | None, as_json: bool
) -> None:
    """Checks a quantized folder against its original model.

    ORIGINAL is the model that was quantized, FOLDER the output of `spokeshave quantize`. Its checksums are
    looked at first; then the ONNX file, the simulation and the original run side by side on the data.

    Exit code 1 when the ONNX file does not compute what the simulation does.

    \b
    Example:
        spokeshave verify demo/lenet demo/quantized --data digits:test

    With --json, stdout is the report: `facts`, `rows` for each output, `reasons`.
    """
    _check_whole(folder)
    model, simulation = spokeshave.load(original), spokeshave.load(folder / SIMULATION)
    feed = open_data(data, inputs=model.inputs, batch_size=batch_size, limit=limit)
    verdict = spokeshave.verify(model, simulation, _artifact(folder / ONNX, simulation), feed)
    _output.echo_report(verdict.report(), f"Checked {folder}: {standing(verdict)}.", as_json)
    check_holds(verdict)


def _check_whole(folder: Path) -> None:
    """Refuses a folder of another kind, or one that is not as it was written."""
    for name in (files.SUMS, SIMULATION, ONNX):
        if not (folder / name).is_file():
            raise NotAQuantizedFolder(path=str(folder), missing=name)
    files.check_sums(folder / files.SUMS)


def _artifact(path: Path, simulation: program.Model) -> deploy.Artifact:
    outputs = tuple(name for name, _ in simulation.view.outputs)
    return deploy.Artifact(path, files.digest(path), path.stat().st_size, simulation.view.inputs, outputs)
