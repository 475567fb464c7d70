"""Static mode for a while, and building into a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import paddle

from spokeshave.seams.handles import Program

TESTED_VERSIONS = ("3.3.1",)


@contextmanager
def static_mode() -> Iterator[None]:
    """Static mode inside, the caller's own mode again outside."""
    if not paddle.in_dynamic_mode():
        yield
        return
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


@contextmanager
def building(program: Program) -> Iterator[None]:
    """Ops that are called inside land in `program`; what initialises new parameters goes nowhere."""
    with static_mode(), paddle.static.program_guard(program, paddle.static.Program()):
        yield
