"""One view with a bit of everything that a target may have an opinion about."""

from __future__ import annotations

from spokeshave.graph import GraphView, ViewBuilder

CONV = {"strides": (1, 1), "paddings": (1, 1), "dilations": (1, 1), "data_format": "NCHW"}
PICTURE = (-1, 4, 8, 8)


def specimen() -> GraphView:
    """Convolutions with and without bias, a residual add, pools, a concat, products, and ops for float."""
    build = ViewBuilder()

    def conv(x: str, name: str, into: int, *, op: str = "conv2d", groups: int = 1) -> str:
        weight = build.parameter(f"{name}.w", (4, into, 3, 3))
        return build.node(
            f"pd_op.{op}", {"input": x, "filter": weight}, {"out": PICTURE}, {**CONV, "groups": groups}
        )

    def biased(x: str, name: str) -> str:
        where = build.node("pd_op.full_int_array", {}, {"out": (4,)}, {"value": (1, 4, 1, 1)})
        given = {"x": build.parameter(f"{name}.b", (4,)), "shape": where}
        column = build.node("pd_op.reshape", given, {"out": (1, 4, 1, 1)})
        return build.node("pd_op.add", {"x": x, "y": column}, {"out": PICTURE})

    def unary(op: str, x: str, **attrs: object) -> str:
        return build.node(f"pd_op.{op}", {"x": x}, {"out": PICTURE}, attrs)

    image = build.input("image", (-1, 3, 8, 8))
    stem = unary("relu", biased(conv(image, "stem", 3), "stem"))
    depth = unary("relu6", conv(stem, "depth", 1, op="depthwise_conv2d", groups=4))
    total = build.node(
        "pd_op.add", {"x": stem, "y": biased(conv(depth, "point", 4), "point")}, {"out": PICTURE}
    )
    both = build.node("pd_op.concat", {"x.0": unary("relu", total), "x.1": depth}, {"out": (-1, 8, 8, 8)})
    pooled = build.node("pd_op.pool2d", {"x": both}, {"out": (-1, 8, 4, 4)}, {"pooling_type": "max"})
    mean = build.node("pd_op.pool2d", {"x": pooled}, {"out": (-1, 8, 2, 2)}, {"pooling_type": "avg"})
    flat = build.node("pd_op.flatten", {"x": mean}, {"out": (-1, 32)}, {"start_axis": 1, "stop_axis": 3})
    hidden_weight, head_weight = build.parameter("hidden.w", (32, 6)), build.parameter("head.w", (5, 6))
    hidden = build.node("pd_op.matmul", {"x": flat, "y": hidden_weight}, {"out": (-1, 6)})
    hidden = build.node("pd_op.add", {"x": hidden, "y": build.parameter("hidden.b", (6,))}, {"out": (-1, 6)})
    hidden = build.node("pd_op.relu", {"x": hidden}, {"out": (-1, 6)})
    operands = {"x": hidden, "y": head_weight}
    scores = build.node("pd_op.matmul", operands, {"out": (-1, 5)}, {"transpose_y": True})
    share = build.node("pd_op.softmax", {"x": scores}, {"out": (-1, 5)}, {"axis": -1})
    attention = build.node(
        "pd_op.matmul", {"x": hidden, "y": hidden}, {"out": (-1, -1)}, {"transpose_y": True}
    )
    return build.view({"scores": scores, "share": share, "attention": attention})
