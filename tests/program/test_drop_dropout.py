"""Dropout goes where it does nothing, becomes a scale where it scales, and stays where it drops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from program_nets import built, ran

from spokeshave.graph import GraphView, ViewBuilder, diff
from spokeshave.program import PASSES, Model, rewrite

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

DROP = PASSES["drop-dropout"]
DOWNSCALE = "downscale_in_infer"
Net = Callable[[Any], Any]


def ops(model: Model) -> list[str]:
    return [node.op for node in model.view.nodes]


def dropped(rate: float = 0.3, mode: str = "upscale_in_train") -> Net:
    return lambda x: paddle.exp(F.dropout(paddle.tanh(x), rate, mode=mode))


def test_in_test_mode_it_goes_and_nothing_changes() -> None:
    model = built(dropped())
    result = rewrite(model, DROP)
    assert (result.changed, result.declined) == (("dropout_0",), ())
    assert ops(result.model) == ["pd_op.tanh", "pd_op.exp"]
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.999, 1.0])
def test_one_that_scales_down_becomes_a_scale_to_the_bit(rate: float) -> None:
    model = built(dropped(rate, DOWNSCALE))
    result = rewrite(model, DROP)
    assert "pd_op.dropout" not in ops(result.model)
    assert ops(result.model).count("pd_op.scale") == 1
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


def test_two_behind_one_another_both_go() -> None:
    model = built(lambda x: paddle.exp(F.dropout(F.dropout(paddle.tanh(x), 0.3), 0.5, mode=DOWNSCALE)))
    result = rewrite(model, DROP)
    assert result.changed == ("dropout_0", "dropout_1")
    assert ops(result.model) == ["pd_op.tanh", "pd_op.full", "pd_op.scale", "pd_op.exp"]
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


def test_as_an_output_it_goes_too() -> None:
    model = built(lambda x: F.dropout(paddle.tanh(x), 0.3))
    result = rewrite(model, DROP)
    assert ops(result.model) == ["pd_op.tanh"]
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


def test_one_that_drops_is_left_alone() -> None:
    model = built(dropped(), is_test=False)
    result = rewrite(model, DROP)
    assert [(r.code, r.subject) for r in result.declined] == [("dropout-in-training", "dropout_0")]
    assert diff(model.view, result.model.view) == ""


def test_where_input_and_output_would_be_one_it_is_left_alone() -> None:
    result = rewrite(built(lambda x: F.dropout(x, 0.3)), DROP)
    assert [r.code for r in result.declined] == ["names-an-output"]


def _view(
    *, rate: float | None = 0.0, others: tuple[str, ...] = (), mask_read: bool = False, **attrs: Any
) -> GraphView:
    build = ViewBuilder()
    x = build.input("x", (4,))
    x = build.node("pd_op.exp", {"x": x}, {"out": (4,)})
    p = build.input("p", (1,)) if rate is None else None
    p = p or build.node("pd_op.full", {}, {"out": (1,)}, {"value": rate})
    told = {"is_test": True, "mode": "upscale_in_train", **attrs}
    y = build.node("pd_op.dropout", {"x": x, "p": p}, {"out": (4,), "mask": (4,)}, told)
    y = build.node("pd_op.exp", {"x": y}, {"out": (4,)})
    outputs = {"y": y, **({"mask": "dropout_0.mask"} if mask_read else {})}
    for other in others:
        outputs[other] = build.node(other, {"x": y}, {"out": (4,)})
    return build.view(outputs)


@pytest.mark.parametrize(
    ("view", "code"),
    [
        (_view(is_test=False, others=("pd_op.gaussian",)), "draws-at-random"),
        (_view(is_test=False, rate=0.5), "dropout-in-training"),
        (_view(is_test=False, rate=None), "dropout-in-training"),
        (_view(rate=None, mode="downgrade_in_infer"), "rate-not-constant"),
        (_view(mask_read=True), "mask-read"),
        (_view(mode="otherwise"), "dropout-mode"),
        (_view(others=("pd_op.exp_",)), None),
        (_view(is_test=False), None),
        (_view(rate=None), None),
        (_view(rate=0.0, mode="downgrade_in_infer", is_test=False), None),
    ],
)
def test_what_it_cannot_know_or_would_change_is_declined_by_name(view: GraphView, code: str | None) -> None:
    [found] = DROP.places(view)
    reason = DROP.check(found)
    assert (reason.code if reason else None) == code
