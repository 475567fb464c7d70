"""What is certain before the model runs becomes a constant; lengths that only the data tells stay open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paddle import nn
from program_nets import built, dynamic_mode

from spokeshave.graph import ViewBuilder, diff
from spokeshave.program import PASSES, Model, rewrite
from spokeshave.program.passes._lengths import Length
from spokeshave.program.passes.fold_constants import known_numbers

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

FOLD = PASSES["fold-constants"]
Net = Callable[[Any], Any]


def ops(model: Model) -> list[str]:
    return [node.op for node in model.view.nodes]


def length(x: Any, axis: int) -> Any:
    return paddle.shape(x)[axis]


def conv(x: Any) -> Any:
    return nn.Conv2D(4, 4, 1, bias_attr=False)(x)


def check_same(model: Model, other: Model) -> None:
    for batch in (1, 3):
        image = np.random.RandomState(0).standard_normal((batch, 4, 8, 8)).astype(np.float32)
        for one, two in zip(model.run({"image": image}).values(), other.run({"image": image}).values()):
            assert one.shape == two.shape
            np.testing.assert_array_equal(one, two)


def shape_of_reshape(model: Model) -> tuple[int, ...]:
    [reshape] = [n for n in model.view.nodes if n.op == "pd_op.reshape"]
    maker = model.view.maker(reshape.operand("shape") or "")
    assert maker is not None
    return tuple(maker.attrs["value"])


# Of [-1, 4, 8, 8], with the shape that the reshape has in the end.
SHAPES: dict[str, tuple[Net, tuple[int, ...]]] = {
    "batch kept": (lambda x: paddle.reshape(x, [length(x, 0), -1]), (0, -1)),
    "known lengths": (
        lambda x: paddle.reshape(x, [length(x, 0), length(x, 1), length(x, 2) * length(x, 3)]),
        (0, 4, 64),
    ),
    "batch of what came before": (
        lambda x: paddle.reshape(F.relu(F.max_pool2d(conv(x), 2)), [length(x, 0), -1]),
        (0, -1),
    ),
    "batch of a sum": (lambda x: paddle.reshape(x + conv(x), [length(x, 0), 256]), (0, 256)),
    "batch times four": (lambda x: paddle.reshape(x, [length(x, 0) * 4, 64]), (-1, 64)),
    "batch behind": (lambda x: paddle.reshape(x, [8, 8, length(x, 0), 4]), (8, 8, -1, 4)),
    "half a length": (lambda x: paddle.reshape(x, [-1, length(x, 2) // 2, 64]), (-1, 4, 64)),
    "lengths less one": (lambda x: paddle.reshape(x, [-1, length(x, 1) - 2, 128]), (-1, 2, 128)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_put_together_from_lengths_is_written_down(name: str) -> None:
    net, shape = SHAPES[name]
    model = built(net)
    result = rewrite(model, FOLD)
    assert len(result.changed) == 1
    assert shape_of_reshape(result.model) == shape
    assert not [op for op in ops(result.model) if "shape64" in op or "slice" in op or "stack" in op]
    check_same(model, result.model)


OPEN: dict[str, Net] = {
    "two lengths that nobody knows": lambda x: paddle.reshape(x, [length(x, 0) * 2, -1, 8]),
    "another tensor's batch": lambda x: paddle.reshape(x, [length(paddle.concat([x, x])[:2], 0), -1, 2]),
    "a plain shape": lambda x: paddle.reshape(x, [-1, 64]),
    "an open expand": lambda x: paddle.expand(x[:1], [length(x, 0), 4, 8, 8]),
    "nothing constant": paddle.exp,
    "constants as they are": lambda x: x * 2 + paddle.assign(np.arange(8, dtype=np.float32)),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_the_data_decides_stays_open(name: str) -> None:
    model = built(OPEN[name])
    result = rewrite(model, FOLD)
    assert (result.changed, result.declined) == ((), ())
    assert diff(model.view, result.model.view) == ""


CONSTANTS: dict[str, Net] = {
    "cast": lambda x: x + paddle.full([8], 3, "int64").cast("float32"),
    "cast down": lambda x: x + paddle.full([8], 0.1, "float64").cast("float32"),
    "cast to integers": lambda x: (
        x + paddle.assign(np.array([1.7, -1.7] * 4, "float32")).cast("int32").cast("float32")
    ),
    "concat": lambda x: x + paddle.concat([paddle.zeros([3]), paddle.ones([5])]),
    "stack": lambda x: x + paddle.stack([paddle.zeros([8])] * 4 + [paddle.ones([8])] * 4),
    "reshape": lambda x: x + paddle.reshape(paddle.assign(np.arange(64, dtype=np.float32)), [8, 8]),
    "lengths as numbers": lambda x: x * (length(x, 1) * length(x, 2) - 1).cast("float32"),
    "a size": lambda x: F.interpolate(x, [length(x, 2) * 2, length(x, 3) * 2]),
    "alike and many": lambda x: x + paddle.full([4, 8, 8], 0.1, "float64").cast("float32"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_is_worked_out_from_constants_becomes_one(name: str) -> None:
    model = built(CONSTANTS[name])
    result = rewrite(model, FOLD)
    assert result.changed
    check_same(model, result.model)
    again = rewrite(result.model, FOLD)
    assert (again.changed, again.declined) == ((), ())
    left = rewrite(result.model, PASSES["drop-dead-ops"]).model
    worked = ("cast", "concat", "stack", "reshape", "slice", "shape64", "multiply", "scale")
    wanted = 1 if name == "lengths as numbers" else 0  # the product with the image
    assert sum(op.split(".")[1] in worked for op in ops(left)) == wanted
    check_same(model, left)


def test_a_long_constant_of_many_numbers_is_left_as_it_is_with_a_reason() -> None:
    numbers = np.arange(1024, dtype=np.float32)
    model = built(lambda x: x[:, :1, 0, 0] + paddle.concat([paddle.assign(numbers), paddle.assign(numbers)]))
    result = rewrite(model, FOLD)
    assert [(r.code, r.subject) for r in result.declined] == [("long-constant", "concat_0")]


def test_a_negative_zero_is_left_where_it_is_as_paddle_would_drop_its_sign() -> None:
    model = built(lambda x: x + paddle.full([8], -1e-60, "float64").cast("float32"))
    result = rewrite(model, FOLD)
    assert [(r.code, r.subject) for r in result.declined] == [("negative-zero", "cast_0")]


@settings(max_examples=30, deadline=None)
@given(
    numbers=st.lists(st.integers(-20, 20), min_size=1, max_size=4),
    factor=st.integers(-5, 5),
    bias=st.integers(-5, 5),
    first=st.booleans(),
    divisor=st.integers(1, 7),
)
def test_integers_are_worked_out_as_paddle_does(
    numbers: list[int], factor: int, bias: int, first: bool, divisor: int
) -> None:
    def net(x: Any) -> Any:
        y = paddle.assign(np.array(numbers, np.int64))
        y = paddle.scale(y, float(factor), float(bias), bias_after_scale=first) // divisor
        return [paddle.exp(x), (y * y - y).cast("int32")]

    with dynamic_mode():
        model = built(net)
        result = rewrite(model, FOLD)
        assert result.changed == ("cast_0",)
        check_same(model, result.model)


def test_a_scale_by_a_fraction_is_left_to_paddle_which_cuts_it() -> None:
    model = built(lambda x: x * paddle.scale(paddle.shape(x)[1], 0.5).cast("float32"))
    result = rewrite(model, FOLD)
    assert "scale_0" not in result.changed
    assert "pd_op.scale" in ops(result.model)
    check_same(model, result.model)


def test_an_integer_that_would_not_fit_is_left_to_paddle() -> None:
    build = ViewBuilder()
    one = build.node("pd_op.full", {}, {"out": (1,)}, {"value": 2.0**31 - 1}, dtype="int32")
    total = build.node("pd_op.add", {"x": one, "y": one}, {"out": (1,)}, dtype="int32")
    assert list(known_numbers(build.view({"y": total})).known) == [one]


def test_a_constant_that_something_writes_over_is_none() -> None:
    build = ViewBuilder()
    one = build.node("pd_op.full", {}, {"out": (1,)}, {"value": 1.0}, dtype="int64")
    step = build.node("pd_op.increment_", {"x": one}, {"out": (1,)}, dtype="int64")
    total = build.node("pd_op.add", {"x": one, "y": one}, {"out": (1,)}, dtype="int64")
    assert known_numbers(build.view({"y": total, "z": step})).known == {}


def test_a_length_is_followed_through_what_keeps_it_and_no_further() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 4, -1, -1)), build.parameter("w", (4, 4, 3, 3))
    conv = build.node("pd_op.conv2d", {"input": x, "filter": w}, {"out": (-1, 4, -1, -1)})
    relu = build.node("pd_op.relu", {"x": conv}, {"out": (-1, 4, -1, -1)})
    bias = build.parameter("b", (1, 4, 1, 1))
    added = build.node("pd_op.add", {"x": relu, "y": bias}, {"out": (-1, 4, -1, -1)})
    both = build.node("pd_op.add", {"x": added, "y": x}, {"out": (-1, 4, -1, -1)})
    view = build.view({"y": both})
    origins = known_numbers(view)
    assert origins.of(added, 0) == Length(x, 0)
    assert origins.of(added, 2) == Length(conv, 2)
    assert origins.of(both, 0) == Length(x, 0)
    assert origins.of(both, 2) == Length(both, 2)  # either may have been stretched to the other


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "axis", "wanted"),
    [
        ("transpose", {"x": (-1, -1, -1)}, {"perm": (2, 0, 1)}, 0, ("x", 2)),
        ("flatten", {"x": (-1, -1, -1)}, {"start_axis": 1, "stop_axis": 2}, 0, ("x", 0)),
        ("flatten", {"x": (-1, -1, -1)}, {"start_axis": 1, "stop_axis": 2}, 1, None),
        ("slice", {"input": (-1, -1, -1, -1)}, {"axes": (0,), "decrease_axis": (0,)}, 1, ("input", 2)),
        ("slice", {"input": (-1, -1, -1, -1)}, {"axes": (1,), "decrease_axis": (1,)}, 0, ("input", 0)),
        ("slice", {"input": (-1, -1, -1)}, {"axes": (1,), "decrease_axis": ()}, 1, None),
        ("matmul", {"x": (-1, -1, 4), "y": (4, 6)}, {}, 1, ("x", 1)),
        ("matmul", {"x": (-1, -1, 4), "y": (4, 6)}, {}, 2, None),
        ("matmul", {"x": (-1, 4, -1), "y": (4, 6)}, {"transpose_x": True}, 1, None),
        ("matmul", {"x": (-1, -1, 4), "y": (-1, 4, 6)}, {}, 0, None),
        ("add", {"x": (-1, -1, 4), "y": (4,)}, {}, 1, ("x", 1)),
        ("add", {"x": (-1, -1, 4), "y": (1, -1, 4)}, {}, 0, ("x", 0)),
        ("add", {"x": (-1, -1, 4), "y": (-1, -1, 4)}, {}, 0, None),
        ("add", {"x": (4,), "y": (-1, -1, 4)}, {}, 0, None),
    ],
)
def test_where_a_length_comes_from_is_said_only_where_it_is_certain(
    op: str,
    shapes: dict[str, tuple[int, ...]],
    attrs: dict[str, Any],
    axis: int,
    wanted: tuple[str, int] | None,
) -> None:
    build = ViewBuilder()
    operands = {name: build.input(name, shape) for name, shape in shapes.items()}
    out = build.node(f"pd_op.{op}", operands, {"out": (-1, -1, -1)}, attrs)
    found = known_numbers(build.view({"y": out})).of(out, axis)
    assert found == Length(*(wanted or (out, axis)))


def test_where_both_sides_have_one_length_the_sum_has_it_however_many_follow() -> None:
    build = ViewBuilder()
    first = y = build.input("x", (-1, -1))
    for _ in range(2000):  # each twice as many ways back, if they were walked one by one
        z = build.node("pd_op.relu", {"x": y}, {"out": (-1, -1)})
        y = build.node("pd_op.add", {"x": y, "y": z}, {"out": (-1, -1)})
    assert known_numbers(build.view({"y": y})).of(y, 1) == Length(first, 1)


def test_attention_reshapes_by_its_batch_alone() -> None:
    def attend(x: Any) -> Any:
        batch = length(x, 0)
        rows = paddle.transpose(paddle.flatten(conv(x), 2), [0, 2, 1])
        both = paddle.reshape(nn.Linear(4, 8)(rows), [batch, -1, 2, 4])
        left, right = (paddle.transpose(both, [2, 0, 1, 3])[i] for i in (0, 1))
        mixed = paddle.matmul(F.softmax(paddle.matmul(left, right, transpose_y=True)), right)
        return paddle.reshape(mixed + rows, [batch, -1])

    model = built(attend)
    result = rewrite(model, FOLD)
    assert result.changed == ("reshape_0", "reshape_1")
    assert "pd_op.shape64" not in ops(result.model)
    check_same(model, result.model)
    assert rewrite(result.model, FOLD).changed == ()
