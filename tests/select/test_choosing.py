"""Rules take and leave nodes by name, layer, weight, kind or function; to match nothing is an error."""

from __future__ import annotations

import pytest

from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.graph import GraphView, Node, ViewBuilder
from spokeshave.select import choose

PICTURE = (-1, 4, 8, 8)


@pytest.fixture
def view() -> GraphView:
    """Two convolutions, a pool and a head, each in a layer of its own."""
    build = ViewBuilder()
    value = build.input("image", PICTURE)
    for name in ("Stem", "Body"):
        weight = build.parameter(f"{name.lower()}.w_0", (4, 4, 3, 3))
        value = build.node(
            "pd_op.conv2d", {"input": value, "filter": weight}, {"out": PICTURE}, scope=f"/Net/{name}/"
        )
        value = build.node("pd_op.batch_norm_", {"x": value}, {"out": PICTURE})
    value = build.node("pd_op.pool2d", {"x": value}, {"out": PICTURE})
    head = build.parameter("head.w_0", (256, 10))
    scores = build.node("pd_op.matmul", {"x": value, "y": head}, {"out": (-1, 10)}, scope="/Net/Head/")
    return build.view({"scores": scores})


def is_wide(view: GraphView, node: Node) -> bool:
    return any(view.value(v).shape[-1] == 10 for _, v in node.outputs)


ALL = ("conv2d_0", "batch_norm_0", "conv2d_1", "batch_norm_1", "pool2d_0", "matmul_0")


def test_without_rules_all_are_taken(view: GraphView) -> None:
    choice = choose(view)
    assert (choice.taken, choice.left_out) == (ALL, ())


@pytest.mark.parametrize(
    ("rule", "taken"),
    [
        ("conv2d_1", ("conv2d_1",)),
        ("conv2d_*", ("conv2d_0", "conv2d_1")),
        ("conv2d_[!0]", ("conv2d_1",)),
        ("/Net/Head/", ("matmul_0",)),
        ("/Net/?o*/", ("conv2d_1",)),
        ("*.w_0", ("conv2d_0", "conv2d_1", "matmul_0")),
        ("stem.w_0", ("conv2d_0",)),
        ("type:conv2d", ("conv2d_0", "conv2d_1")),
        ("type:batch_norm", ("batch_norm_0", "batch_norm_1")),
        ("type:*o*2d", ("conv2d_0", "conv2d_1", "pool2d_0")),
        (is_wide, ("matmul_0",)),
    ],
)
def test_a_rule_takes_what_it_matches(view: GraphView, rule: object, taken: tuple[str, ...]) -> None:
    assert choose(view, include=[rule]).taken == taken  # type: ignore[list-item]
    assert set(choose(view, exclude=[rule]).taken) == set(ALL) - set(taken)  # type: ignore[list-item]


def test_rules_add_up_and_exclude_wins(view: GraphView) -> None:
    choice = choose(view, include=["type:conv2d", "head.*"], exclude=["/Net/Body/"])
    assert choice.taken == ("conv2d_0", "matmul_0")


def test_each_node_that_is_left_out_has_its_reason(view: GraphView) -> None:
    choice = choose(view, include=["type:conv2d"], exclude=["conv2d_1", "matmul_0"])
    reasons = {r.subject: r.code for r in choice.left_out}
    assert reasons == {
        "conv2d_1": "excluded",
        "matmul_0": "excluded",
        "batch_norm_0": "not-included",
        "batch_norm_1": "not-included",
        "pool2d_0": "not-included",
    }
    assert set(choice.taken) | set(reasons) == set(ALL)


def test_names_are_told_apart_by_case(view: GraphView) -> None:
    with pytest.raises(RuleMatchedNothing, match="/Net/Head/"):
        choose(view, exclude=["/net/head/"])


@pytest.mark.parametrize(
    ("rule", "near"),
    [
        ("conv2d_7", "conv2d_0"),
        ("hed.w_0", "head.w_0"),
        ("type:conv", "type:conv2d"),
        ("type:zzz", "type:pool2d"),
    ],
)
def test_a_rule_that_matches_nothing_names_the_nearest(view: GraphView, rule: str, near: str) -> None:
    for rules in ({"include": [rule]}, {"exclude": [rule]}):
        with pytest.raises(RuleMatchedNothing, match=near) as caught:
            choose(view, **rules)
        assert repr(rule) in str(caught.value)


def test_a_function_that_is_true_for_nothing_is_an_error_too(view: GraphView) -> None:
    with pytest.raises(RuleMatchedNothing, match="must be true for some node"):
        choose(view, exclude=[lambda view, node: False])


def test_a_function_that_matches_nothing_is_called_by_its_name(view: GraphView) -> None:
    def is_huge(view: GraphView, node: Node) -> bool:
        return False

    with pytest.raises(RuleMatchedNothing, match="'is_huge'"):
        choose(view, include=[is_huge])
