"""What sites keep in a scope has names that two models there do not share, and their test programs do."""

from __future__ import annotations

from spokeshave.graph import GraphView, ViewBuilder
from spokeshave.quant import plan
from spokeshave.quant.naming import tensor_prefix
from spokeshave.targets import TARGETS

CONV = {
    "strides": (1, 1),
    "paddings": (0, 0),
    "dilations": (1, 1),
    "groups": 1,
    "padding_algorithm": "EXPLICIT",
    "data_format": "NCHW",
}
POOL = {"pooling_type": "max", "strides": (2, 2), "paddings": (0, 0), "padding_algorithm": "EXPLICIT"}
SHAPE = (-1, 4, 8, 8)


def residual(first: str, second: str, *, has_loss: bool = False) -> GraphView:
    """A pool of the input, two convolutions of it, and the sum of both."""
    build = ViewBuilder()
    out = {"out": SHAPE}
    x = build.node("pd_op.pool2d", {"x": build.input("image", SHAPE)}, out, POOL)
    sides = []
    for weight in (first, second):
        filters = build.parameter(weight, (4, 4, 1, 1))
        made = build.node("pd_op.conv2d", {"input": x, "filter": filters}, out, CONV)
        sides.append(build.node("pd_op.relu", {"x": made}, out))
    total = build.node("pd_op.add", {"x": sides[0], "y": sides[1]}, out)
    scores = build.node("pd_op.sigmoid", {"x": total}, out)
    outputs = {"scores": scores}
    if has_loss:
        outputs["loss"] = build.node("pd_op.mean", {"x": scores}, {"out": ()})
    return build.view(outputs)


def prefixes(view: GraphView) -> list[str]:
    return [tensor_prefix(view, site) for site in plan(view, TARGETS["onnxruntime"]).sites]


def test_two_models_of_one_shape_share_no_name() -> None:
    ours, theirs = prefixes(residual("a.w", "b.w")), prefixes(residual("c.w", "d.w"))
    assert len(ours) == len(theirs) == len(set(ours)) == 7
    assert not set(ours) & set(theirs)


def test_models_that_share_some_weights_share_only_what_comes_from_those_alone() -> None:
    ours, theirs = prefixes(residual("a.w", "b.w")), prefixes(residual("a.w", "d.w"))
    assert {name for name in ours if name in theirs} == {"a.w", "a.w.out"}


def test_a_training_program_has_the_names_of_its_test_program() -> None:
    assert prefixes(residual("a.w", "b.w", has_loss=True)) == prefixes(residual("a.w", "b.w"))
