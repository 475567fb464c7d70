"""Roundings and packed weights are recognised by structure, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from spokeshave.graph import GraphView, ViewBuilder, bias_roundings, roundings, unpackings

SHAPE = (-1, 4)


def rounding_view(*, scale_behind: str = "s", is_swapped: bool = False, is_clipped: bool = True) -> GraphView:
    """A value rounded in steps of `s`, or nearly so."""
    build = ViewBuilder()
    source = build.input("x", SHAPE) if is_clipped else build.parameter("b", (4,))
    scales = {name: build.parameter(name, (1,)) for name in ("s", "t")}
    value = build.node("pd_op.divide", {"x": source, "y": scales["s"]}, {"out": SHAPE})
    value = build.node("pd_op.round", {"x": value}, {"out": SHAPE})
    if is_clipped:
        ends = {end: build.node("pd_op.full", {}, {"out": (1,)}, {"value": 127}) for end in ("min", "max")}
        value = build.node("pd_op.clip", {"x": value, **ends}, {"out": SHAPE})
    factor = scales[scale_behind]
    operands = {"x": factor, "y": value} if is_swapped else {"x": value, "y": factor}
    return build.view({"out": build.node("pd_op.multiply", operands, {"out": SHAPE})})


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_rounding_is_found_in_either_order_of_its_product(is_swapped: bool) -> None:
    [found] = roundings(rounding_view(is_swapped=is_swapped))
    assert (found.value, found.scale, found.out) == ("x", "s", "multiply_0.out")


def test_a_product_with_another_scale_is_no_rounding() -> None:
    assert roundings(rounding_view(scale_behind="t")) == ()


def test_a_bias_is_rounded_without_an_end_and_an_activation_is_not_taken_for_one() -> None:
    [found] = bias_roundings(rounding_view(is_clipped=False))
    assert (found.value, found.scale) == ("b", "s")
    assert roundings(rounding_view(is_clipped=False)) == ()
    assert bias_roundings(rounding_view()) == ()


def packed_view(*, is_parameter: bool) -> GraphView:
    build = ViewBuilder()
    add = build.parameter if is_parameter else build.input
    codes = add("w", (4, 4), "int8")
    scale = build.parameter("s", (1, 4))
    cast = build.node("pd_op.cast", {"x": codes}, {"out": (4, 4)})
    return build.view({"out": build.node("pd_op.multiply", {"x": cast, "y": scale}, {"out": (4, 4)})})


def test_a_packed_weight_is_a_parameter_that_is_cast_and_scaled() -> None:
    [found] = unpackings(packed_view(is_parameter=True))
    assert (found.integers, found.scale, found.out) == ("w", "s", "multiply_0.out")
    assert unpackings(packed_view(is_parameter=False)) == ()
