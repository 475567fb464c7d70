"""`.name` on any value, as Paddle 2 made names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from compat_nets import classifier, switched
from paddle import nn, static

from spokeshave.errors.compat import ValueNameTaken


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    with switched(True):
        yield


def names_of_a_net() -> list[str]:
    program = static.Program()
    with paddle.utils.unique_name.guard(), static.program_guard(program, static.Program()):
        image = static.data("image", [None, 1, 8, 8], "float32")
        label = static.data("label", [None, 1], "int64")
        rows = paddle.reshape(label, [-1, 1])
        codes = nn.BatchNorm2D(4)(nn.Conv2D(1, 4, 3, bias_attr=False)(image))
        scores = paddle.matmul(paddle.flatten(F.relu(codes), 1), paddle.ones([144, 10]))
        cost = F.cross_entropy(scores, rows)
        right = paddle.metric.accuracy(scores, rows, k=5)
    return [v.name for v in (image, label, rows, codes, scores, cost, right)]


def test_names_are_those_of_paddle_2() -> None:
    assert names_of_a_net() == [
        "image",
        "label",
        "reshape2_0.tmp_0",
        "batch_norm_0.tmp_2",
        "matmul_v2_0.tmp_0",
        "mean_0.tmp_0",
        "accuracy_0.tmp_0",
    ]


def test_the_same_script_gives_the_same_names_again() -> None:
    assert names_of_a_net() == names_of_a_net()


def test_every_value_of_a_training_program_has_a_name_of_its_own() -> None:
    net = classifier()
    names = [v.name for v in net.program.list_vars()]
    assert len(set(names)) == len(names) > 40


def test_print_shows_the_name() -> None:
    net = classifier()
    assert "softmax_0.tmp_0" in str(net.scores)
    assert str(net.scores) == repr(net.scores)
    assert "name=image" in str(net.image)
    assert "pd_op.softmax" in str(net.scores)


def test_parameters_and_inputs_keep_the_names_they_have() -> None:
    net = classifier()
    parameters = {v.name for v in net.program.all_parameters()}
    assert {"linear_0.w_0", "linear_0.b_0", "batch_norm1d_0.w_0", "linear_1.w_0"} <= parameters
    assert net.image.name == "image"


def test_a_name_can_be_given_and_fetched() -> None:
    net = classifier()
    net.scores.name = "prob"
    assert net.scores.name == "prob"
    assert net.run(net.program, ["prob"])[0].shape == (2, 3)
    assert net.run(net.program.clone(for_test=True), "prob")[0].shape == (2, 3)


def test_an_input_can_be_named_anew_and_is_fed_by_that_name() -> None:
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2], "float32")
        y = x + 1
    x.name = "pixels"
    [found] = static.Executor(paddle.CPUPlace()).run(
        program, feed={"pixels": np.ones(2, np.float32)}, fetch_list=[y]
    )
    assert found.tolist() == [2.0, 2.0]


def test_a_name_that_another_value_has_is_refused() -> None:
    net = classifier()
    taken = net.loss.name
    with pytest.raises(ValueNameTaken, match=r"'mean_1\.tmp_0' is taken by a result of pd_op.mean"):
        net.scores.name = taken
    with pytest.raises(ValueNameTaken):
        net.scores.name = "image"
    assert net.scores.name == "softmax_0.tmp_0"


def test_parameters_are_named_by_paddle_as_without_us() -> None:
    net = classifier()
    parameter = net.program.all_parameters()[0]
    parameter.name = "mine"
    assert parameter.name == "mine"
    assert "mine" in {v.name for v in net.program.all_parameters()}


def test_values_inside_branches_and_loops_have_names() -> None:
    inner: list[Any] = []

    def kept(value: Any) -> Any:
        inner.append(value)
        return value

    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, 4], "float32")
        y = static.nn.cond(paddle.mean(x) > 0, lambda: kept(paddle.tanh(x)), lambda: kept(x * 2))
        i = paddle.full([1], 0, "int64")
        static.nn.while_loop(lambda i: (i < 5).all(), lambda i: [kept(i + 1)], [i])
    assert [v.name for v in (y, *inner)] == ["cond_0.tmp_0", "tanh_0.tmp_0", "scale_0.tmp_0", "scale_1.tmp_0"]


def test_parts_of_a_list_are_called_by_what_made_the_list() -> None:
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [4, 2], "float32")
        halves, others, rows = paddle.split(x, 2), paddle.split(x, [1, 3]), paddle.unbind(x)
    names = [v.name for v in (*halves, *others, *rows)]
    assert names[:4] == ["split_0.tmp_0", "split_0.tmp_1", "split_1.tmp_0", "split_1.tmp_1"]
    assert names[4:] == [f"unbind_0.tmp_{n}" for n in range(4)]
