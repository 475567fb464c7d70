"""What Paddle 2's Program had and Paddle 3's lost, for old scripts: explicit, small, undone by `disable`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from spokeshave.program.roles import training_ops
from spokeshave.seams import building, clone, descended, erase, set_test_mode

_ORIGINALS: dict[tuple[type, str], Callable[..., Any]] = {}


def enable() -> None:
    """Gives Paddle back, until `disable`, what old scripts assume.

    - `Executor.run` takes in `fetch_list` values of the program that the one being run was made from (by
      `clone(for_test=True)`, `quant_aware` or `convert`); Paddle drops such values without a word.
    - `Program.clone(for_test=True)` gives the forward part in test mode.
    """
    if not _ORIGINALS:
        _patch(paddle.static.Executor, "run", _run)
        _patch(paddle.static.Program, "clone", _clone)


def disable() -> None:
    """Puts back what `enable` replaced, the very objects."""
    for (owner, name), original in _ORIGINALS.items():
        setattr(owner, name, original)
    _ORIGINALS.clear()


def _patch(owner: type, name: str, replacement: Callable[..., Any]) -> None:
    _ORIGINALS[owner, name] = getattr(owner, name)
    setattr(owner, name, replacement)


def _run(
    executor: Any, program: Any = None, feed: Any = None, fetch_list: Any = None, *more: Any, **named: Any
) -> Any:
    if program is not None and fetch_list:
        fetch_list = [descended(f, program) if hasattr(f, "get_defining_op") else f for f in fetch_list]
    run = _ORIGINALS[paddle.static.Executor, "run"]
    return run(executor, program, feed, fetch_list, *more, **named)


def _clone(program: Any, *mapping: Any, for_test: bool = False) -> Any:
    original = _ORIGINALS[paddle.static.Program, "clone"]
    if mapping and not isinstance(mapping[0], bool):
        return original(program, *mapping)
    copy, _ = clone(program)
    if for_test or (mapping and mapping[0]):
        with building(copy):
            for op in reversed(training_ops(copy)):
                erase(op)
        set_test_mode(copy)
    return copy
