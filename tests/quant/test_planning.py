"""Plans are drawn from views alone: sites, scales that are shared, and a reason for all that stays float."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from quant_views import Net, two_convs

from spokeshave.errors.quant import AlreadyQuantized, NothingToQuantize
from spokeshave.graph import GraphView
from spokeshave.numerics import INT8, INT8_NARROW, UINT8
from spokeshave.quant.planning import biases_between, plan
from spokeshave.quant.sites import QuantPlan, Site
from spokeshave.select import choose
from spokeshave.targets import TARGETS

ORT, PADDLE = TARGETS["onnxruntime"], TARGETS["paddle"]


def sites_of(view: GraphView, drawn: QuantPlan | None = None) -> dict[str, Site]:
    return {site.id: site for site in (drawn or plan(view, ORT)).sites}


def reasons_of(view: GraphView, **rules: list[str]) -> dict[str, str]:
    return {r.subject: r.code for r in plan(view, ORT, choose(view, **rules)).left_out}


def test_a_plan_needs_no_paddle() -> None:
    lines = (
        "import sys",
        "sys.modules['paddle'] = None",
        "from quant_views import two_convs",
        "from spokeshave import quant",
        "from spokeshave.targets import TARGETS",
        "print(len(quant.plan(two_convs(), TARGETS['onnxruntime']).sites))",
    )
    command = [sys.executable, "-c", "\n".join(lines)]
    answer = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert answer.stdout.split() == ["8"], answer.stderr


def test_planning_twice_gives_the_same_bytes_and_leaves_the_view_alone() -> None:
    view = two_convs()
    before = repr(view)
    assert plan(view, ORT).to_json() == plan(view, ORT).to_json()
    assert repr(view) == before


def test_weights_take_the_axis_of_their_output_channels() -> None:
    sites = sites_of(two_convs())
    assert (sites["first.w"].axis, sites["head.w"].axis) == (0, 1)
    assert {s.grid for s in sites.values() if s.is_weight} == {INT8_NARROW}


def test_a_transposed_weight_has_its_output_channels_first() -> None:
    net = Net()
    flat = net.flat(net.image, 3)
    weight = net.build.parameter("head.w", (5, 192))
    sites = sites_of(net.view(net.product(flat, weight, 5, transpose_y=True)))
    assert sites["head.w"].axis == 0


def test_only_what_is_never_negative_is_unsigned() -> None:
    sites = sites_of(two_convs())
    assert {s.id: s.grid for s in sites.values() if not s.is_weight} == {
        "image": INT8,
        "relu_0.out": UINT8,
        "relu_1.out": UINT8,
        "pool2d_0.out": UINT8,
        "flatten_0.out": UINT8,
    }


def test_values_that_pass_unchanged_share_a_scale() -> None:
    sites = sites_of(two_convs())
    assert sites["pool2d_0.out"].like == "relu_1.out"
    assert sites["flatten_0.out"].like == "pool2d_0.out"
    assert sites["relu_1.out"].like is None


def test_a_convolution_is_rounded_before_a_hardswish_and_what_that_gives_again() -> None:
    net = Net()
    first = net.conv(net.image, "first", 3, 4)
    gated = net.unary("hardswish", first, 4)
    view = net.view(net.conv(gated, "second", 4, 4))
    sites = sites_of(view)
    assert (sites[first].operand, sites[first].grid, sites[first].readers) == ("out", INT8, ("hardswish_0",))
    # Its least value is below zero.
    assert (sites[gated].operand, sites[gated].grid, sites[gated].like) == ("input", INT8, None)
    assert reasons_of(view)["hardswish_0"] == "op-runs-in-float"


def test_in_squeeze_excite_all_but_the_gate_is_rounded() -> None:
    net = Net()
    relu = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    pooled = net.unary("pool2d", relu, 4, pooling_type="avg")
    narrow = net.unary("relu", net.conv(pooled, "narrow", 4, 2), 2)
    wide = net.conv(narrow, "wide", 2, 4)
    gate = net.unary("hardsigmoid", wide, 4)
    scaled = net.build.node("pd_op.multiply", {"x": relu, "y": gate}, {"out": (-1, 4, 8, 8)})
    view = net.view(net.unary("relu", net.conv(scaled, "last", 4, 4), 4))
    sites = sites_of(view)
    activations = {site.value: site.grid for site in sites.values() if not site.is_weight}
    assert activations == {
        "image": INT8,
        **dict.fromkeys((relu, pooled, narrow), UINT8),
        wide: INT8,
        scaled: UINT8,
    }
    assert set(reasons_of(view)) == {"hardsigmoid_0", "multiply_0", "conv2d_3"}


def test_a_shortcut_that_picks_pixels_and_adds_zeros_shares_the_scale_of_what_it_took() -> None:
    net = Net()
    relu = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    short = net.pad(net.unary("strided_slice", relu, 4, axes=(2, 3)), 4)
    view = net.view(net.add(net.conv(relu, "second", 4, 8), short, 8))
    sites = sites_of(view)
    assert sites[short].like == relu
    assert sites[short].grid == sites[relu].grid == UINT8


def test_a_shortcut_that_adds_other_numbers_has_a_scale_of_its_own() -> None:
    net = Net()
    relu = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    short = net.pad(relu, 4, value=9.0)
    view = net.view(net.add(net.conv(relu, "second", 4, 8), short, 8))
    assert sites_of(view)[short].like is None
    assert reasons_of(view)["pad_0"] == "op-runs-in-float"


def test_an_average_has_a_scale_of_its_own() -> None:
    net = Net()
    relu = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    pool = net.unary("pool2d", relu, 4, pooling_type="avg")
    last = net.unary("softmax", pool, 4, axis=1)
    assert sites_of(net.view(last))[pool].like is None


def test_a_scale_is_not_shared_between_grids() -> None:
    net = Net()
    conv = net.conv(net.image, "first", 3, 4)
    flat = net.flat(conv, 4)
    weight = net.build.parameter("head.w", (256, 5))
    view = net.view(net.product(flat, weight, 5))
    sites = sites_of(view)
    assert (sites[conv].grid, sites[flat].grid) == (INT8, INT8)
    assert sites[flat].like == conv


def test_what_leaves_a_quantized_node_is_rounded_for_all_readers() -> None:
    net = Net()
    relu = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    softmax = net.unary("softmax", relu, 4, axis=1)
    second = net.conv(relu, "second", 4, 4)
    sites = sites_of(net.view(softmax, second))
    assert sites[relu].readers == ("softmax_0", "conv2d_1")


def test_what_comes_from_a_float_node_is_rounded_for_quantized_readers_only() -> None:
    net = Net()
    softmax = net.unary("softmax", net.image, 3, axis=1)
    other = net.unary("abs", softmax, 3)
    conv = net.conv(softmax, "first", 3, 4)
    sites = sites_of(net.view(other, conv))
    assert sites[softmax].readers == ("conv2d_0",)
    assert sites[softmax].grid == UINT8


def test_both_sides_and_the_result_of_a_residual_add_are_sites() -> None:
    net = Net()
    left = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    right = net.conv(left, "second", 4, 4)
    total = net.unary("relu", net.add(left, right, 4), 4)
    sites = sites_of(net.view(net.unary("softmax", total, 4, axis=1)))
    assert {left, right, total} <= sites.keys()
    assert sites[total].operand == "out"


def test_adding_a_constant_is_no_residual_add() -> None:
    net = Net()
    relu = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    total = net.add(relu, net.build.parameter("shift", (1, 4, 1, 1)), 4)
    view = net.view(net.unary("softmax", total, 4, axis=1))
    assert total not in sites_of(view)
    assert reasons_of(view)["add_1"] == "adds-a-constant"


def test_each_bias_behind_a_quantized_product_is_counted() -> None:
    view = two_convs()
    drawn = plan(view, ORT)
    assert [(b.value, b.input, b.weight) for b in drawn.biases] == [
        ("first.b", "image", "first.w"),
        ("second.b", "relu_0.out", "second.w"),
    ]
    assert biases_between(view, drawn.weights) == ()


def test_a_bias_that_another_op_reads_stays_float() -> None:
    net = Net()
    conv = net.conv(net.image, "first", 3, 4)
    other = net.build.node("pd_op.abs", {"x": "first.b"}, {"out": (4,)})
    assert plan(net.view(conv, other), ORT).biases == ()


def test_a_weight_that_two_nodes_read_is_one_site() -> None:
    net = Net(4)
    weight = net.build.parameter("w", (4, 4, 3, 3))
    first = net.unary("relu", net.conv_on(net.image, weight, 4), 4)
    second = net.unary("relu", net.conv_on(first, weight, 4), 4)
    sites = sites_of(net.view(net.unary("softmax", second, 4, axis=1)))
    assert sites["w"].readers == ("conv2d_0", "conv2d_1")
    assert sites["w"].node == "conv2d_0"


def test_a_weight_that_is_read_along_two_axes_is_quantized_for_the_first() -> None:
    net = Net()
    weight = net.build.parameter("w", (192, 192))
    first = net.product(net.flat(net.image, 3), weight, 192)
    view = net.view(net.product(first, weight, 192, transpose_y=True))
    assert sites_of(view)["w"].axis == 1
    assert sites_of(view)["w"].readers == ("matmul_0",)
    assert reasons_of(view) == {"matmul_1": "weight-shared"}


def test_a_weight_that_a_float_op_reads_stays_float() -> None:
    net = Net()
    weight = net.build.parameter("w", (4, 3, 3, 3))
    conv = net.conv_on(net.image, weight, 4)
    decay = net.build.node("pd_op.abs", {"x": weight}, {"out": (4, 3, 3, 3)})
    second = net.conv(net.image, "second", 3, 4)
    view = net.view(conv, decay, second)
    assert "w" not in sites_of(view)
    assert reasons_of(view)["conv2d_0"] == "weight-shared"


def test_a_node_in_another_type_stays_float() -> None:
    net = Net()
    half = net.build.node("pd_op.cast", {"x": net.image}, {"out": (-1, 3, 8, 8)}, dtype="float16")
    low = net.conv(half, "low", 3, 4, has_bias=False, dtype="float16")
    view = net.view(low, net.conv(net.image, "first", 3, 4))
    assert reasons_of(view)["conv2d_0"] == "not-float32"
    assert not sites_of(view).keys() & {"low.w", half}


def test_a_product_of_two_activations_stays_float() -> None:
    net = Net()
    conv = net.conv(net.image, "first", 3, 4)
    product = net.build.node("pd_op.matmul", {"x": conv, "y": conv}, {"out": (-1, 4, 8, 8)})
    assert reasons_of(net.view(product))["matmul_0"] == "weight-not-constant"


def test_an_op_that_the_target_has_no_place_for_is_named() -> None:
    net = Net()
    conv = net.conv(net.image, "first", 3, 4)
    assert reasons_of(net.view(net.unary("softmax", conv, 4, axis=1))) == {"softmax_0": "op-runs-in-float"}


def test_an_op_that_nobody_knows_is_named() -> None:
    net = Net()
    conv = net.conv(net.image, "first", 3, 4)
    assert reasons_of(net.view(net.unary("mystery", conv, 4))) == {"mystery_0": "op-runs-in-float"}


def test_what_moves_values_is_not_named() -> None:
    net = Net()
    flat = net.flat(net.unary("relu", net.conv(net.image, "first", 3, 4), 4), 4)
    weight = net.build.parameter("w", (256, 5))
    assert reasons_of(net.view(net.product(flat, weight, 5))) == {}


def test_an_excluded_node_is_float_with_what_is_its_own() -> None:
    view = two_convs()
    drawn = plan(view, ORT, choose(view, exclude=["second.w"]))
    sites = sites_of(view, drawn)
    assert "second.w" not in sites
    assert sites["relu_0.out"].readers == ("conv2d_1",)
    assert (sites["relu_1.out"].node, sites["relu_1.out"].readers) == ("pool2d_0", ("pool2d_0",))
    assert [r.code for r in drawn.left_out if r.subject == "conv2d_1"] == ["excluded"]


def test_what_is_not_included_is_told_apart_from_what_is_excluded() -> None:
    assert reasons_of(two_convs(), include=["first.w"])["conv2d_1"] == "not-included"


def test_an_output_leaves_unrounded_and_says_so() -> None:
    net = Net()
    view = net.view(net.conv(net.image, "first", 3, 4))
    assert sites_of(view).keys() == {"image", "first.w"}
    assert reasons_of(view) == {"conv2d_0": "output-not-rounded"}


def test_a_target_that_rounds_inputs_alone_makes_fewer_sites() -> None:
    view = two_convs()
    sites = sites_of(view, plan(view, PADDLE))
    assert [s.id for s in sites.values() if not s.is_weight] == ["image", "relu_0.out", "flatten_0.out"]
    assert {s.grid for s in sites.values() if not s.is_weight} == {INT8}


def test_nothing_to_quantize_says_why() -> None:
    view = two_convs()
    with pytest.raises(NothingToQuantize, match="3 x excluded"):
        plan(view, PADDLE, choose(view, exclude=["type:*"]))
    net = Net()
    with pytest.raises(NothingToQuantize, match="1 x op-runs-in-float"):
        plan(net.view(net.unary("softmax", net.image, 3, axis=1)), ORT)
    with pytest.raises(NothingToQuantize, match="it has no operators"):
        plan(Net().view(), ORT)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_model_with_quantizers_is_refused(is_packed: bool) -> None:
    net = Net()
    shape = {"out": (-1, 3, 8, 8)}
    scale = net.build.parameter("s", (1,))
    if is_packed:
        integers = net.build.parameter("integers", (4, 3, 3, 3), "int8")
        floats = net.build.node("pd_op.cast", {"x": integers}, {"out": (4, 3, 3, 3)})
        weight = net.build.node("pd_op.multiply", {"x": floats, "y": scale}, {"out": (4, 3, 3, 3)})
        last = net.conv_on(net.image, weight, 4)
    else:
        steps = net.build.node("pd_op.divide", {"x": net.image, "y": scale}, shape)
        whole = net.build.node("pd_op.round", {"x": steps}, shape)
        clipped = net.build.node("pd_op.clip", {"x": whole}, shape)
        last = net.conv(net.build.node("pd_op.multiply", {"x": clipped, "y": scale}, shape), "first", 3, 4)
    with pytest.raises(AlreadyQuantized, match="integers" if is_packed else "image"):
        plan(net.view(last), ORT)


def test_a_bias_is_no_op_of_its_own_that_runs_in_float() -> None:
    drawn = plan(two_convs(), PADDLE)
    assert {r.subject: r.code for r in drawn.left_out} == {}
