"""What can never be below zero is known from the graph, and nothing else is taken to be so."""

from __future__ import annotations

import pytest
from quant_views import Net

from spokeshave.quant.signs import nonnegative_values


def known(net: Net, *values: str) -> list[bool]:
    found = nonnegative_values(net.view(*values))
    return [value in found for value in values]


def test_inputs_weights_and_sums_of_products_may_have_either_sign() -> None:
    net = Net()
    conv = net.conv(net.image, "first", 3, 4)
    found = nonnegative_values(net.view(conv))
    assert not found & {"image", "first.w", "first.b", conv}


@pytest.mark.parametrize("op", ["relu", "relu6", "softmax", "abs"])
def test_some_ops_make_what_they_get_nonnegative(op: str) -> None:
    net = Net()
    assert known(net, net.unary(op, net.image, 3)) == [True]


@pytest.mark.parametrize("op", ["pool2d", "flatten", "reshape", "transpose"])
def test_some_ops_pass_the_sign_on(op: str) -> None:
    net = Net()
    relu = net.unary("relu", net.image, 3)
    assert known(net, net.unary(op, relu, 3), net.unary(op, net.image, 3)) == [True, False]


def test_padding_passes_the_sign_on_where_it_fills_in_zeros() -> None:
    net = Net()
    relu = net.unary("relu", net.image, 3)
    assert known(net, net.pad(relu, 3), net.pad(relu, 3, value=-1.0), net.pad(net.image, 3)) == [
        True,
        False,
        False,
    ]
    pictures = [
        net.unary("pad3d", relu, 3, mode=mode, pad_value=value)
        for mode, value in (("constant", 0.0), ("constant", -1.0), ("reflect", -1.0))
    ]
    assert known(net, *pictures) == [True, False, True]


def test_a_sum_is_nonnegative_only_when_both_sides_are() -> None:
    net = Net()
    relu = net.unary("relu", net.image, 3)
    sums = [net.add(relu, relu, 3), net.add(relu, net.image, 3), net.add(net.image, relu, 3)]
    assert known(net, *sums) == [True, False, False]


def test_a_concat_is_nonnegative_only_when_all_parts_are() -> None:
    net = Net()
    relu = net.unary("relu", net.image, 3)
    shape = {"out": (-1, 6, 8, 8)}
    both = net.build.node("pd_op.concat", {"x.0": relu, "x.1": relu}, shape)
    mixed = net.build.node("pd_op.concat", {"x.0": relu, "x.1": net.image}, shape)
    assert known(net, both, mixed) == [True, False]


def test_of_an_op_that_nobody_knows_nothing_is_known() -> None:
    net = Net()
    assert known(net, net.unary("mystery", net.unary("relu", net.image, 3), 3)) == [False]
