"""What `Executor.run` fetches: by name and by value, from a program and those made of it."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import paddle
import pytest
from compat_nets import Trained, classifier
from paddle import static

from spokeshave import compat
from spokeshave.errors.compat import ValueOfAnotherProgram
from spokeshave.errors.program import FetchUnknown
from spokeshave.slim import quant

pytest_plugins = ["compat_nets"]
pytestmark = pytest.mark.usefixtures("compat_on")

OUTPUTS = ["accuracy_0.tmp_0", "mean_1.tmp_0"]


def stranger() -> Any:
    """A value whose program is gone when it is returned."""
    with static.program_guard(static.Program()):
        value = static.data("stranger", [1], "float32") + 1
    gc.collect()
    return value


def test_names_and_values_are_fetched_in_the_order_asked_for(trained: Trained) -> None:
    tested = trained.program.clone(for_test=True)
    mixed = trained.run(tested, [trained.loss, trained.scores.name, trained.loss.name, trained.scores])
    assert [found.shape for found in mixed] == [(), (2, 3), (), (2, 3)]
    np.testing.assert_array_equal(mixed[0], mixed[2])
    np.testing.assert_array_equal(mixed[1], mixed[3])


def test_a_name_is_found_that_was_never_asked_for(trained: Trained) -> None:
    assert [found.shape for found in trained.run(trained.program, OUTPUTS)] == [(), ()]
    assert [v.name for v in (trained.accuracy, trained.loss)] == OUTPUTS


def test_one_name_alone_and_lists_in_lists_are_fetched(trained: Trained) -> None:
    assert len(trained.run(trained.program, trained.loss.name)) == 1
    nested = trained.run(trained.program, [[trained.loss.name, trained.accuracy], [trained.scores]])
    assert [found.shape for found in nested] == [(), (), (2, 3)]
    assert trained.run(trained.program, []) == []
    assert trained.run(trained.program, None) == []


def test_tensors_come_back_where_numpy_is_not_wanted(trained: Trained) -> None:
    [found] = trained.run(trained.program, [trained.loss.name], return_numpy=False)
    assert not isinstance(found, np.ndarray)
    assert np.array(found).shape == ()


def test_parameters_inputs_and_what_an_optimizer_remembers_are_fetched_by_name(trained: Trained) -> None:
    names = ["linear_0.w_0", "image", "linear_0.w_0_velocity_0", "learning_rate_0"]
    weight, image, velocity, rate = trained.run(trained.program, names)
    assert weight.shape == velocity.shape == (4, 8)
    np.testing.assert_array_equal(image, np.ones((2, 4)))
    assert rate == pytest.approx(0.1)
    stored = np.array(trained.scope.find_var("linear_0.w_0").get_tensor())
    np.testing.assert_array_equal(weight, stored)  # as the step left it


def test_a_startup_program_hands_out_parameters_by_name_and_by_value(trained: Trained) -> None:
    trained.program.clone()  # names all
    parameter = trained.program.global_block().var("linear_1.b_0")
    with static.scope_guard(static.Scope()):
        found = trained.executor.run(trained.startup, fetch_list=["linear_0.w_0", parameter])
        constant = next(v for v in trained.startup.list_vars() if not v.persistable)
        refused = [constant, constant.name, trained.loss, trained.loss.name]
        for wanted in refused:  # Paddle would end the process
            with pytest.raises((ValueOfAnotherProgram, FetchUnknown)):
                trained.executor.run(trained.startup, fetch_list=[wanted])
    assert [array.shape for array in found] == [(4, 8), (3,)]


def test_from_quantized_and_converted_programs_the_same_names_and_values_are_fetched(
    trained: Trained,
) -> None:
    tested = trained.program.clone(for_test=True)
    for_training = quant.quant_aware(trained.program, scope=trained.scope)
    for_test = quant.quant_aware(tested, scope=trained.scope, for_test=True)
    for _ in range(3):
        trained.run(for_training, [trained.loss, trained.loss.name])
    frozen, packed = quant.convert(for_test, scope=trained.scope, save_int8=True)
    wanted = [trained.scores, trained.scores.name, *OUTPUTS]
    found = [trained.run(program, wanted) for program in (for_test, frozen, packed)]
    for arrays in found:
        np.testing.assert_array_equal(arrays[0], arrays[1])
        np.testing.assert_allclose(arrays[0], found[0][0], atol=1e-5)  # float sums in another order


def test_a_value_of_one_copy_is_fetched_from_another(trained: Trained) -> None:
    one, other = trained.program.clone(for_test=True), trained.program.clone(for_test=True)
    scores = one.global_block().var(trained.scores.name)
    np.testing.assert_array_equal(trained.run(other, scores), trained.run(one, scores))


def test_what_each_copy_made_for_itself_is_not_taken_for_the_others(trained: Trained) -> None:
    one, other = trained.program.clone(for_test=True), trained.program.clone(for_test=True)
    for program, factor in ((one, 2.0), (other, 3.0)):
        with static.program_guard(program):
            program.global_block().var("softmax_0.tmp_0") * factor
    made = next(v for v in one.list_vars() if v.name == "scale_0.tmp_0")
    assert other.global_block().has_var("scale_0.tmp_0")
    with pytest.raises(ValueOfAnotherProgram):
        trained.run(other, [made])


def test_a_name_that_does_not_exist_is_told_with_the_nearest(trained: Trained) -> None:
    with pytest.raises(FetchUnknown, match=r"'accuracy_0\.tmp_7'.*accuracy_0\.tmp_0"):
        trained.run(trained.program, [trained.loss, "accuracy_0.tmp_7"])


def test_what_a_clone_for_test_has_lost_is_an_error(trained: Trained) -> None:
    tested = trained.program.clone(for_test=True)
    gradient = next(op for op in trained.program.global_block().ops if op.name() == "pd_op.softmax_grad")
    with pytest.raises(ValueOfAnotherProgram, match=r"fetch_list\[1\]"):
        trained.run(tested, [trained.loss, gradient.result(0)])
    with pytest.raises(FetchUnknown):
        trained.run(tested, [gradient.result(0).name])


def test_a_value_of_another_program_is_an_error_even_where_that_is_gone(trained: Trained) -> None:
    other = classifier()
    for value in (other.loss, stranger(), paddle.pir.Value()):
        with pytest.raises(ValueOfAnotherProgram, match=r"fetch_list\[0\]"):
            trained.run(trained.program, [value])


def test_a_value_inside_a_branch_is_an_error() -> None:
    inner: list[Any] = []

    def branch() -> Any:
        inner.append(paddle.tanh(x))
        return inner[0]

    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [1], "float32")
        static.nn.cond(paddle.mean(x) > 0, branch, lambda: x * 2)
    executor = static.Executor(paddle.CPUPlace())
    for wanted, error in ((inner[0], ValueOfAnotherProgram), (inner[0].name, FetchUnknown)):
        with pytest.raises(error):
            executor.run(program, feed={"x": np.ones(1, np.float32)}, fetch_list=[wanted])


def test_the_default_program_is_run_where_none_is_given() -> None:
    program = static.Program()
    with static.program_guard(program):
        y = static.data("x", [1], "float32") + 1
        executor = static.Executor(paddle.CPUPlace())
        [found] = executor.run(feed={"x": np.ones(1, np.float32)}, fetch_list=[y.name])
    assert found.tolist() == [2.0]


def test_a_program_of_paddle_2_is_left_to_paddle() -> None:
    with paddle.pir_utils.OldIrGuard():
        paddle.enable_static()
        program = static.Program()
        with static.program_guard(program, static.Program()), static.name_scope("old"):
            y = paddle.mean(static.data("x", [2], "float32"))
        executor = static.Executor(paddle.CPUPlace())
        for run in (program, program.clone(for_test=True), static.CompiledProgram(program)):
            [found] = executor.run(run, feed={"x": np.ones(2, np.float32)}, fetch_list=[y.name])
            assert float(found) == 1.0


def test_off_paddle_drops_a_value_of_the_ancestor(trained: Trained) -> None:
    tested = trained.program.clone(for_test=True)
    compat.disable()
    assert trained.run(tested, [trained.scores]) == []
