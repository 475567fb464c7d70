"""What Paddle 2's Program had and Paddle 3's lost, for old scripts: explicit, small, undone by `disable`."""

from __future__ import annotations

from threading import RLock
from typing import Any

from spokeshave.compat import fetching, naming, programs, saving, scoping, strategies
from spokeshave.compat._patch import Patch
from spokeshave.compat.strategies import program_in

__all__ = ["PATCHES", "Patch", "disable", "enable", "program_in"]

PATCHES: tuple[Patch, ...] = (
    *naming.PATCHES,
    *fetching.PATCHES,
    *programs.PATCHES,
    *saving.PATCHES,
    *scoping.PATCHES,
    *strategies.PATCHES,
)
_ORIGINALS: dict[Patch, Any] = {}
_LOCK = RLock()


def enable() -> None:
    """Gives Paddle back, until `disable`, what old scripts assume of static graphs.

    - Every value has a `.name` in the familiar form (`fc_0.tmp_2`), which `print` shows and which may be set.
    - `Executor.run` fetches by name and by value, from a program and from those made of it (by `clone`,
      `quant_aware`, `convert`); what it cannot fetch is an error, where Paddle says nothing.
    - `Program.clone(for_test=True)`, `Program.all_parameters()`, `Program.list_vars()` without values
      that are not there, `Block.var`, `Block.has_var`, `Block.vars`.
    - `paddle.static.save_inference_model(…, program=)` takes values of the program that this one came from.
    - `paddle.static.name_scope` leaves its name on the ops built inside, for `not_quant_pattern` to find.
    - `CompiledProgram`, `with_data_parallel`, `ExecutionStrategy`: on one device the program itself runs.

    It is one switch: enabling twice is enabling once, and the first `disable` turns it off. What was imported
    out of `paddle.static` by name before (`from paddle.static import name_scope`) stays what it was.
    """
    with _LOCK:
        for patch in PATCHES if not _ORIGINALS else ():
            original = patch.now()
            _ORIGINALS[patch] = original
            patch.put(patch.make(original))


def disable() -> None:
    """Puts back what `enable` replaced, the very objects; names that values got stay on them, unseen."""
    with _LOCK:
        while _ORIGINALS:
            patch, original = _ORIGINALS.popitem()
            patch.put(original)
