"""`CompiledProgram`, `BuildStrategy`, `ExecutionStrategy`: on one device the program itself runs."""

from __future__ import annotations

import numpy as np
import paddle
import pytest
from compat_nets import Trained
from paddle import static

from spokeshave.errors.compat import StrategyNotServed
from spokeshave.slim import quant

pytest_plugins = ["compat_nets"]
pytestmark = pytest.mark.usefixtures("compat_on")


def strategy() -> static.BuildStrategy:
    """As tutorials set it."""
    made = static.BuildStrategy()
    made.memory_optimize = False
    made.enable_inplace = False
    made.fuse_all_reduce_ops = False
    made.sync_batch_norm = False
    return made


def test_a_compiled_program_runs_as_the_program_does(trained: Trained) -> None:
    tested = trained.program.clone(for_test=True)
    how = static.ExecutionStrategy()
    how.num_threads = 2
    for compiled in (
        static.CompiledProgram(tested),
        static.CompiledProgram(tested, build_strategy=strategy()),
        static.CompiledProgram(tested).with_data_parallel(
            loss_name=trained.loss.name, build_strategy=strategy(), exec_strategy=how
        ),
        tested.with_data_parallel(loss_name=trained.loss.name, places=[paddle.CPUPlace()]),
        static.CompiledProgram(static.CompiledProgram(tested)),
    ):
        assert isinstance(compiled, static.CompiledProgram)
        for mine, its in zip(
            trained.run(compiled, [trained.scores, trained.loss.name]),
            trained.run(tested, [trained.scores, trained.loss.name]),
        ):
            np.testing.assert_array_equal(mine, its)


def test_a_compiled_program_trains(trained: Trained) -> None:
    compiled = trained.program.with_data_parallel(loss_name=trained.loss.name)
    losses = [float(trained.run(compiled, trained.loss.name)[0]) for _ in range(5)]
    assert losses[-1] < losses[0]


def test_it_answers_as_its_program_does(trained: Trained) -> None:
    compiled = static.CompiledProgram(trained.program)
    assert compiled.num_ops() == trained.program.num_ops()
    assert compiled.global_block().has_var("linear_0.w_0")


def test_what_would_change_a_run_is_refused(trained: Trained) -> None:
    several, drawn = static.BuildStrategy(), static.BuildStrategy()
    several.num_trainers, drawn.debug_graphviz_path = 2, "./graph"
    repeated = static.ExecutionStrategy()
    repeated.num_iteration_per_run = 5
    compiled = static.CompiledProgram(trained.program)
    with pytest.raises(StrategyNotServed, match="num_trainers = 2"):
        static.CompiledProgram(trained.program, build_strategy=several)
    with pytest.raises(StrategyNotServed, match="debug_graphviz_path"):
        compiled.with_data_parallel(build_strategy=drawn)
    with pytest.raises(StrategyNotServed, match="num_iteration_per_run = 5"):
        compiled.with_data_parallel(exec_strategy=repeated)
    with pytest.raises(StrategyNotServed, match="2 devices"):
        compiled.with_data_parallel(places=[paddle.CPUPlace(), paddle.CPUPlace()])


def test_what_is_no_program_is_refused_by_paddle() -> None:
    with pytest.raises(TypeError, match="expected Graph or Program"):
        static.CompiledProgram("program")


def test_a_compiled_program_is_quantized(trained: Trained) -> None:
    compiled = trained.program.with_data_parallel(loss_name=trained.loss.name)
    quantized = quant.quant_aware(compiled, scope=trained.scope)
    assert any(op.name() == "pd_op.round" for op in quantized.global_block().ops)
    assert trained.run(quantized, [trained.loss])[0].shape == ()
