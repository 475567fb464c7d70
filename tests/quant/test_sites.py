"""A plan is data: settled from ranges alone, exact in JSON, refused where it contradicts itself."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quant_views import Net, two_convs

from spokeshave.errors.quant import PlanDoesNotFit, PlanNotReadable, RangeMissing
from spokeshave.numerics import INT8, INT8_NARROW, UINT8, Affine, symmetric
from spokeshave.quant.planning import plan
from spokeshave.quant.sites import INT32_HIGH, Bias, QuantPlan, Ranges, Site
from spokeshave.report import Reason
from spokeshave.targets import TARGETS

ORT = TARGETS["onnxruntime"]
SCALES = st.floats(2.0**-126, 2.0**127, width=32)
CHANNELS = {"first": 4, "second": 6, "head": 5}


def ranges_for(drawn: QuantPlan, **own: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """A range of one for every site and bias, but for those given by name (with `_` for a dot)."""
    found = {s.id: (1.0,) * (CHANNELS[s.id.split(".")[0]] if s.is_weight else 1) for s in drawn.sites}
    found.update({b.value: (0.1,) * CHANNELS[b.value.split(".")[0]] for b in drawn.biases})
    return {**found, **{name.replace("__", "."): bound for name, bound in own.items()}}


def settled(**own: tuple[float, ...]) -> QuantPlan:
    drawn = plan(two_convs(), ORT)
    return drawn.settled(ranges_for(drawn, **own))


def scales_of(drawn: QuantPlan) -> dict[str, tuple[float, ...]]:
    return {s.id: s.affine.scale for s in drawn.sites if s.affine is not None}


def test_a_scale_reaches_the_largest_magnitude() -> None:
    scales = scales_of(settled(image=(2.54,), first__w=(1.27, 2.54, 0.127, 12.7)))
    assert scales["image"] == (float(np.float32(2.54) / np.float32(127)),)
    np.testing.assert_allclose(scales["first.w"], (0.01, 0.02, 0.001, 0.1), rtol=1e-6)
    np.testing.assert_allclose(scales["relu_0.out"], 1 / 255, rtol=1e-6)


def test_settling_leaves_the_plan_and_the_ranges_alone() -> None:
    drawn = plan(two_convs(), ORT)
    ranges: Ranges = ranges_for(drawn)
    before, seen = drawn.to_json(), dict(ranges)
    assert drawn.settled(ranges) == drawn.settled(ranges)
    assert (drawn.to_json(), ranges) == (before, seen)
    assert not drawn.is_settled
    assert drawn.settled(ranges).is_settled


def test_settling_again_replaces_scales_and_their_reasons() -> None:
    drawn = plan(two_convs(), ORT)
    empty = drawn.settled(ranges_for(drawn, image=(0.0,)))
    assert [r.code for r in empty.left_out] == ["all-zero"]
    assert empty.settled(ranges_for(drawn)) == drawn.settled(ranges_for(drawn))


def test_a_chain_of_values_that_pass_has_one_scale() -> None:
    scales = scales_of(settled(relu_1__out=(5.1,), pool2d_0__out=(4.0,), flatten_0__out=(3.0,)))
    assert scales["relu_1.out"] == scales["pool2d_0.out"] == scales["flatten_0.out"]
    np.testing.assert_allclose(scales["relu_1.out"], 5.1 / 255, rtol=1e-6)


def test_a_channel_of_zeros_gets_the_scale_one_and_a_reason() -> None:
    found = settled(first__w=(1.0, 0.0, 1.0, 1e-44))
    assert scales_of(found)["first.w"][1::2] == (1.0, 1.0)
    [reason] = found.left_out
    assert (reason.code, reason.subject) == ("all-zero", "first.w")
    assert "channels 1, 3" in reason.text


def test_a_value_of_zeros_gets_the_scale_one_and_a_reason() -> None:
    [reason] = settled(image=(0.0,)).left_out
    assert (reason.code, reason.subject) == ("all-zero", "image")
    assert "the whole value" in reason.text


def test_a_bias_beyond_int32_raises_the_scale_of_its_channel_alone() -> None:
    before, after = settled(), settled(first__b=(0.1, 1e6, 0.1, 0.1))
    changed = [a != b for a, b in zip(scales_of(before)["first.w"], scales_of(after)["first.w"])]
    assert changed == [False, True, False, False]
    [reason] = after.left_out
    assert (reason.code, reason.subject) == ("bias-overflow", "first.w")
    assert "channels 1:" in reason.text


@given(
    st.lists(st.floats(0, 2.0**60, width=32), min_size=4, max_size=4), st.floats(2.0**-60, 2.0**60, width=32)
)
def test_a_settled_bias_always_fits_int32(bounds: list[float], image: float) -> None:
    found = settled(first__b=tuple(bounds), image=(image,))
    steps = found.bias_steps(found.biases[0])
    assert (steps >= np.finfo(np.float32).tiny).all()
    assert (np.rint(np.array(bounds) / steps.astype(np.float64)) <= INT32_HIGH).all()


def test_a_step_of_the_sum_stays_within_float32() -> None:
    """Without that a bias would be divided by zero."""
    found = settled(image=(1e-30,), first__w=(1e-10, 1.0, 1.0, 1.0), first__b=(0.0, 0.0, 0.0, 0.0))
    steps = found.bias_steps(found.biases[0])
    assert (steps >= np.finfo(np.float32).tiny).all()
    assert [(r.code, r.subject) for r in found.left_out] == [("bias-overflow", "first.w")]


def test_two_biases_on_one_weight_both_fit() -> None:
    sites = tuple(Site(v, "n", "x", INT8, ("n",)) for v in ("a", "b"))
    weight = Site("w", "n", "y", INT8_NARROW, ("n",), is_weight=True, axis=0)
    drawn = QuantPlan("own", (*sites, weight), (Bias("p", "n", "a", "w"), Bias("q", "m", "b", "w")))
    ranges = {"a": (1.0,), "b": (1e-3,), "w": (1.0, 1.0), "p": (1e7, 0.0), "q": (0.0, 1e7)}
    found = drawn.settled(ranges)
    for bias in found.biases:
        steps = found.bias_steps(bias).astype(np.float64)
        assert (np.array(ranges[bias.value]) / steps <= INT32_HIGH).all()
    assert [r.subject for r in found.left_out] == ["w", "w"]


def test_one_scale_for_a_whole_weight_is_raised_for_the_largest_bias() -> None:
    weight = Site("w", "n", "y", INT8_NARROW, ("n",), is_weight=True)
    drawn = QuantPlan("own", (Site("a", "n", "x", INT8, ("n",)), weight), (Bias("p", "n", "a", "w"),))
    found = drawn.settled({"a": (1.0,), "w": (1.0,), "p": (1.0, 1e9)})
    assert 1e9 / found.bias_steps(found.biases[0])[0] <= INT32_HIGH


@pytest.mark.parametrize("missing", ["image", "first.w", "first.b"])
def test_a_missing_range_is_named(missing: str) -> None:
    drawn = plan(two_convs(), ORT)
    ranges = {name: bound for name, bound in ranges_for(drawn).items() if name != missing}
    with pytest.raises(RangeMissing, match=missing):
        drawn.settled(ranges)


@given(st.lists(SCALES, min_size=1, max_size=5), SCALES, st.integers(0, 255))
def test_a_plan_comes_back_from_json_exactly(weights: list[float], activation: float, zero: int) -> None:
    weight = Affine(tuple(weights), (0,) * len(weights), INT8_NARROW, axis=0)
    before = QuantPlan(
        "own",
        (
            Site("w", "n", "y", INT8_NARROW, ("n", "m"), True, 0, affine=weight),
            Site("x", "n", "x", UINT8, ("n",), affine=Affine((activation,), (zero,), UINT8)),
        ),
        (Bias("b", "n", "x", "w"),),
        (Reason("excluded", 'says "why"\n', "o"),),
    )
    with tempfile.TemporaryDirectory() as folder:
        before.save(Path(folder) / "plan.json")
        after = QuantPlan.load(Path(folder) / "plan.json")
    assert after == before
    assert after.to_json() == before.to_json()
    assert scales_of(after)["w"] == tuple(float(np.float32(w)) for w in weights)


def test_a_plan_on_disk_is_text_for_people(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    settled().save(path)
    assert QuantPlan.load(path) == settled()
    assert path.read_text("utf-8").count("\n") > 50


def test_a_missing_file_is_no_plan(tmp_path: Path) -> None:
    with pytest.raises(PlanNotReadable, match="No such file"):
        QuantPlan.load(tmp_path / "plan.json")


Edit = Callable[[dict[str, Any]], object]


def _set(*path: Any) -> Edit:
    """An edit that puts the last of the arguments at the place that those before it name."""
    *way, last, value = path

    def edit(document: dict[str, Any]) -> None:
        at: Any = document
        for step in way:
            at = at[step]
        at[last] = value

    return edit


# The first site of the specimen is the image, the first weight is the second.
EDITS: dict[str, tuple[Edit, str]] = {
    "no scale": (_set("sites", 0, "affine", "scale", [0.0]), "not a positive, normal float32"),
    "two scales without an axis": (_set("sites", 0, "affine", "scale", [0.1, 0.1]), "do not fit the axis"),
    "zero off the grid": (_set("sites", 0, "affine", "zero", [300]), "is not a code"),
    "no such width": (_set("sites", 0, "grid", "bits", 99), "2 to 16"),
    "another type": (_set("sites", 0, "readers", "conv2d_0"), r"at `\$.sites\[0\].readers`"),
    "a field gone": (lambda d: d["sites"][0].pop("grid"), "missing required field `grid`"),
    "a field misspelt": (
        _set("sites", 1, "is_wieght", True),
        r"no such field - at `\$.sites\[1\].is_wieght`",
    ),
    "a field of the plan misspelt": (_set("bias", []), r"no such field - at `\$.bias`"),
    "a version to come": (_set("version", 2), "version 2; version 1"),
    "a site twice": (lambda d: d["sites"].append(d["sites"][0]), "it is there twice - at the site 'image'"),
    "like nobody": (_set("sites", 0, "like", "nobody"), "shares the scale of 'nobody', which is no site"),
    "like itself": (_set("sites", 0, "like", "image"), "shares its own scale"),
    "like another grid": (_set("sites", 0, "like", "relu_0.out"), "which has another grid"),
    "grid of the site alone": (_set("sites", 0, "grid", "bits", 7), "its grid is int7"),
    "axis of the site alone": (_set("sites", 1, "axis", 1), "its axis is 1, that of its scale 0"),
    "bias on nothing": (_set("biases", 0, "input", "nobody"), "'nobody', which is no site"),
}


def _two_scales(document: dict[str, Any]) -> None:
    document["sites"][0].update(axis=1)
    document["sites"][0]["affine"].update(axis=1, scale=[0.1, 0.1], zero=[0, 0])


def _weight_with_zero(document: dict[str, Any]) -> None:
    document["sites"][1]["affine"].update(zero=[1, 0, 0, 0])


EDITS["an activation per channel"] = (_two_scales, "an activation has one scale; it has 2")
EDITS["a weight with a zero point"] = (_weight_with_zero, "a weight has the zero point 0")


@pytest.mark.parametrize("name", EDITS)
def test_a_malformed_edit_is_refused_and_its_place_named(name: str, tmp_path: Path) -> None:
    edit, says = EDITS[name]
    document = json.loads(settled().to_json())
    assert [s["value"] for s in document["sites"][:2]] == ["image", "first.w"]
    edit(document)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(PlanNotReadable, match=says) as caught:
        QuantPlan.load(path)
    assert "plan.json" in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_what_is_no_json_is_no_plan(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(text)
    with pytest.raises(PlanNotReadable):
        QuantPlan.load(tmp_path / "plan.json")


def test_a_sensible_edit_is_taken(tmp_path: Path) -> None:
    document = json.loads(settled().to_json())
    document["sites"][0]["affine"]["scale"] = [0.25]
    (tmp_path / "plan.json").write_text(json.dumps(document), "utf-8")
    assert scales_of(QuantPlan.load(tmp_path / "plan.json"))["image"] == (0.25,)


def test_a_plan_made_by_hand_is_checked_before_it_is_settled() -> None:
    drawn = plan(two_convs(), ORT)
    circle = (replace(drawn.sites[0], like="flatten_0.out"), *drawn.sites[1:])
    sites = tuple(replace(s, like="image") if s.id == "flatten_0.out" else s for s in circle)
    with pytest.raises(PlanDoesNotFit, match="its own scale"):
        replace(drawn, sites=sites).settled(ranges_for(drawn))


def test_the_report_has_a_row_for_each_site_and_counts_them() -> None:
    report = settled(first__w=(1.0, 0.0, 1.0, 1.0)).report()
    assert {row.subject for row in report.rows} == set(scales_of(settled()))
    assert (report.facts["weights_quantized"], report.facts["activations_quantized"]) == (3, 5)
    assert report.facts["biases_quantized"] == 2
    assert [r.code for r in report.reasons] == ["all-zero"]
    facts = {row.subject: row.facts for row in report.rows}
    assert facts["image"]["for"] == "conv2d_0.input"
    assert facts["relu_0.out"]["grid"] == "uint8 [0, 255]"
    assert facts["first.w"]["axis"] == 0


def test_a_plan_without_ranges_reports_without_scales() -> None:
    net = Net()
    drawn = plan(net.view(net.conv(net.image, "first", 3, 4)), ORT)
    assert {row.facts["scale"] for row in drawn.report().rows} == {None}


def test_symmetric_is_what_settles() -> None:
    expected, _ = symmetric(2.0, INT8)
    assert next(s.affine for s in settled(image=(2.0,)).sites if s.id == "image") == expected
