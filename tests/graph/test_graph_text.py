"""Text that a person can read, and a diff that misses nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graph_views import small_net, with_node, with_value

from spokeshave.graph import GraphView, ViewBuilder, diff, to_text

NET = small_net()


def test_the_head_names_inputs_outputs_and_parameters() -> None:
    head = to_text(NET).splitlines()[:4]
    assert head == [
        "input image: float32[-1,3,8,8]",
        "output logits = matmul_0",
        "parameter first.bias: float32[6]",
        "parameter first.mean: float32[6]",
    ]


def test_a_node_is_one_line() -> None:
    lines = to_text(NET).splitlines()
    assert (
        "conv2d_0 = conv2d(image, first.w) data_format=NCHW groups=1 strides=(1,1) -> float32[-1,6,8,8]"
        in lines
    )
    assert "relu_0 = relu(batch_norm_0) -> float32[-1,6,8,8]" in lines
    assert any(line.endswith("-> out float32[-1,6,8,8], mean_out float32[6]") for line in lines)


def test_long_attributes_are_cut_in_the_text_and_compared_whole() -> None:
    build = ViewBuilder()
    build.node("pd_op.full_int_array", {}, {"out": (20,)}, {"value": list(range(20)), "scale": 1 / 3})
    view = build.view({})
    assert to_text(view) == (
        "full_int_array_0 = full_int_array() scale=0.333333 value=(0,1,2,3,4,5,6,7,…) -> float32[20]"
    )
    other = with_node(view, "full_int_array_0", attrs={"value": [*range(19), 77], "scale": 1 / 3})
    assert to_text(other) == to_text(view)
    assert "77" in diff(view, other)


def test_results_that_are_not_the_first_keep_their_full_name() -> None:
    build = ViewBuilder()
    x = build.input("x", (4,))
    build.node("pd_op.split", {"x": x}, {"a": (2,), "b": (2,)}, scope="/Split/")
    y = build.node("pd_op.add", {"x": "split_0.a", "y": "split_0.b"}, {"out": (2,)})
    text = to_text(build.view({"y": y}))
    assert "add_0 = add(split_0, split_0.b) -> float32[2]" in text
    assert "split_0 = split(x) -> a float32[2], b float32[2] @ /Split/" in text


def test_a_parameter_named_like_a_node_is_not_mistaken_for_its_result() -> None:
    build = ViewBuilder()
    x = build.parameter("relu_0", (4,))
    y = build.node(
        "pd_op.add", {"x": build.node("pd_op.relu", {"x": x}, {"out": (4,)}), "y": x}, {"out": (4,)}
    )
    assert "add_0 = add(relu_0.out, relu_0)" in to_text(build.view({"y": y}))


def test_a_broken_view_can_still_be_printed() -> None:
    broken = replace(NET, values={i: v for i, v in NET.values.items() if i != "relu_0.out"})
    assert "relu_0 = relu(batch_norm_0) -> ?" in to_text(broken)


def test_equal_views_have_no_diff() -> None:
    assert diff(NET, small_net()) == ""


CHANGED: dict[str, GraphView] = {
    "+relu_0 = pd_op.relu6(": with_node(NET, "relu_0", op="pd_op.relu6"),
    "+flatten_0 = pd_op.flatten(x=relu_0) start_axis=2": with_node(NET, "flatten_0", attrs={"start_axis": 2}),
    "+matmul_0 = pd_op.matmul(y=relu_0": with_node(NET, "matmul_0", inputs=(("y", "relu_0.out"),)),
    "+matmul_0 = pd_op.matmul(a=flatten_0, b=head.w)": with_node(
        NET, "matmul_0", inputs=(("a", "flatten_0.out"), ("b", "head.w"))
    ),
    "+parameter head.w: float32[384,9]": with_value(NET, "head.w", shape=(384, 9)),
    "+input image: float16": with_value(NET, "image", dtype="float16"),
    "+output probabilities = matmul_0": replace(NET, outputs=(("probabilities", "matmul_0.out"),)),
    "@ /ReLU/": with_node(NET, "relu_0", scope="/ReLU/"),
}


@pytest.mark.parametrize("line", CHANGED)
def test_a_change_shows_in_the_diff(line: str) -> None:
    found = diff(NET, CHANGED[line])
    assert line in found
    assert len(found.splitlines()) <= 2  # only what changed


def test_a_node_that_came_is_one_line_and_one_that_went_too() -> None:
    def chain(ops: tuple[str, ...]) -> GraphView:
        build = ViewBuilder()
        x = build.input("x", (4,))
        for op in ops:
            build.node(op, {"x": x}, {"out": (4,)})
        return build.view({"x": x})

    short, long = chain(("pd_op.relu", "pd_op.round")), chain(("pd_op.relu", "pd_op.abs", "pd_op.round"))
    line = "abs_0 = pd_op.abs(x=x) -> out float32[4]"
    assert diff(short, long) == f"+{line}"
    assert diff(long, short) == f"-{line}"
