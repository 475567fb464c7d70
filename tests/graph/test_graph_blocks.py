"""A block is an op with the bias and the activation that belong to it alone."""

from __future__ import annotations

from graph_views import conv_block, small_net

from spokeshave.graph import Bias, Block, ViewBuilder, block_of

SHAPE = {"out": (-1, 6, 8, 8)}


def _linear(build: ViewBuilder, term: tuple[int, ...]) -> str:
    x, w, b = build.input("x", (-1, 4)), build.parameter("w", (4, 2)), build.parameter("b", term)
    product = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 2)})
    return build.node("pd_op.add", {"x": product, "y": b}, {"out": (-1, 2)})


def test_a_bias_behind_a_reshape_and_the_activation_belong_to_the_conv() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (-1, 3, 8, 8)), build.parameter("w", (6, 3, 3, 3))
    conv = build.node("pd_op.conv2d", {"input": x, "filter": w}, SHAPE)
    column = build.node("pd_op.reshape", {"x": build.parameter("b", (6,))}, {"out": (1, 6, 1, 1)})
    relu = build.node("pd_op.relu", {"x": build.node("pd_op.add", {"x": conv, "y": column}, SHAPE)}, SHAPE)
    view = build.view({"y": relu})
    bias = Bias(view.node("add_0"), "b", view.node("reshape_0"))
    assert block_of(view, view.node("conv2d_0")) == Block(
        view.node("conv2d_0"), bias, view.node("relu_0"), "relu_0.out"
    )


def test_the_bias_of_a_linear_needs_no_reshape() -> None:
    build = ViewBuilder()
    view = build.view({"y": _linear(build, (2,))})
    block = block_of(view, view.node("matmul_0"))
    assert block.bias == Bias(view.node("add_0"), "b", None)
    assert (block.activation, block.out) == (None, "add_0.out")


def test_a_term_that_is_not_one_number_per_channel_is_no_bias() -> None:
    for term in ((1,), (3, 1, 2), (5, 2)):
        build = ViewBuilder()
        view = build.view({"y": _linear(build, term)})
        assert block_of(view, view.node("matmul_0")).bias is None


def test_a_residual_connection_is_no_bias() -> None:
    build = ViewBuilder()
    x = build.input("x", (-1, 6, 8, 8))
    conv = build.node("pd_op.conv2d", {"input": x, "filter": build.parameter("w", (6, 6, 3, 3))}, SHAPE)
    view = build.view({"y": build.node("pd_op.add", {"x": conv, "y": x}, SHAPE)})
    assert block_of(view, view.node("conv2d_0")) == Block(view.node("conv2d_0"), None, None, conv)


def test_what_is_read_elsewhere_is_not_in_the_block() -> None:
    build = ViewBuilder()
    product_and_bias = _linear(build, (2,))
    relu = build.node("pd_op.relu", {"x": product_and_bias}, {"out": (-1, 2)})
    shown = build.view({"y": relu, "before": product_and_bias})
    assert block_of(shown, shown.node("matmul_0")).activation is None
    inner = build.view({"y": relu, "before": "matmul_0.out"})
    assert block_of(inner, inner.node("matmul_0")).bias is None


def test_a_batch_norm_ends_the_block() -> None:
    build = ViewBuilder()
    made = conv_block(build, build.input("x", (-1, 3, 8, 8)), "a", (3, 6), has_bias=True)
    view = build.view({"y": made["norm"]})
    assert block_of(view, view.node("conv2d_0")).out == made["add"]


def test_an_op_without_a_weight_has_an_activation_and_no_bias() -> None:
    view = small_net()
    block = block_of(view, view.node("batch_norm_0"))
    assert block.bias is None
    assert block.activation is view.node("relu_0")


def test_the_product_of_two_vectors_has_no_bias() -> None:
    build = ViewBuilder()
    x, w = build.input("x", (4,)), build.parameter("w", (4,))
    dot = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": ()})
    view = build.view({"y": build.node("pd_op.add", {"x": dot, "y": build.parameter("b", ())}, {"out": ()})})
    assert block_of(view, view.node("matmul_0")).bias is None
