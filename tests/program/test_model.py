"""A model runs, says what it lacks, and is copied whole."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from program_nets import built, pictures, ran

from spokeshave.errors.engines import InputMismatch, InputMissing, InputUnknown, RunFailed
from spokeshave.errors.graph import NoSuchNode
from spokeshave.errors.program import FetchUnknown, TensorMissing
from spokeshave.graph import diff
from spokeshave.program import Model, load

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Saved = Callable[[str], Path]


def net(x: Any) -> Any:
    return F.relu(nn.Conv2D(4, 4, 3, padding=1)(x))


@pytest.fixture
def model() -> Model:
    return built(net)


def image(*shape: int) -> Any:
    return np.random.RandomState(0).standard_normal(shape or (2, 4, 8, 8)).astype(np.float32)


# Running


def test_outputs_inner_values_inputs_and_parameters_are_fetched_by_name(model: Model) -> None:
    names = ["out0", "conv2d_0.out", "image", "conv2d_0.b_0"]
    found = model.run({"image": image()}, names)
    assert list(found) == names
    np.testing.assert_array_equal(found["image"], image())
    np.testing.assert_array_equal(found["conv2d_0.b_0"], model.weight("conv2d_0.b_0"))
    bias = model.weight("conv2d_0.b_0").reshape(1, 4, 1, 1)
    np.testing.assert_array_equal(found["out0"], np.maximum(found["conv2d_0.out"] + bias, 0))


def test_a_value_that_is_asked_for_twice_comes_once(model: Model) -> None:
    assert list(model.run({"image": image()}, ["out0", "out0"])) == ["out0"]


def test_an_unknown_fetch_is_an_error_and_not_dropped(model: Model) -> None:
    with pytest.raises(FetchUnknown, match=r"no value 'conv2d_0.otu' to fetch. Nearest: conv2d_0.out"):
        model.run({"image": image()}, ["conv2d_0.otu"])


def test_an_output_that_the_program_does_not_have_is_an_error(model: Model) -> None:
    paddle.enable_static()
    with static.program_guard(static.Program()):
        stranger = static.data("stranger", [1], "float32") + 1
    with pytest.raises(FetchUnknown, match="no value 'out'"):
        _ = Model.of(model.program, {"out": stranger}, model.scope).view


def test_a_missing_tensor_is_an_error_and_not_the_end_of_the_process(model: Model) -> None:
    model.scope.erase(["conv2d_0.b_0"])
    with pytest.raises(TensorMissing, match=r"no tensor 'conv2d_0.b_0'"):
        model.run({"image": image()})
    with pytest.raises(TensorMissing):
        model.weight("conv2d_0.b_0")
    assert not model.holds("conv2d_0.b_0")


def test_an_output_that_is_an_input_runs() -> None:
    passed = built(lambda x: [x, F.relu(x)])
    assert passed.view.outputs[0] == ("out0", "image")
    np.testing.assert_array_equal(ran(passed)[0].clip(0), ran(passed)[1])


WRONG: list[tuple[Any, Any, str]] = [
    ({}, InputMissing, r"'image' \(float32 \[any, 4, 8, 8\]\) was not fed"),
    ({"imag": image()}, InputUnknown, "no input 'imag'. Nearest: image"),
    ({"image": image(), "label": image()}, InputUnknown, "no input 'label'"),
    ({"image": image(4, 8, 8)}, InputMismatch, r"given float32 \[4, 8, 8\]"),
    ({"image": image(2, 3, 8, 8)}, InputMismatch, r"given float32 \[2, 3, 8, 8\]"),
    ({"image": image(2, 4, 8, 9)}, InputMismatch, r"given float32 \[2, 4, 8, 9\]"),
    ({"image": image().astype(np.float64)}, InputMismatch, "given float64"),
    ({"image": image().astype(np.int64)}, InputMismatch, "given int64"),
    ({"image": image().astype(">f4")}, InputMismatch, "given >f4"),
    ({"image": np.array(["a"])}, InputMismatch, "given <U1"),
    ({"image": np.array([None])}, InputMismatch, "given object"),
    ({"image": image().tolist()}, InputMismatch, "given a list"),
    ({"image": None}, InputMismatch, "given a NoneType"),
]


@pytest.mark.parametrize(("feed", "error", "why"), WRONG)
def test_a_wrong_feed_is_told_before_paddle_sees_it(model: Model, feed: Any, error: Any, why: str) -> None:
    with pytest.raises(error, match=why):
        model.run(feed)


@pytest.mark.parametrize(
    "turn", [lambda x: x[::-1], lambda x: np.asfortranarray(x), lambda x: x[:, :, ::2, ::2]]
)
def test_an_array_may_lie_in_memory_as_it_likes(turn: Any) -> None:
    model = built(net, (4, 4, 4)) if turn(image()).shape[-1] == 4 else built(net)
    array = turn(image())
    found = model.run({"image": array})["out0"]
    np.testing.assert_array_equal(found, model.run({"image": np.ascontiguousarray(array)})["out0"])


def test_no_images_give_no_scores(model: Model) -> None:
    assert model.run({"image": image(0, 4, 8, 8)})["out0"].shape == (0, 4, 8, 8)


def test_what_paddle_refuses_while_running_is_one_error_in_its_words(model: Model) -> None:
    model.scope.find_var("conv2d_0.b_0").get_tensor().set(np.zeros(3, np.float32), paddle.CPUPlace())
    with pytest.raises(RunFailed, match=r"Paddle failed: InvalidArgumentError: .*shape") as caught:
        model.run({"image": image()})
    assert "\n" not in str(caught.value)


def test_results_are_the_callers_own(model: Model) -> None:
    first = model.run({"image": image()})["out0"]
    kept = first.copy()
    model.run({"image": -image()})
    np.testing.assert_array_equal(first, kept)


# Numbers and scopes


def test_a_weight_is_a_copy(model: Model) -> None:
    model.weight("conv2d_0.b_0")[:] = 99
    model.weights()["conv2d_0.w_0"][:] = 99
    assert (model.weight("conv2d_0.b_0") != 99).all()
    assert (model.weight("conv2d_0.w_0") != 99).all()
    kept = model.weight("conv2d_0.w_0")
    model.scope.find_var("conv2d_0.w_0").get_tensor().set(np.zeros_like(kept), paddle.CPUPlace())
    assert kept.any()


def test_a_copy_has_numbers_of_its_own(model: Model) -> None:
    copied = model.copy()
    assert not copied.borrows
    assert copied.scope is not model.scope
    assert copied.program is not model.program
    copied.scope.find_var("conv2d_0.w_0").get_tensor().set(
        np.zeros((4, 4, 3, 3), np.float32), paddle.CPUPlace()
    )
    assert model.weight("conv2d_0.w_0").any()


def test_a_copy_has_the_same_view_with_its_own_objects_behind_it(model: Model) -> None:
    copied = model.copy()
    assert diff(model.view, copied.view) == ""
    assert diff(copied.view, Model(copied.program, copied.scope, copied.fetches).view) == ""
    own = {op.id() for op in copied.program.global_block().ops}
    assert {copied.op(node.id).id() for node in copied.view.nodes} <= own
    np.testing.assert_array_equal(ran(copied)[0], ran(model)[0])


def test_a_copy_of_a_vectors_parts_has_its_own_objects_too() -> None:
    def parted(x: Any) -> Any:
        one, other = paddle.split(x, 2, axis=1)
        return paddle.concat([other, one], axis=1)

    model = built(parted)
    copied = model.copy()
    assert copied.op("split_with_num_0").id() != model.op("split_with_num_0").id()
    assert copied.op("split_with_num_0").name() == "pd_op.split_with_num"
    np.testing.assert_array_equal(ran(copied)[0], ran(model)[0])


def test_a_copy_of_a_borrowed_scope_stays_borrowed_and_owned_does_not_share(model: Model) -> None:
    borrowed = Model.of(model.program, {"out": model.target("out0")}, model.scope)
    assert borrowed.borrows
    copied, owned = borrowed.copy(), borrowed.owned()
    assert copied.borrows
    assert copied.scope is model.scope
    assert not owned.borrows
    assert owned.scope is not model.scope
    model.scope.find_var("conv2d_0.w_0").get_tensor().set(
        np.zeros((4, 4, 3, 3), np.float32), paddle.CPUPlace()
    )
    assert not copied.weight("conv2d_0.w_0").any()
    assert owned.weight("conv2d_0.w_0").any()


def test_without_a_scope_a_program_lives_in_the_global_one(model: Model) -> None:
    scope = static.Scope()
    with static.scope_guard(scope):
        assert Model.of(model.program, {}).scope is static.global_scope()


def test_a_copy_outlives_its_original(model: Model) -> None:
    wanted, copied = ran(model)[0], model.copy()
    del model
    gc.collect()
    np.testing.assert_array_equal(ran(copied)[0], wanted)


def test_an_unknown_node_is_told(model: Model) -> None:
    with pytest.raises(NoSuchNode, match="conv2d_9"):
        model.op("conv2d_9")


# The picture


def test_nodes_are_found_by_paddles_objects_and_the_other_way(model: Model) -> None:
    op = model.op("conv2d_0")
    assert op.name() == "pd_op.conv2d"
    assert model.picture.nodes_of([model.op("relu_0"), op]) == ("conv2d_0", "relu_0")
    assert model.picture.id_of(op.result(0)) == "conv2d_0.out"
    paddle.enable_static()
    with static.program_guard(static.Program()):
        assert model.picture.id_of(static.data("other", [1], "float32")) is None


def test_a_view_tells_the_layer_and_the_attributes_of_a_node(saved: Saved) -> None:
    conv = load(saved("lenet")).view.node("conv2d_0")
    assert re.fullmatch(r"/Sequential(_\d+)?/Conv2D(_\d+)?/", conv.scope)
    assert (conv.attrs["strides"], conv.attrs["padding_algorithm"]) == ((1, 1), "EXPLICIT")
    assert not {"op_callstack", "stop_gradient", "struct_name"} & set(conv.attrs)


def test_readers_inside_a_branch_are_seen(saved: Saved) -> None:
    view = load(saved("branching")).view
    branch = next(node for node in view.nodes if node.op == "pd_op.if")
    captured = set(branch.operands("captured"))
    assert {"x", "linear_0.w_0", "linear_1.b_0"} <= captured
    assert branch in view.readers("linear_0.w_0")
    assert pictures("lenet")
