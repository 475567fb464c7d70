"""Where in a script an op was built: `struct_name`, which Paddle writes into files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spokeshave.seams.handles import Program
from spokeshave.seams.programs import all_ops

_PATH = "struct_name"


@contextmanager
def in_scope(program: Program, name: str) -> Iterator[None]:
    """Puts a name before the path of every op that the program gets inside: `/name/Conv2D/`."""
    before = {op.id() for op in all_ops(program)}
    try:
        yield
    finally:
        for op in all_ops(program):
            if op.id() not in before:
                path = op.str_attr(_PATH) if op.has_attr(_PATH) else "/"
                op.set_str_attr(_PATH, f"/{name.strip('/')}/{path.lstrip('/')}")
