"""What gives back what it was given goes; what only looks like it stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_nets import built, dynamic_mode, ran

from spokeshave.graph import ViewBuilder, diff
from spokeshave.program import PASSES, Model, rewrite

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

DROP = PASSES["drop-identities"]
Net = Callable[[Any], Any]


def ops(model: Model) -> list[str]:
    return [node.op for node in model.view.nodes]


def t(x: Any, *order: int) -> Any:
    return paddle.transpose(x, list(order))


# Of [-1, 4, 8, 8]; each stands between two exponentials.
GOING: dict[str, Net] = {
    "assign": paddle.assign,
    "cast": lambda x: paddle.cast(x, "float32"),
    "scale": lambda x: x * 1.0,
    "scale, added nothing": lambda x: x + 0.0,
    "all in a row": lambda x: paddle.cast(paddle.assign(paddle.assign(x)) * 1.0, "float32"),
    "reshape": lambda x: paddle.reshape(x, [-1, 4, 8, 8]),
    "reshape, one length kept": lambda x: paddle.reshape(x, [0, 4, 8, -1]),
    "flatten": lambda x: paddle.flatten(x, 2, 2),
    "flatten, from behind": lambda x: paddle.flatten(x, -1, -1),
    "transpose": lambda x: t(x, 0, 1, 2, 3),
    "transposes, there and back": lambda x: t(t(x, 0, 2, 3, 1), 0, 3, 1, 2),
    "transposes, once round": lambda x: t(t(t(x, 0, 2, 3, 1), 0, 2, 3, 1), 0, 2, 3, 1),
    "transposes, a copy between": lambda x: t(paddle.assign(t(x, 0, 2, 3, 1)), 0, 3, 1, 2),
    "squeeze of unsqueeze": lambda x: paddle.squeeze(paddle.unsqueeze(x, [0, 3]), [3, 0]),
    "squeeze from behind": lambda x: paddle.squeeze(paddle.unsqueeze(x, 4), -1),
    "concat": lambda x: paddle.concat([x], 1),
    "pad": lambda x: F.pad(x, [0, 0, 0, 0]),
    "pad of all axes": lambda x: F.pad(x, [0] * 8),
    "expand": lambda x: paddle.expand(x, [-1, 4, 8, 8]),
    "tile": lambda x: paddle.tile(x, [1, 1, 1]),
}


@pytest.mark.parametrize("net", GOING.values(), ids=list(GOING))
def test_what_gives_back_what_it_was_given_goes(net: Net) -> None:
    model = built(lambda x: paddle.exp(net(paddle.exp(x))))
    result = rewrite(model, DROP)
    assert ops(result.model) == ["pd_op.exp", "pd_op.exp"]
    assert result.declined == ()
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


STAYING: dict[str, Net] = {
    "cast": lambda x: paddle.cast(x, "float64"),
    "cast and back, which rounds": lambda x: paddle.cast(paddle.cast(x, "float16"), "float32"),
    "scale": lambda x: x * 1.5,
    "scale, added something": lambda x: x + 1.0,
    "scale by what is computed": lambda x: paddle.scale(x, paddle.mean(x)),
    "reshape": lambda x: paddle.reshape(x, [-1, 8, 4, 8]),
    "reshape to another rank": lambda x: paddle.reshape(x, [-1, 4, 64]),
    "reshape to a batch that must not differ": lambda x: paddle.reshape(x, [3, 4, 8, 8]),
    "reshape to a batch that may differ": lambda x: paddle.reshape(x, [3, 4, 8, -1]),
    "flatten": lambda x: paddle.flatten(x, 1, 2),
    "transpose": lambda x: t(x, 0, 1, 3, 2),
    "transposes that do not meet": lambda x: t(t(x, 0, 2, 3, 1), 0, 2, 3, 1),
    "transposes, something between": lambda x: t(paddle.exp(t(x, 0, 2, 3, 1)), 0, 3, 1, 2),
    "squeeze of another axis": lambda x: paddle.squeeze(paddle.unsqueeze(x[:1], 1), 0),
    "concat": lambda x: paddle.concat([x, x], 1),
    "pad": lambda x: F.pad(x, [0, 1, 0, 0]),
    "expand": lambda x: paddle.expand(x[:, :1], [-1, 4, 8, 8]),
    "expand to another rank": lambda x: paddle.expand(x, [1, -1, 4, 8, 8]),
    "tile": lambda x: paddle.tile(x, [1, 2, 1, 1]),
    "tile to another rank": lambda x: paddle.tile(x, [1, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("net", STAYING.values(), ids=list(STAYING))
def test_what_only_looks_like_it_stays(net: Net) -> None:
    model = built(lambda x: paddle.exp(net(paddle.exp(x))))
    result = rewrite(model, DROP)
    assert (result.changed, result.declined) == ((), ())
    assert diff(model.view, result.model.view) == ""


@settings(max_examples=40, deadline=None)
@given(orders=st.lists(st.permutations(range(4)), min_size=1, max_size=4))
def test_transposes_in_a_row_give_the_same_however_many_cancel(orders: list[list[int]]) -> None:
    def net(x: Any) -> Any:
        for order in orders:
            x = t(x, *order)
        return paddle.tanh(x)

    with dynamic_mode():
        model = built(net)
        result = rewrite(model, DROP)
        np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])
    composed = list(range(4))
    for order in orders:
        composed = [composed[i] for i in order]
    assert (ops(result.model) == ["pd_op.tanh"]) == (composed == sorted(composed))


def test_a_transpose_that_another_op_reads_stays_for_it() -> None:
    def net(x: Any) -> Any:
        turned = t(paddle.exp(x), 0, 2, 3, 1)
        return [paddle.exp(turned), paddle.tanh(t(turned, 0, 3, 1, 2))]

    model = built(net)
    result = rewrite(model, DROP)
    assert result.changed == ("transpose_1",)
    assert ops(result.model).count("pd_op.transpose") == 1
    for one, other in zip(ran(result.model), ran(model)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "net",
    [
        paddle.assign,
        lambda x: [y := paddle.exp(x), paddle.assign(y)],
        lambda x: x + paddle.assign(paddle.create_parameter([8], "float32")),
    ],
)
def test_two_outputs_an_input_or_a_weight_are_not_made_one(net: Net) -> None:
    model = built(net)
    result = rewrite(model, DROP)
    if result.declined:
        assert [(r.code, r.subject) for r in result.declined] == [("names-an-output", "assign_0")]
        assert diff(model.view, result.model.view) == ""
    for one, other in zip(ran(result.model), ran(model)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("operand", ["source", "copy"])
@pytest.mark.parametrize(
    ("writer", "is_hazard"),
    [("pd_op.relu_", True), ("pd_op.while", True), ("pd_op.relu", False), ("pd_op.share_data_", False)],
)
def test_a_copy_that_something_writes_over_stays(operand: str, writer: str, is_hazard: bool) -> None:
    build = ViewBuilder()
    source = build.node("pd_op.exp", {"x": build.input("x", (4,))}, {"out": (4,)})
    copy = build.node("pd_op.assign", {"x": source}, {"out": (4,)})
    written = build.node(writer, {"x": source if operand == "source" else copy}, {"out": (4,)})
    sum_ = build.node("pd_op.add", {"x": copy, "y": written}, {"out": (4,)})
    found = [f for f in DROP.places(build.view({"y": sum_})) if f.node.op == "pd_op.assign"]
    reasons = [DROP.check(f) for f in found]
    assert [r and r.code for r in reasons] == ["written-over" if is_hazard else None]


def test_a_pair_with_something_written_over_in_between_is_no_pair() -> None:
    build = ViewBuilder()
    source = build.node("pd_op.exp", {"x": build.input("x", (2, 4))}, {"out": (2, 4)})
    turned = build.node("pd_op.transpose", {"x": source}, {"out": (4, 2)}, {"perm": (1, 0)})
    written = build.node("pd_op.relu_", {"x": turned}, {"out": (4, 2)})
    back = build.node("pd_op.transpose", {"x": turned}, {"out": (2, 4)}, {"perm": (1, 0)})
    assert list(DROP.places(build.view({"y": back, "z": written}))) == []


def test_a_batch_norm_writes_over_its_statistics_alone() -> None:
    build = ViewBuilder()
    source = build.node("pd_op.exp", {"x": build.input("x", (2, 4))}, {"out": (2, 4)})
    mean, copy = build.parameter("mean", (4,)), build.node("pd_op.assign", {"x": source}, {"out": (2, 4)})
    copied = build.node("pd_op.assign", {"x": mean}, {"out": (4,)})
    norm = build.node("pd_op.batch_norm_", {"x": copy, "mean": copied}, {"out": (2, 4)})
    places = {f.node.id: DROP.check(f) for f in DROP.places(build.view({"y": norm}))}
    assert places["assign_0"] is None
    assert places["assign_1"] is not None
