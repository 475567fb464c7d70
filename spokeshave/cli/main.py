"""The door: finds the commands, and turns what goes wrong into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import pkgutil
import warnings
from typing import Any

import click

import spokeshave
from spokeshave import cli
from spokeshave.errors import SpokeshaveError
from spokeshave.registry import nearest

INTERRUPTED = 130


class KnownFailure(click.ClickException):
    """An error of Spokeshave's own, shown as one line without a traceback; exit code 2."""

    exit_code = 2

    def __init__(self, error: SpokeshaveError) -> None:
        super().__init__(f"error [{error.code}]: {' '.join(error.message.split())}")

    def show(self, file: Any = None) -> None:
        """Writes the line to stderr."""
        click.echo(self.message, file=file, err=file is None)


class Commands(click.Group):
    """The commands that the files of this folder hold: `cli/NAME.py` has a click command called `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, sorted."""
        modules = (module.name for module in pkgutil.iter_modules(cli.__path__))
        return sorted(name for name in modules if name != "main" and not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; only its own file is imported."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = importlib.import_module(f"{cli.__name__}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; an unknown one is an error that tells the nearest."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}. Nearest: {nearest(args[0], known)}.")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a known failure is one line with exit code 2, an interruption one with 130."""
        try:
            return super().invoke(ctx)
        except SpokeshaveError as error:
            raise KnownFailure(error) from error
        except (KeyboardInterrupt, ImportError) as error:
            if not _is_interruption(error):
                raise
            click.echo("\nInterrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _is_interruption(error: BaseException) -> bool:
    # Interrupted while it loads, Paddle's core raises an ImportError of its own from the interruption.
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def _dashed(token: str) -> str:
    return token.replace("_", "-")


@click.group(
    cls=Commands,
    context_settings={"token_normalize_func": _dashed, "help_option_names": ["-h", "--help"]},
)
@click.version_option(
    spokeshave.__version__, "--version", prog_name="spokeshave", message="%(prog)s %(version)s"
)
def group() -> None:
    """Makes PaddlePaddle 3 models small and fast, and proves that they stayed right.

    Start with `spokeshave demo`, which needs no model and no data. Every option may be written with
    dashes or underscores.

    Exit codes: 0 all is well; 1 the work is done and its result does not hold; 2 wrong arguments, or an
    error that is told in one line; 130 interrupted.
    """


def main() -> None:
    """Runs the command line of this process and exits."""
    _quiet_paddle()
    group.main(prog_name="spokeshave")


def _quiet_paddle() -> None:
    """Keeps Paddle's notes at its import away from the output; errors of its own still show."""
    os.environ.setdefault("GLOG_minloglevel", "2")
    warnings.filterwarnings("ignore", message=".*ccache.*", category=UserWarning)
