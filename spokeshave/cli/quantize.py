"""`spokeshave quantize`: a float model into an INT8 one."""

from __future__ import annotations

from typing import Any

import click

import spokeshave
from spokeshave import compress, deploy
from spokeshave.cli import _options, _output
from spokeshave.cli._shelves import on_shelf

RULE = "A node, layer or weight by name, * for any text (`conv2d_3`, `/Head/*`), or `type:KIND`; repeatable."


@click.command
@click.argument("model")
@click.option("--data", required=True, metavar="DATA", help=f"To calibrate on: {_options.DATA_HELP}")
@click.option(
    "-o", "--output", "--save-path", "output", required=True, metavar="FOLDER", help="Where to write."
)
@click.option(
    "--target",
    callback=on_shelf("targets"),
    metavar="NAME",
    default="onnxruntime",
    show_default=True,
    help="The engine to quantize for: `spokeshave list targets`.",
)
@click.option(
    "--observer",
    callback=on_shelf("observers"),
    metavar="NAME",
    default="abs-max",
    show_default=True,
    help="How ranges are found: `spokeshave list observers`.",
)
@click.option("--include", multiple=True, metavar="RULE", help=f"Quantize these ops only. {RULE}")
@click.option("--exclude", multiple=True, metavar="RULE", help="Leave these ops in float; same rules.")
@_options.batch_size
@_options.limit
@click.option(
    "--verify-data",
    metavar="DATA",
    help="To verify on; by default the test split of the digits after `digits`, else what calibrated.",
)
@_options.as_json
def command(model: str, data: str, output: str, as_json: bool, **settings: Any) -> None:
    """Quantizes a model and proves that it stayed right.

    FOLDER gets the quantized model in three forms (`float/model`: simulated, for Paddle; `int8/model`:
    weights stored as int8; `onnx/model.onnx`), `plan.json` with every scale, `report.json`, and
    `SHA256SUMS`. It appears whole or not at all, and only replaces a folder that was written this way.

    Exit code 1 when the ONNX file does not compute what the simulation does; it is written all the same.

    \b
    Example:
        spokeshave quantize demo/lenet --data digits --output small

    With --json, stdout is what `report.json` holds, and the closing line goes to stderr.
    """
    done = spokeshave.quantize(model, data, output, **settings)
    _output.echo_report(done.report, _closing(done, output), as_json)
    check_holds(done.verdict)


def check_holds(verdict: deploy.Verdict) -> None:
    """Ends with exit code 1 and the reasons on one line of stderr, unless the verdict holds."""
    if not verdict.holds:
        raise _output.does_not_hold("; ".join(f"{r.subject}: {r.text}" for r in verdict.reasons))


def standing(verdict: deploy.Verdict) -> str:
    """How right the deployed model is, in a few words: accuracy where there are labels, else agreement."""
    if verdict.accuracy is not None and verdict.accuracy_float is not None:
        return f"accuracy {verdict.accuracy_float:.2%} -> {verdict.accuracy:.2%} on {verdict.samples} samples"
    first = verdict.to_float.outputs[0]
    if first.top1_agreement is not None:
        return f"{first.top1_agreement:.2%} of {verdict.samples} samples in the same class as before"
    return f"{first.name} within {first.snr_db:.1f} dB of what it was on {verdict.samples} samples"


def _closing(done: compress.Quantized, output: str) -> str:
    facts = done.report.facts
    sizes = f"weights {facts['weights_before_bytes']:,} -> {facts['weights_after_bytes']:,} bytes"
    return f"Wrote {output}: {sizes}, {standing(done.verdict)}."
