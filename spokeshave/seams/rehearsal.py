"""Trying in a process of its own what could end this one."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress

if sys.platform != "win32":
    import resource

# Far longer than anything takes that is tried; a child that does not come to an end is stopped.
_SECONDS = 60


def fate_of(act: Callable[[], object]) -> str:
    """What ends a copy of this process that calls `act`: the name of a signal, or nothing where it survives.

    What `act` raises is not told: it raises that here as well. Costs a fork, a few milliseconds and no
    memory to speak of. Where there is no fork (Windows), nothing is tried.
    """
    if sys.platform == "win32":
        return ""
    with warnings.catch_warnings():
        # Python warns of forks beside other threads, which the child never waits for: it only computes.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _act_and_end(act)
    try:
        _, status = os.waitpid(child, 0)
    except ChildProcessError:
        # Somebody else collects the children of this process, and the answer with them.
        return ""
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""


def _act_and_end(act: Callable[[], object]) -> None:
    """Never returns, so that nothing of the parent's is closed, flushed or run a second time."""
    # What is garbage here may be Paddle's, whose threads the child lacks: ending it there ends the child.
    gc.disable()
    try:
        # Paddle's own report of what ended it, and an image of its memory, are nobody's.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        with suppress(Exception):
            act()
    finally:
        os._exit(0)
