"""Views built by hand for the tests of this room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spokeshave.graph import GraphView, ViewBuilder

STRIDES = {"strides": [1, 1], "groups": 1, "data_format": "NCHW"}


def conv_block(
    build: ViewBuilder, x: str, name: str, sizes: tuple[int, int], *, has_bias: bool = False
) -> dict[str, str]:
    """conv, perhaps a bias behind a reshape, batch norm; gives the id of each result."""
    into, out = sizes
    shape = (-1, out, 8, 8)
    weight = build.parameter(f"{name}.w", (out, into, 3, 3))
    made = {"conv": build.node("pd_op.conv2d", {"input": x, "filter": weight}, {"out": shape}, STRIDES)}
    last = made["conv"]
    if has_bias:
        bias, where = (
            build.parameter(f"{name}.b", (out,)),
            build.node("pd_op.full_int_array", {}, {"out": (4,)}),
        )
        column = build.node("pd_op.reshape", {"x": bias, "shape": where}, {"out": (1, out, 1, 1)})
        made["add"] = last = build.node("pd_op.add", {"x": last, "y": column}, {"out": shape})
    vectors = {n: build.parameter(f"{name}.{n}", (out,)) for n in ("mean", "variance", "scale", "bias")}
    results = {"out": shape, "mean_out": (out,)}
    made["norm"] = build.node("pd_op.batch_norm_", {"x": last, **vectors}, results, {"is_test": True})
    return made


def small_net() -> GraphView:
    """conv, batch norm, relu, flatten, linear."""
    build = ViewBuilder()
    norm = conv_block(build, build.input("image", (-1, 3, 8, 8)), "first", (3, 6))["norm"]
    relu = build.node("pd_op.relu", {"x": norm}, {"out": (-1, 6, 8, 8)})
    flat = build.node("pd_op.flatten", {"x": relu}, {"out": (-1, 384)}, {"start_axis": 1, "stop_axis": 3})
    weight = build.parameter("head.w", (384, 10))
    logits = build.node("pd_op.matmul", {"x": flat, "y": weight}, {"out": (-1, 10)}, {"transpose_y": False})
    return build.view({"logits": logits})


def with_node(view: GraphView, node_id: str, **changes: Any) -> GraphView:
    """The view with one node changed, and nothing else put right."""
    nodes = tuple(replace(n, **changes) if n.id == node_id else n for n in view.nodes)
    return replace(view, nodes=nodes)


def with_value(view: GraphView, value_id: str, **changes: Any) -> GraphView:
    """The view with one value changed, and nothing else put right."""
    return replace(view, values={**view.values, value_id: replace(view.values[value_id], **changes)})
