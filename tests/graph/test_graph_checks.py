"""A broken graph is found, whatever is broken; one that holds together is left in peace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from graph_views import small_net, with_node, with_value

from spokeshave.errors.graph import GraphBroken
from spokeshave.graph import GraphView, ViewBuilder, check, problems


def test_a_graph_that_holds_together_has_no_problems() -> None:
    assert problems(small_net()) == ()
    check(small_net(), after="nothing")


def test_check_names_what_was_done_and_what_broke_first() -> None:
    broken = with_value(small_net(), "first.w", shape=(5, 4, 3, 3))
    with pytest.raises(GraphBroken) as caught:
        check(broken, after="cut")
    assert caught.value.facts["after"] == "cut"
    assert caught.value.facts["count"] == len(problems(broken)) == 2
    assert caught.value.facts["first"] == problems(broken)[0]


def _without_value(view: GraphView, value_id: str) -> GraphView:
    return replace(view, values={i: v for i, v in view.values.items() if i != value_id})


def _reordered(view: GraphView) -> GraphView:
    return replace(view, nodes=(*view.nodes[1:], view.nodes[0]))


def _doubled(view: GraphView) -> GraphView:
    return replace(view, nodes=(*view.nodes, view.nodes[-1]))


NET = small_net()
BROKEN: dict[str, Callable[[], GraphView]] = {
    "the node id 'matmul_0' occurs 2 times": lambda: _doubled(NET),
    "the result 'matmul_0.out' occurs 2 times": lambda: _doubled(NET),
    "the input 'image' occurs 2 times": lambda: replace(NET, inputs=("image", "image")),
    "the output name 'logits' occurs 2 times": lambda: replace(NET, outputs=NET.outputs * 2),
    "the value 'x' is kept under the id 'image'": lambda: with_value(NET, "image", id="x"),
    "reads 'conv2d_0.out' at 'x' before it is made": lambda: _reordered(NET),
    "reads 'first.w' at 'filter', which does not exist": lambda: _without_value(NET, "first.w"),
    "relu_0 makes 'relu_0.out', which is not among": lambda: _without_value(NET, "relu_0.out"),
    "'relu_0.out' names flatten_0 as its maker": lambda: with_value(NET, "relu_0.out", maker="flatten_0"),
    "'relu_0.out' is of kind 'parameter'": lambda: with_value(NET, "relu_0.out", kind="parameter"),
    "'first.w' is of kind 'inner', its maker is None": lambda: with_value(NET, "first.w", kind="inner"),
    "'relu_0.out' lists the readers []": lambda: with_value(NET, "relu_0.out", readers=()),
    "the input 'picture' is not a value of kind": lambda: replace(NET, inputs=("image", "picture")),
    "'image' is of kind 'input', but the model does not list it": lambda: replace(NET, inputs=()),
    "the output 'y' is 'nowhere', which does not exist": lambda: replace(NET, outputs=(("y", "nowhere"),)),
    "its filter reads 4 x 1 groups, its input has 3": lambda: with_value(NET, "first.w", shape=(6, 4, 3, 3)),
    "its filter makes 5 channels, its result has 6": lambda: with_value(NET, "first.w", shape=(5, 3, 3, 3)),
    "its filter has the shape [6, 27]": lambda: with_value(NET, "first.w", shape=(6, 27)),
    "x sums over 384, y over 380": lambda: with_value(NET, "head.w", shape=(380, 10)),
    "y makes 9 channels, the result has 10": lambda: with_value(NET, "head.w", shape=(384, 9)),
    "it multiplies the shapes": lambda: with_value(NET, "head.w", shape=()),
    "its variance has the shape [5]": lambda: with_value(NET, "first.variance", shape=(5,)),
    "its scale has the shape [6, 1]": lambda: with_value(NET, "first.scale", shape=(6, 1)),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_place_is_named(problem: str) -> None:
    assert any(problem in found for found in problems(BROKEN[problem]()))


def _one(op: str, inputs: Mapping[str, tuple[int, ...]], out: tuple[int, ...], **attrs: Any) -> GraphView:
    build = ViewBuilder()
    ids = {name: build.input(name, shape) for name, shape in inputs.items()}
    return build.view({"y": build.node(op, ids, {"out": out}, attrs)})


FITTING = {
    "grouped": _one(
        "pd_op.conv2d", {"input": (-1, 8, 5, 5), "filter": (6, 4, 3, 3)}, (-1, 6, 3, 3), groups=2
    ),
    "NHWC": _one(
        "pd_op.conv2d", {"input": (1, 5, 5, 3), "filter": (6, 3, 3, 3)}, (1, 3, 3, 6), data_format="NHWC"
    ),
    "multiplied": _one(
        "pd_op.depthwise_conv2d",
        {"input": (-1, 4, 5, 5), "filter": (8, 1, 3, 3)},
        (-1, 8, 3, 3),
        groups=4,
    ),
    "transposed weight": _one("pd_op.matmul", {"x": (-1, 5), "y": (3, 5)}, (-1, 3), transpose_y=True),
    "transposed x": _one("pd_op.matmul", {"x": (5, 2), "y": (5, 3)}, (2, 3), transpose_x=True),
    "vectors": _one("pd_op.matmul", {"x": (5,), "y": (5,)}, (), transpose_x=True, transpose_y=True),
    "vector on the right": _one("pd_op.matmul", {"x": (2, 5), "y": (5,)}, (2,)),
    "attention": _one(
        "pd_op.matmul", {"x": (-1, 2, 7, 4), "y": (-1, 2, 9, 4)}, (-1, 2, 7, 9), transpose_y=True
    ),
    "unknown channels": _one(
        "pd_op.conv2d", {"input": (-1, -1, 5, 5), "filter": (6, 3, 3, 3)}, (-1, -1, 3, 3)
    ),
    "unknown filter": _one(
        "pd_op.conv2d", {"input": (1, 4, 5, 5), "filter": (-1, -1, 3, 3)}, (1, 6, 3, 3), groups=2
    ),
    "unknown lengths": _one("pd_op.matmul", {"x": (-1, -1), "y": (384, 10)}, (-1, -1)),
    "transposed, in groups": _one(
        "pd_op.conv2d_transpose", {"x": (-1, 4, 5, 5), "filter": (4, 3, 2, 2)}, (-1, 6, 10, 10), groups=2
    ),
    "transposed, NHWC": _one(
        "pd_op.conv2d_transpose",
        {"x": (1, 5, 5, 4), "filter": (4, 6, 2, 2)},
        (1, 10, 10, 6),
        data_format="NHWC",
    ),
    "transposed, unknown": _one(
        "pd_op.conv2d_transpose", {"x": (1, -1, 5, 5), "filter": (-1, -1, 2, 2)}, (1, 6, 10, 10), groups=2
    ),
    "transposed, depthwise": _one(
        "pd_op.depthwise_conv2d_transpose",
        {"x": (-1, 4, 5, 5), "filter": (4, 1, 2, 2)},
        (-1, 4, 10, 10),
        groups=4,
    ),
    "an op without a rule": _one("pd_op.nonesuch", {"x": (1,)}, (7, 7)),
}


@pytest.mark.parametrize("name", FITTING)
def test_shapes_that_fit_or_are_unknown_are_left_in_peace(name: str) -> None:
    assert problems(FITTING[name]) == ()


MISFITS = {
    "4 x 3 groups, its input has 8": _one(
        "pd_op.conv2d", {"input": (-1, 8, 5, 5), "filter": (6, 4, 3, 3)}, (-1, 6, 3, 3), groups=3
    ),
    "its filter makes 5 channels in 2 groups": _one(
        "pd_op.conv2d", {"input": (-1, 8, 5, 5), "filter": (5, 4, 3, 3)}, (-1, 5, 3, 3), groups=2
    ),
    "a depthwise one reads 1": _one(
        "pd_op.depthwise_conv2d",
        {"input": (-1, 4, 5, 5), "filter": (4, 2, 3, 3)},
        (-1, 4, 3, 3),
        groups=2,
    ),
    "1 x 4 groups, its input has 3": _one(
        "pd_op.depthwise_conv2d",
        {"input": (-1, 3, 5, 5), "filter": (4, 1, 3, 3)},
        (-1, 4, 3, 3),
        groups=4,
    ),
    "x sums over 5, y over 3": _one("pd_op.matmul", {"x": (-1, 5), "y": (3, 5)}, (-1, 5)),
    "x sums over 2, y over 5": _one("pd_op.matmul", {"x": (5, 2), "y": (5, 3)}, (5, 3)),
    "x sums over 4, y over 5": _one("pd_op.matmul", {"x": (4,), "y": (5,)}, ()),
    "its filter reads 4 channels, its input has 3": _one(
        "pd_op.conv2d_transpose", {"x": (-1, 3, 5, 5), "filter": (4, 6, 2, 2)}, (-1, 6, 10, 10)
    ),
    "its filter makes 3 x 2 groups, its result has 5 channels": _one(
        "pd_op.conv2d_transpose", {"x": (-1, 4, 5, 5), "filter": (4, 3, 2, 2)}, (-1, 5, 10, 10), groups=2
    ),
    "its filter reads 4 channels in 3 groups": _one(
        "pd_op.conv2d_transpose", {"x": (-1, 4, 5, 5), "filter": (4, 2, 2, 2)}, (-1, 6, 10, 10), groups=3
    ),
    "its filter has the shape [4, 3], not four axes": _one(
        "pd_op.depthwise_conv2d_transpose", {"x": (-1, 4, 5, 5), "filter": (4, 3)}, (-1, 4, 5, 5)
    ),
    "its mean has the shape [5], its input 4 channels": _one(
        "pd_op.sync_batch_norm_", {"x": (-1, 4, 5, 5), "mean": (5,)}, (-1, 4, 5, 5)
    ),
    "its input has 5 channels": _one(
        "pd_op.conv2d", {"input": (1, 5, 5, 3), "filter": (6, 3, 3, 3)}, (1, 6, 3, 3), data_format="NCHW"
    ),
}


@pytest.mark.parametrize("problem", MISFITS)
def test_a_weight_that_does_not_fit_is_named(problem: str) -> None:
    assert any(problem in found for found in problems(MISFITS[problem]))


def test_every_problem_is_listed() -> None:
    view = with_value(with_value(NET, "head.w", shape=(380, 10)), "first.bias", shape=(7,))
    view = with_node(view, "relu_0", inputs=(("x", "nowhere"),))
    found = problems(view)
    assert [p for p in found if "nowhere" in p]
    assert [p for p in found if p.startswith("matmul_0:")]
    assert [p for p in found if p.startswith("batch_norm_0:")]
