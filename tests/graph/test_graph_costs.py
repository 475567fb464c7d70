"""Costs are those counted by hand; what nobody can count is named."""

from __future__ import annotations

import pytest
from graph_views import small_net, with_value

from spokeshave.errors.graph import GraphBroken
from spokeshave.graph import ViewBuilder, cost


def test_a_small_net_costs_what_one_counts_by_hand() -> None:
    total = cost(small_net())
    assert {node.node: node.macs for node in total.nodes if node.macs} == {
        "conv2d_0": 6 * 8 * 8 * 3 * 3 * 3,
        "matmul_0": 384 * 10,
    }
    assert total.macs == 6 * 8 * 8 * 27 + 3840
    assert total.parameters == 6 * 27 + 2 * 6 + 3840
    assert total.parameter_bytes == 4 * total.parameters
    assert (total.buffers, total.buffer_bytes) == (2 * 6, 4 * 2 * 6)  # mean and variance of the batch norm
    assert total.uncounted == ()


def test_an_open_first_axis_counts_as_the_batch() -> None:
    assert cost(small_net(), batch=8).macs == 8 * cost(small_net()).macs
    assert cost(small_net(), batch=8).parameters == cost(small_net()).parameters


def test_an_open_axis_elsewhere_counts_as_one() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, -1, 4)), build.parameter("w", (4, 2))
    view = build.view({"y": build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, -1, 2)})})
    assert cost(view, batch=3).macs == 3 * 1 * 2 * 4


def test_a_fixed_first_axis_stays() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (2, 4)), build.parameter("w", (4, 3))
    view = build.view({"y": build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (2, 3)})})
    assert cost(view, batch=100).macs == 2 * 4 * 3


def test_a_shared_parameter_counts_once_in_the_total() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 4)), build.parameter("w", (4, 4), "float16")
    once = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 4)})
    twice = build.node("pd_op.matmul", {"x": once, "y": w}, {"out": (-1, 4)})
    total = cost(build.view({"y": twice}))
    assert [node.parameters for node in total.nodes] == [16, 16]
    assert [node.bytes for node in total.nodes] == [32, 32]
    assert (total.parameters, total.parameter_bytes, total.macs) == (16, 32, 32)


def test_a_parameter_read_twice_by_one_node_counts_once() -> None:
    build = ViewBuilder()
    w = build.parameter("w", (4,), "int8")
    [node] = cost(build.view({"y": build.node("pd_op.add", {"x": w, "y": w}, {"out": (4,)})})).nodes
    assert (node.parameters, node.bytes) == (4, 4)


def test_state_that_a_program_updates_itself_is_a_buffer_and_a_weight_read_in_a_branch_is_none() -> None:
    build = ViewBuilder()
    x, scale, weight = build.input("x", (4,)), build.parameter("scale", (1,)), build.parameter("w", (4,))
    build.node("pd_op.assign_out_", {"x": x, "output": scale}, {"out": (1,)})
    y = build.node("pd_op.if", {"0": x, "captured.0": weight}, {"0": (4,)})
    total = cost(build.view({"y": y}))
    assert (total.parameters, total.buffers) == (4, 1)
    assert [node.parameters for node in total.nodes] == [0, 4]


def test_a_transposed_convolution_multiplies_each_element_with_one_filter() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (1, 4, 5, 5)), build.parameter("w", (4, 3, 2, 2))
    made = build.node("pd_op.conv2d_transpose", {"x": x, "filter": w}, {"out": (1, 6, 10, 10)}, {"groups": 2})
    assert cost(build.view({"y": made})).macs == 4 * 5 * 5 * 3 * 2 * 2


def test_ops_without_a_row_are_named_and_not_called_free() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 4)), build.parameter("w", (4, 4))
    for op in ("pd_op.zzz", "pd_op.mystery", "pd_op.mystery"):
        x = build.node(op, {"x": x, "w": w}, {"out": (-1, 4)})
    total = cost(build.view({"y": x}))
    assert total.uncounted == ("pd_op.mystery", "pd_op.zzz")
    assert [node.macs for node in total.nodes] == [None, None, None]
    assert total.nodes[0].parameters == 16


def test_the_heaviest_come_first_and_equals_keep_their_order() -> None:
    total = cost(small_net())
    assert [node.node for node in total.heaviest(2)] == ["conv2d_0", "matmul_0"]
    assert [node.node for node in total.heaviest(3)][2] == "batch_norm_0"
    assert len(total.heaviest(100)) == len(total.nodes)


def test_a_dtype_of_unknown_size_is_refused() -> None:
    with pytest.raises(GraphBroken, match="float7"):
        cost(with_value(small_net(), "head.w", dtype="float7"))
