"""Chains are found where they are, once each, in order, and know who else reads them."""

from __future__ import annotations

import pickle

import pytest
from graph_views import conv_block, small_net

from spokeshave.errors.registry import UnknownName
from spokeshave.graph import GraphView, Node, Step, ViewBuilder, chain_to, match

SHAPE = {"out": (-1, 6, 8, 8)}
CONV = Step("conv", ("pd_op.conv2d",))
BIAS = Step("bias", ("pd_op.add",), optional=True)
NORM = Step("norm", ("pd_op.batch_norm_",))
FOLDABLE = (CONV, BIAS, NORM)


def _start() -> tuple[ViewBuilder, str]:
    build = ViewBuilder()
    return build, build.input("x", (-1, 6, 8, 8))


def _relu(build: ViewBuilder, x: str) -> str:
    return build.node("pd_op.relu", {"x": x}, SHAPE)


def _ids(view: GraphView, *steps: Step) -> list[dict[str, str]]:
    return [{name: node.id for name, node in found.nodes} for found in match(view, steps)]


def test_a_chain_is_found_with_and_without_its_optional_step() -> None:
    build, x = _start()
    first = conv_block(build, x, "a", (6, 6), has_bias=True)["norm"]
    second = conv_block(build, _relu(build, first), "b", (6, 6))["norm"]
    assert _ids(build.view({"y": second}), *FOLDABLE) == [
        {"conv": "conv2d_0", "bias": "add_0", "norm": "batch_norm_0"},
        {"conv": "conv2d_1", "norm": "batch_norm_1"},
    ]


def test_a_match_gives_its_nodes_by_attribute_and_by_name() -> None:
    view = small_net()
    [found] = match(view, FOLDABLE)
    assert found.conv is found["conv"] is view.node("conv2d_0")
    assert found.get("bias") is None
    assert "bias" not in found
    assert "norm" in found
    with pytest.raises(UnknownName, match="norm"):
        found["nrom"]
    with pytest.raises(AttributeError, match="nrom"):
        _ = found.nrom


def test_another_op_in_between_breaks_the_chain() -> None:
    build, x = _start()
    weight = build.parameter("w", (6, 6, 3, 3))
    conv = build.node("pd_op.conv2d", {"input": x, "filter": weight}, SHAPE)
    y = build.node("pd_op.batch_norm_", {"x": _relu(build, conv)}, SHAPE)
    assert match(build.view({"y": y}), FOLDABLE) == ()


def test_a_required_step_must_be_there() -> None:
    required = Step("bias", ("pd_op.add",))
    assert match(small_net(), (CONV, required, NORM)) == ()


def test_the_next_step_must_read_at_the_named_operand() -> None:
    build, x = _start()
    weight = build.parameter("w", (6, 6, 3, 3))
    conv = build.node("pd_op.conv2d", {"input": x, "filter": weight}, SHAPE)
    view = build.view({"y": build.node("pd_op.add", {"x": x, "y": conv}, SHAPE)})
    add = Step("add", ("pd_op.add",))
    assert match(view, (CONV, add)) == ()
    assert len(match(view, (Step("conv", CONV.ops, operand="y"), add))) == 1


def test_only_the_first_result_links_two_steps() -> None:
    build, x = _start()
    conv_block(build, x, "a", (6, 6))
    y = build.node("pd_op.relu", {"x": "batch_norm_0.mean_out"}, {"out": (6,)})
    assert match(build.view({"y": y}), (NORM, Step("act", ("pd_op.relu",)))) == ()


def test_where_decides_what_fits() -> None:
    def is_training(view: GraphView, node: Node) -> bool:
        return not node.attrs["is_test"]

    view = small_net()
    assert len(match(view, (CONV, Step("norm", NORM.ops)))) == 1
    assert match(view, (CONV, Step("norm", NORM.ops, where=is_training))) == ()


def test_an_optional_step_that_leads_nowhere_is_passed_over() -> None:
    # relu -> relu -> flatten: taking the optional relu for the one before flatten leaves none for "first".
    build, x = _start()
    y = build.node("pd_op.flatten", {"x": _relu(build, x)}, {"out": (-1, 384)})
    steps = (
        Step("first", ("pd_op.relu",)),
        Step("more", ("pd_op.relu",), optional=True),
        Step("flat", ("pd_op.flatten",)),
    )
    assert _ids(build.view({"y": y}), *steps) == [{"first": "relu_0", "flat": "flatten_0"}]


def test_no_node_is_in_two_matches_and_the_first_has_it() -> None:
    build, x = _start()
    weight = build.parameter("w", (6, 6, 3, 3))
    conv = build.node("pd_op.conv2d", {"input": x, "filter": weight}, SHAPE)
    norms = [build.node("pd_op.batch_norm_", {"x": conv}, SHAPE) for _ in range(2)]
    view = build.view({"a": norms[0], "b": norms[1]})
    [found] = match(view, FOLDABLE)
    assert found.norm.id == "batch_norm_0"
    assert found.read_elsewhere(view, "conv")


def test_a_run_of_equal_ops_is_cut_into_pairs() -> None:
    build, x = _start()
    for _ in range(5):
        x = _relu(build, x)
    pairs = _ids(build.view({"y": x}), Step("a", ("pd_op.relu",)), Step("b", ("pd_op.relu",)))
    assert pairs == [{"a": "relu_0", "b": "relu_1"}, {"a": "relu_2", "b": "relu_3"}]


def test_read_elsewhere_tells_other_readers_outputs_and_second_operands() -> None:
    build, x = _start()
    kept, shown, doubled = _relu(build, x), _relu(build, x), _relu(build, x)
    ends = [build.node("pd_op.add", {"x": value, "y": x}, SHAPE) for value in (kept, shown)]
    ends.append(build.node("pd_op.add", {"x": doubled, "y": doubled}, SHAPE))
    view = build.view({"shown": shown, **{f"end{i}": end for i, end in enumerate(ends)}})
    found = match(view, (Step("act", ("pd_op.relu",)), Step("add", ("pd_op.add",))))
    assert [m.read_elsewhere(view, "act") for m in found] == [False, True, True]


def test_the_last_step_is_read_elsewhere_by_any_reader() -> None:
    build, x = _start()
    act = _relu(build, x)
    unread = build.view({"x": x})
    shown = build.view({"y": act})
    [found] = match(unread, (Step("act", ("pd_op.relu",)),))
    build.node("pd_op.flatten", {"x": act}, {"out": (-1, 384)})
    read = build.view({"x": x})
    assert [found.read_elsewhere(view, "act") for view in (unread, shown, read)] == [False, True, True]


def test_a_match_pickles() -> None:
    found = match(small_net(), FOLDABLE)
    assert pickle.loads(pickle.dumps(found)) == found


def test_two_nodes_that_share_a_chain_each_have_it_when_asked_by_themselves() -> None:
    build, x = _start()
    shared = _relu(build, x)
    first, second = _relu(build, shared), _relu(build, shared)
    view = build.view({"a": first, "b": second})
    steps = Step("first", ("pd_op.relu",)), Step("last", ("pd_op.relu",))
    assert [found.last.id for found in match(view, steps)] == ["relu_1"]
    found = [chain_to(view, steps, view.node(f"relu_{i}")) for i in range(3)]
    assert [f and f["first"].id for f in found] == [None, "relu_0", "relu_0"]
