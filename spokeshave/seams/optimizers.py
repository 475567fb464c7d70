"""What Paddle's optimizers keep to themselves."""

from __future__ import annotations

from typing import Any

import paddle

from spokeshave.seams.handles import Program, Scope
from spokeshave.seams.modes import static_mode


def serves_a_program(optimizer: Any) -> bool:
    """Whether an optimizer has made what it remembers already: it would hand it out to any program."""
    return bool(optimizer._accumulators or optimizer._learning_rate_map)


def scheduler_of(program: Program) -> Any:
    """The object that moves the learning rate of a program, None where there is none."""
    return getattr(program, "lr_scheduler", None)


def run_startup(startup: Program, scope: Scope) -> None:
    """Fills a scope with what a startup program makes."""
    with static_mode(), paddle.static.scope_guard(scope):
        paddle.static.Executor(paddle.CPUPlace()).run(startup)
