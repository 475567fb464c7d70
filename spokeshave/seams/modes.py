"""Static mode for a while, and building into a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import paddle
from paddle.base import framework

from spokeshave.seams.handles import Program

TESTED_VERSIONS = ("3.3.1",)
_TURNS = RLock()
_IN_ORDER = "FLAGS_new_executor_sequential_run"


@contextmanager
def static_mode() -> Iterator[None]:
    """Static mode inside, the caller's own mode again outside, and names go on counting where they were.

    `paddle.enable_static` and `paddle.disable_static` would begin all names anew, so that the next layer's
    parameters bear the names of those before, and one optimizer takes both for the same. Threads take turns:
    which program Paddle builds into is one for all of them.
    """
    with _TURNS, framework._dygraph_guard(None):
        yield


@contextmanager
def dynamic_mode() -> Iterator[None]:
    """Dynamic mode inside, the caller's own mode again outside; threads take turns."""
    with _TURNS:
        if paddle.in_dynamic_mode():
            yield
            return
        paddle.disable_static()
        try:
            yield
        finally:
            paddle.enable_static()


@contextmanager
def in_program_order() -> Iterator[None]:
    """Programs that first run inside run their ops in the order in which they stand, then and later.

    Paddle runs what does not hang together in any order, so that one dropout may draw the mask of another.
    """
    before = paddle.get_flags([_IN_ORDER])
    paddle.set_flags({_IN_ORDER: True})
    try:
        yield
    finally:
        paddle.set_flags(before)


@contextmanager
def building(program: Program) -> Iterator[None]:
    """Ops that are called inside land in `program`; what initialises new parameters goes nowhere."""
    with static_mode(), paddle.static.program_guard(program, paddle.static.Program()):
        yield
