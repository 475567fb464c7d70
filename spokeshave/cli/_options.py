"""Options and output that several commands share."""

from __future__ import annotations

import json
from typing import Any

import click

DATA_HELP = "`digits`, `digits:test`, `digits:all`, or a .npy or .npz file with samples for the model's inputs."

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of text.")

batch_size = click.option(
    "--batch-size", type=click.IntRange(min=1), default=32, show_default=True, metavar="N", help="Samples in one batch."
)

limit = click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Use at most that many samples.")


def echo_json(document: Any) -> None:
    """Writes a document to stdout as indented JSON, keys in the order they have."""
    click.echo(json.dumps(document, indent=1))


def does_not_hold(why: str) -> click.exceptions.Exit:
    """What to raise when the work is done and its result is not right: says so on stderr, exit code 1."""
    click.echo(f"does not hold: {why}", err=True)
    return click.exceptions.Exit(1)
