"""How a program was to be built and run on several devices; on one the program itself runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import paddle

from spokeshave.compat._patch import ABSENT, Patch
from spokeshave.errors.compat import StrategyNotServed
from spokeshave.seams import PROGRAM, Program

_PADDLES_COMPILED = paddle.static.CompiledProgram


@dataclass
class ExecutionStrategy:
    """How operators were scheduled. All may be set; only several iterations in one run are not served."""

    num_threads: int = 0
    num_iteration_per_drop_scope: int = 100
    num_iteration_per_run: int = 1
    use_thread_barrier: bool = False
    allow_op_delay: bool = False


class CompiledProgram:
    """A program to be run as it is: `Executor.run` takes it in place of the program.

    Of a program in the format of Paddle 2 it makes Paddle's own.
    """

    def __new__(cls, program_or_graph: Any, build_strategy: Any = None) -> Any:
        if isinstance(program_in(program_or_graph), PROGRAM):
            return super().__new__(cls)
        return _PADDLES_COMPILED(program_or_graph, build_strategy)

    def __init__(self, program_or_graph: Any, build_strategy: Any = None) -> None:
        _check_build(build_strategy)
        self._program: Program = program_in(program_or_graph)

    def with_data_parallel(
        self,
        loss_name: str | None = None,
        build_strategy: Any = None,
        exec_strategy: Any = None,
        share_vars_from: Any = None,
        places: Any = None,
    ) -> CompiledProgram:
        """The same program: with one device there is nothing to share out. `loss_name` changes nothing."""
        _check_build(build_strategy)
        if getattr(exec_strategy, "num_iteration_per_run", 1) != 1:
            raise StrategyNotServed(
                setting="num_iteration_per_run", value=repr(exec_strategy.num_iteration_per_run)
            )
        if isinstance(places, (list, tuple)) and len(places) > 1:
            raise StrategyNotServed(setting="places", value=f"{len(places)} devices")
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "_program":
            raise AttributeError(name)
        return getattr(self._program, name)


def program_in(program: Any) -> Any:
    """The program in a compiled one; whatever else was given as it is."""
    return program._program if isinstance(program, CompiledProgram) else program


def _check_build(strategy: Any) -> None:
    if getattr(strategy, "num_trainers", 1) > 1:
        raise StrategyNotServed(setting="num_trainers", value=repr(strategy.num_trainers))
    if getattr(strategy, "debug_graphviz_path", ""):
        raise StrategyNotServed(setting="debug_graphviz_path", value=repr(strategy.debug_graphviz_path))


def _with_data_parallel(_: Any) -> Any:
    def with_data_parallel(program: Program, *how: Any, **named: Any) -> CompiledProgram:
        return CompiledProgram(program).with_data_parallel(*how, **named)

    return with_data_parallel


def _execution_strategy(original: Any) -> Any:
    return ExecutionStrategy if original is ABSENT else original


PATCHES = (
    Patch(paddle.static, "CompiledProgram", lambda _: CompiledProgram),
    Patch(paddle.static, "ExecutionStrategy", _execution_strategy),
    Patch(PROGRAM, "with_data_parallel", _with_data_parallel),
)
