"""How several commands show what came out."""

from __future__ import annotations

import json
from typing import Any

import click

from spokeshave.report import Report, render


def echo_json(document: Any) -> None:
    """Writes a document to stdout as indented JSON, keys in the order they have."""
    click.echo(json.dumps(document, indent=1))


def echo_report(report: Report, closing: str, as_json: bool) -> None:
    """Writes a report and a closing line to stdout; as JSON, the line goes to stderr."""
    click.echo(report.to_json() if as_json else render(report) + "\n", nl=not as_json)
    click.echo(closing, err=as_json)


def does_not_hold(why: str) -> click.exceptions.Exit:
    """What to raise when the work is done and its result is not right: says so on stderr, exit code 1."""
    click.echo(f"does not hold: {why}", err=True)
    return click.exceptions.Exit(1)
