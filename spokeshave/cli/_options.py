"""Options that several commands share."""

from __future__ import annotations

import click

DATA_HELP = (
    "`digits`, `digits:test`, `digits:all`, or a .npy or .npz file with samples for the model's inputs."
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of text.")

batch_size = click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    help="Samples in one batch, where the model leaves that open.",
)

limit = click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Use at most that many samples."
)
