"""Ops that no output needs go, and what does more than give a result stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn
from program_nets import built, ran

from spokeshave.graph import GraphView, ViewBuilder, diff
from spokeshave.program import PASSES, Model, load, rewrite

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

DROP = PASSES["drop-dead-ops"]


def ops(model: Model) -> list[str]:
    return [node.op for node in model.view.nodes]


def test_what_nobody_reads_goes_with_all_that_only_it_read() -> None:
    def net(x: Any) -> Any:
        y = F.relu(x)
        nn.Linear(8, 3)(paddle.tanh(y))
        return paddle.exp(y)

    model = built(net)
    result = rewrite(model, DROP)
    assert result.changed == ("add_0", "matmul_0", "tanh_0")
    assert ops(result.model) == ["pd_op.relu", "pd_op.exp"]
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


def test_outputs_and_what_they_need_stay() -> None:
    model = built(lambda x: [paddle.exp(F.relu(x)), F.relu(x)])
    result = rewrite(model, DROP)
    assert result.changed == ()
    assert diff(model.view, result.model.view) == ""


def test_one_part_of_a_vector_that_is_read_keeps_its_maker() -> None:
    def net(x: Any) -> Any:
        left, _ = paddle.split(x, 2, axis=1)
        return paddle.exp(left)

    model = built(net)
    result = rewrite(model, DROP)
    assert result.changed == ()
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


def test_a_list_of_numbers_that_nobody_reads_goes_with_its_place() -> None:
    def net(x: Any) -> Any:
        paddle.assign(np.arange(4, dtype=np.float32)) * 2
        return paddle.exp(x)

    model = built(net)
    result = rewrite(model, DROP)
    assert ops(result.model) == ["pd_op.exp"]
    assert result.declined == ()


def test_a_branch_and_what_it_reads_stay_though_nobody_reads_it(saved: Callable[[str], Any]) -> None:
    model = load(saved("branching"))
    outputs = {"out": model.target(model.view.outputs[1][0])}
    alone = Model.of(model.program, outputs, model.scope)
    result = rewrite(alone, DROP)
    kept = {n.op for n in result.model.view.nodes}
    assert {"pd_op.if", "pd_op.while"} <= kept


def _dead(op: str, *, scope: str = "", **attrs: Any) -> GraphView:
    build = ViewBuilder()
    x = build.input("x", (4,))
    read = build.node("pd_op.tanh", {"x": x}, {"out": (4,)})
    build.node(op, {"x": read}, {"out": (4,)}, attrs, scope=scope)
    return build.view({"y": build.node("pd_op.exp", {"x": x}, {"out": (4,)})})


@pytest.mark.parametrize(
    "view",
    [
        _dead("pd_op.print"),
        _dead("pd_op.assign_out_"),
        _dead("pd_op.relu_"),
        _dead("pd_op.if"),
        _dead("pd_op.while"),
        _dead("pd_op.gaussian"),
        _dead("pd_op.c_allreduce_sum"),
        _dead("pd_op.py_func"),
        _dead("pd_op.dropout", is_test=False),
        _dead("pd_op.rnn", is_test=False, dropout_prob=0.5),
        _dead("custom_op.whatever"),
        _dead("pd_op.batch_norm_"),
    ],
    ids=lambda view: view.nodes[1].op,
)
def test_what_may_do_more_than_give_a_result_is_declined_with_all_that_it_reads(view: GraphView) -> None:
    [found] = DROP.places(view)
    reason = DROP.check(found)
    assert reason is not None
    assert (reason.code, reason.subject) == ("has-effects", view.nodes[1].id)


@pytest.mark.parametrize(
    "view",
    [
        _dead("pd_op.exp"),
        _dead("pd_op.dropout", is_test=True),
        _dead("pd_op.rnn", is_test=True, dropout_prob=0.5),
        _dead("pd_op.rnn", is_test=False, dropout_prob=0.0),
    ],
)
def test_what_does_no_more_goes(view: GraphView) -> None:
    found = list(DROP.places(view))
    assert [f.node.op for f in found] == [view.nodes[1].op, "pd_op.tanh"]
    assert [DROP.check(f) for f in found] == [None, None]
