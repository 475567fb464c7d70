"""Every target has a golden plan on one specimen; a target without one fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from specimen import specimen

from spokeshave.graph import check
from spokeshave.ops import OPS
from spokeshave.quant import QuantPlan, plan
from spokeshave.targets import OUT, TARGETS, Rule, Target

GOLDEN = Path(__file__).parent / "golden"

every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def test_the_specimen_holds_together() -> None:
    check(specimen(), "the specimen")
    assert len(specimen().nodes) > 20


@every_target
def test_the_plan_is_the_golden_one(target: Target) -> None:
    file = GOLDEN / f"{target.name}.json"
    drawn = plan(specimen(), target)
    told = (
        f"look at plan(specimen(), TARGETS[{target.name!r}]) and save it as tests/targets/golden/{file.name}"
    )
    assert file.is_file(), told
    assert drawn == QuantPlan.load(file)
    assert drawn.to_json() == file.read_bytes()


def test_no_golden_plan_outlives_its_target() -> None:
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(TARGETS.names())


@every_target
def test_each_placement_names_an_operand_that_its_op_has(target: Target) -> None:
    for placement in target.placements:
        facts = OPS[placement.op]
        assert placement.operand in (*facts.data, facts.weight, OUT), placement


@every_target
def test_only_weights_have_scales_per_channel(target: Target) -> None:
    per_channel = {(p.op, p.operand) for p in target.placements if p.per_channel}
    assert per_channel == {
        (p.op, p.operand)
        for p in target.placements
        if p.operand == OPS[p.op].weight and p.rule is not Rule.ALWAYS
    }
    assert all(p.grid.narrow for p in target.placements if p.per_channel)


@every_target
def test_nothing_is_placed_twice(target: Target) -> None:
    places = [(p.op, p.operand) for p in target.placements]
    assert len(places) == len(set(places))
    assert target.of("pd_op.conv2d")
    assert target.of("pd_op.no_such_op") == ()


@every_target
def test_a_target_says_what_it_wants(target: Target) -> None:
    assert target.doc.endswith(".")
    assert len(target.doc.split()) > 10
