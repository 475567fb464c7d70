"""`spokeshave list`: what there is to choose from."""

from __future__ import annotations

import click

from spokeshave.cli import _options, _output
from spokeshave.cli._shelves import KINDS, kind_named
from spokeshave.report import table


@click.command
@click.argument("kind", required=False)
@_options.as_json
def command(kind: str | None, as_json: bool) -> None:
    """Lists the plug-ins of a kind, or all kinds.

    \b
    Example:
        spokeshave list observers

    JSON: a list of objects with `name` and `doc`; without KIND also `count`.
    """
    if kind is None:
        _show_kinds(as_json)
    else:
        _show_entries(kind, as_json)


def _show_kinds(as_json: bool) -> None:
    counted = [(kind.name, len(kind.entries()), kind.doc) for kind in KINDS]
    if as_json:
        _output.echo_json([{"name": name, "count": count, "doc": doc} for name, count, doc in counted])
        return
    click.echo(table(("kind", "count", "what"), counted))
    click.echo("\n`spokeshave list KIND` shows the names.")


def _show_entries(kind: str, as_json: bool) -> None:
    entries = kind_named(kind).entries()
    if as_json:
        _output.echo_json([{"name": name, "doc": doc} for name, doc in entries])
    else:
        click.echo(table(("name", "what"), entries))
