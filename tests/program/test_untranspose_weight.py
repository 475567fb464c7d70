"""A weight that is transposed before a product is read as it lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
from program_nets import built, ran

from spokeshave.graph import diff, problems
from spokeshave.program import PASSES, rewrite

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

UNTRANSPOSE = PASSES["untranspose-weight"]
Net = Callable[[Any], Any]


def weight(*shape: int) -> Any:
    return paddle.create_parameter(list(shape), "float32")


def flat(x: Any) -> Any:
    return paddle.flatten(x, 1)


NETS: dict[str, Net] = {
    "paddle.t": lambda x: paddle.matmul(flat(x), paddle.t(weight(5, 256))),
    "perm (1, 0)": lambda x: paddle.matmul(flat(x), paddle.transpose(weight(5, 256), [1, 0])),
    "of a transposed operand": lambda x: paddle.matmul(flat(x), paddle.t(weight(256, 5)), transpose_y=True),
    "with x transposed": lambda x: paddle.matmul(
        paddle.transpose(flat(x), [1, 0]), paddle.t(weight(5, 256)), transpose_x=True
    ),
    "many rows": lambda x: paddle.matmul(x, paddle.t(weight(3, 8))),
}


@pytest.mark.parametrize("net", NETS.values(), ids=list(NETS))
def test_the_product_reads_the_weight_itself_and_gives_the_same(net: Net) -> None:
    model = built(net)
    result = rewrite(model, UNTRANSPOSE)
    assert result.changed == ("matmul_0",)
    assert result.declined == ()
    [product] = [n for n in result.model.view.nodes if n.op == "pd_op.matmul"]
    assert result.model.view.is_parameter(product.operand("y"))
    assert problems(result.model.view) == ()
    # The kernel may take the sums of the other layout in another order.
    np.testing.assert_allclose(ran(result.model)[0], ran(model)[0], rtol=1e-5, atol=1e-5)
    kept = [n for n in result.model.view.nodes if n.op == "pd_op.transpose"]
    assert len(kept) == (1 if net is NETS["with x transposed"] else 0)


def test_the_transpose_stays_where_another_op_reads_it() -> None:
    def net(x: Any) -> Any:
        turned = paddle.t(weight(5, 256))
        return [paddle.matmul(flat(x), turned), paddle.mean(turned)]

    model = built(net)
    result = rewrite(model, UNTRANSPOSE)
    assert result.changed == ("matmul_0",)
    assert [n.id for n in result.model.view.nodes if n.op == "pd_op.transpose"] == ["transpose_0"]
    for one, other in zip(ran(result.model), ran(model)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("net", "code"),
    [
        (lambda x: paddle.matmul(x, paddle.transpose(weight(4, 3, 8), [0, 2, 1])), "not-a-matrix"),
        (lambda x: paddle.matmul(flat(x), paddle.transpose(weight(256, 5), [0, 1])), "not-a-matrix"),
        (lambda x: paddle.matmul(flat(x), paddle.t(paddle.tanh(weight(5, 256)))), "not-a-parameter"),
        (lambda x: paddle.matmul(x, paddle.transpose(x, [0, 1, 3, 2])), "not-a-parameter"),
    ],
)
def test_what_it_must_leave_alone_stays_equal_and_has_a_reason(net: Net, code: str) -> None:
    model = built(net)
    result = rewrite(model, UNTRANSPOSE)
    assert result.changed == ()
    assert [(r.code, r.subject) for r in result.declined] == [(code, "transpose_0")]
    assert diff(model.view, result.model.view) == ""


@pytest.mark.parametrize(
    "net",
    [
        lambda x: paddle.matmul(flat(x), weight(256, 5)),
        lambda x: paddle.matmul(paddle.t(flat(x)), flat(x)),
        lambda x: paddle.add(paddle.t(weight(8, 8)), x),
    ],
)
def test_products_and_transposes_that_do_not_meet_are_none_of_its_business(net: Net) -> None:
    model = built(net)
    result = rewrite(model, UNTRANSPOSE)
    assert (result.changed, result.declined) == ((), ())
    assert diff(model.view, result.model.view) == ""
