"""Editing a copy: what is kept, what goes, and that a broken edit is told instead of ending the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn
from program_nets import built, ran

from spokeshave.errors.graph import GraphBroken
from spokeshave.errors.program import ErasedInUse
from spokeshave.graph import Step, diff
from spokeshave.program import PASSES, Editor, Found, Model, Rewrite, load, rewrite, rewriting
from spokeshave.report import Reason
from spokeshave.seams import name_value

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")


class OnRelu(Rewrite):
    """Does to every relu what it was made with."""

    name = "on-relu"
    steps = (Step("relu", ("pd_op.relu",)),)

    def __init__(self, act: Callable[[Found, Editor], None]) -> None:
        self._act = act

    def check(self, found: Found) -> Reason | None:
        return None

    def apply(self, found: Found, editor: Editor) -> None:
        self._act(found, editor)


def net(x: Any) -> Any:
    first, second = nn.Conv2D(4, 4, 3, padding=1), nn.Conv2D(4, 4, 1)
    return second(F.relu(first(x)))


def ops(model: Model) -> list[str]:
    return [node.op for node in model.view.nodes]


# Broken rules


def test_a_rule_that_gives_a_node_a_weight_of_the_wrong_shape_is_caught_by_the_check() -> None:
    def swap(found: Found, editor: Editor) -> None:
        conv = editor.view.node("conv2d_1")
        small = editor.parameter("small", np.zeros((4, 3, 1, 1), np.float32))
        editor.rewire(conv.operand("filter") or "", small)

    model = built(net)
    before = ran(model)[0]
    with pytest.raises(GraphBroken, match=r"After on-relu: .* filter reads 3 x 1 groups, its input has 4"):
        rewrite(model, OnRelu(swap))
    np.testing.assert_array_equal(ran(model)[0], before)


def test_a_rule_that_reads_what_is_made_later_is_caught_by_the_check() -> None:
    def loop(found: Found, editor: Editor) -> None:
        editor.rewire("conv2d_0.out", editor.value("conv2d_1.out"))

    with pytest.raises(GraphBroken, match="add_0 reads 'a value that is made later'"):
        rewrite(built(net), OnRelu(loop))


def test_erasing_what_is_in_use_raises_instead_of_ending_the_process() -> None:
    def wreck(found: Found, editor: Editor) -> None:
        editor.erase(found.match["relu"])

    model = built(net)
    with pytest.raises(ErasedInUse, match=r"pd_op.relu cannot be removed: pd_op.conv2d reads it"):
        rewrite(model, OnRelu(wreck))
    assert ran(model)[0].shape == (3, 4, 8, 8)


# Edits


def test_a_value_is_rewired_for_all_readers_and_the_unread_go() -> None:
    def replace(found: Found, editor: Editor) -> None:
        relu = found.match["relu"]
        source = editor.value(relu.operand("x") or "")
        editor.rewire(relu.out, editor.before(relu, lambda: F.relu6(source)))

    model = built(net)
    result = rewrite(model, OnRelu(replace))
    assert ops(result.model) == [op.replace("relu", "relu6") for op in ops(model)]
    assert result.changed == ("relu_0",)
    assert "pd_op.relu" in ops(model)


def test_an_output_follows_its_value() -> None:
    def double(found: Found, editor: Editor) -> None:
        value = editor.value(found.match["relu"].out)
        editor.rewire(found.match["relu"].out, editor.after(found.match["relu"].out, lambda: value * 2))

    model = built(F.relu)
    # The product reads the value itself: only what is rewired after it was built may not.
    editor = Editor(model)
    value = editor.value("relu_0.out")
    doubled = editor.after("relu_0.out", lambda: value * 2)
    editor.rewire("relu_0.out", doubled)
    np.testing.assert_array_equal(ran(editor.finish("double"))[0], 2 * ran(model)[0])
    assert rewrite(model, OnRelu(double)).model.view.outputs == (("out0", "scale_0.out"),)


def test_some_readers_are_rewired_and_others_are_not() -> None:
    def branches(x: Any) -> Any:
        y = F.relu(x)
        return [paddle.exp(y), paddle.tanh(y)]

    model = built(branches)
    editor = Editor(model)
    exp = editor.view.node("exp_0")
    editor.rewire("relu_0.out", editor.value("image"), [exp])
    found, wanted = ran(editor.finish("some")), ran(model)
    assert not np.allclose(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def test_a_reader_that_gathers_a_list_is_rewired() -> None:
    def joined(x: Any) -> Any:
        return paddle.concat([F.relu(x), x, F.relu(x)], axis=1)

    model = built(joined)
    editor = Editor(model)
    editor.rewire("relu_0.out", editor.value("image"))
    found = ran(editor.finish("gather"))[0]
    image = ran(built(lambda x: x + 0))[0]
    np.testing.assert_array_equal(found[:, :4], image)
    np.testing.assert_array_equal(found[:, 8:], np.maximum(image, 0))


def test_a_value_that_is_fetched_is_kept_though_nobody_reads_it_any_more() -> None:
    model = built(lambda x: [paddle.exp(F.relu(x)), paddle.tanh(x)])
    model = Model.of(model.program, {**_outputs(model), "inner": model.target("relu_0.out")}, model.scope)
    editor = Editor(model)
    editor.rewire("relu_0.out", editor.value("image"), [editor.view.node("exp_0")])
    finished = editor.finish("keep")
    assert ops(finished) == ops(model)
    np.testing.assert_array_equal(ran(finished)[2], ran(model)[2])


def test_newly_unread_ops_and_their_weights_go_and_others_stay() -> None:
    model = built(net)
    editor = Editor(model)
    editor.rewire("relu_0.out", editor.value("image"))
    finished = editor.finish("cut")
    assert sorted(finished.weights()) == ["conv2d_1.b_0", "conv2d_1.w_0"]
    assert not finished.holds("conv2d_0.w_0")
    assert model.holds("conv2d_0.w_0")
    assert ops(finished).count("pd_op.conv2d") == 1


def test_ops_that_nobody_read_from_the_start_are_kept() -> None:
    def with_idle(x: Any) -> Any:
        paddle.tanh(x)  # read by nobody, but a user may fetch it
        return paddle.exp(F.relu(x))

    model = built(with_idle)
    editor = Editor(model)
    editor.rewire("relu_0.out", editor.value("image"))
    assert ops(editor.finish("keep")) == ["pd_op.tanh", "pd_op.exp"]


def test_in_a_borrowed_scope_no_tensor_goes() -> None:
    owned = built(net)
    model = Model.of(owned.program, _outputs(owned), owned.scope)
    editor = Editor(model)
    editor.rewire("relu_0.out", editor.value("image"))
    finished = editor.finish("cut")
    assert sorted(finished.parameters) == ["conv2d_1.b_0", "conv2d_1.w_0"]
    assert finished.holds("conv2d_0.w_0")


def test_numbers_of_a_parameter_are_set_in_the_copy_alone() -> None:
    model = built(net)
    editor = Editor(model)
    editor.set_weight("conv2d_1.w_0", np.zeros((4, 4, 1, 1), np.float32))
    editor.set_weight("conv2d_1.b_0", np.full(4, 3, np.float32))
    np.testing.assert_array_equal(ran(editor.finish("set"))[0], np.full((3, 4, 8, 8), 3, np.float32))
    assert model.weight("conv2d_1.w_0").any()


def test_in_a_borrowed_scope_other_numbers_get_a_parameter_of_their_own() -> None:
    owned = built(net)
    model = Model.of(owned.program, _outputs(owned), owned.scope)
    editor = Editor(model)
    editor.set_weight("conv2d_1.w_0", np.zeros((4, 4, 1, 1), np.float32))
    finished = editor.finish("set")
    assert "conv2d_1.w_0.frozen" in finished.parameters
    assert model.weight("conv2d_1.w_0").any()
    assert not np.array_equal(ran(finished)[0], ran(model)[0])


def test_a_new_parameter_keeps_the_numbers_that_a_scope_has_where_asked() -> None:
    model = built(net)
    shape = model.parameters["conv2d_1.b_0"][0]
    editor = Editor(model)
    for keep, wanted in ((True, 5), (False, 6)):
        editor.parameter("state", np.full(shape, 5, np.float32), keep=keep)
        editor.parameter("state", np.full(shape, 6, np.float32), keep=keep)
        assert editor.weight("state")[0] == wanted
    assert not model.holds("state")


def test_the_gradient_ops_of_a_node_are_its_own() -> None:
    program, startup = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    with paddle.static.program_guard(program, startup):
        x = paddle.static.data("x", [None, 4, 8, 8], "float32")
        conv = nn.Conv2D(4, 4, 3, padding=1)
        y = F.relu(conv(x))
        z = F.relu(conv(y))  # the same weight twice
        loss = paddle.mean(z)
        paddle.optimizer.SGD(0.1).minimize(loss)
    editor = Editor(Model.of(program, {"loss": loss}, paddle.static.Scope()))
    first, second = (editor.gradients_of(editor.view.node(f"conv2d_{i}")) for i in (0, 1))
    assert [op.name() for op in (*first, *second)] == ["pd_op.conv2d_grad"] * 2
    assert first[0].id() != second[0].id()
    image = editor.value("image" if "image" in editor.view.values else "x")
    assert any(source.is_same(image) for source in first[0].operands_source())
    assert editor.gradients_of(editor.view.node("mean_0"))[0].name() == "pd_op.mean_grad"


def test_a_value_that_a_branch_or_a_loop_reads_is_rewired_inside_it(saved: Any) -> None:
    model = load(saved("branching"))
    inside = [n for n in model.view.nodes if any(o.startswith("captured") for o, _ in n.inputs)]
    read = {v for n in inside for o, v in n.inputs if o.startswith("captured") and model.view.is_parameter(v)}
    assert read
    editor = Editor(model)
    for name in sorted(read):
        editor.rewire(name, editor.parameter(f"{name}.new", np.zeros_like(editor.weight(name))))
    finished = editor.finish("rewire")
    assert not read & set(finished.parameters)
    feed = {"x": np.ones((2, 4), np.float32)}
    y = next(iter(finished.run(feed).values()))
    np.testing.assert_array_equal(y, np.full((2, 4), 3, np.float32))  # nothing but three times the input


def test_what_a_nested_branch_reads_is_not_overlooked() -> None:
    def net(x: Any) -> Any:
        seen, at = paddle.exp(x), paddle.mean(x)

        def inner() -> Any:
            return paddle.static.nn.cond(at > 1, lambda: seen * 2, lambda: seen * 3)

        return paddle.static.nn.cond(at > 0, inner, lambda: x * 1)

    model = built(net)
    outer = next(n for n in model.view.nodes if n.op == "pd_op.if")
    assert "exp_0.out" in [value for _, value in outer.inputs]


def test_a_value_gets_a_name_and_is_handed_out() -> None:
    model = built(net)
    editor = Editor(model)
    editor.show("inner", editor.value("relu_0.out"))
    finished = editor.finish("show")
    assert [name for name, _ in finished.view.outputs] == ["out0", "inner"]
    np.testing.assert_array_equal(ran(finished)[1], _inner(model, "relu_0.out"))


def test_what_stands_at_an_operand_is_told_as_the_edit_left_it() -> None:
    editor = Editor(built(lambda x: paddle.concat([F.relu(x), x], axis=1)))
    concat = editor.view.node("concat_0")
    assert editor.source(concat, "x.0").is_same(editor.value("relu_0.out"))
    editor.rewire("relu_0.out", editor.value("image"))
    assert editor.source(concat, "x.0").is_same(editor.value("image"))
    assert editor.source(concat, "axis").get_defining_op().name() == "pd_op.full"


def test_chains_are_found_by_pattern_in_the_view_before_any_change() -> None:
    editor = Editor(built(net))
    steps = Step("conv", ("pd_op.conv2d",)), Step("add", ("pd_op.add",)), Step("relu", ("pd_op.relu",))
    editor.rewire("relu_0.out", editor.value("image"))
    assert [found.conv.id for found in editor.find(*steps)] == ["conv2d_0"]


def test_what_is_made_belongs_to_the_layer_where_it_was_put() -> None:
    model = built(net)
    editor = Editor(model)
    relu, conv = editor.view.node("relu_0"), editor.view.node("conv2d_1")
    assert conv.scope not in ("", relu.scope)
    source = editor.source(conv, "input")
    made = editor.before(conv, lambda: F.relu6(source))
    editor.rewire(relu.out, made, [conv])
    [relu6] = [n for n in editor.finish("put").view.nodes if n.op == "pd_op.relu6"]
    assert relu6.scope == conv.scope


def test_a_name_that_the_program_has_is_not_taken_again() -> None:
    editor = Editor(built(net))
    name = "conv2d_1.b_0"
    other = editor.parameter(name, np.zeros(4, np.float32))
    editor.rewire(f"{name}", other)
    finished = editor.finish("again")
    assert f"{name}.1" in finished.parameters
    assert name not in finished.parameters


# The pass itself


def test_what_stands_in_the_place_of_a_value_has_its_name() -> None:
    model = built(lambda x: F.relu(nn.BatchNorm2D(4)(nn.Conv2D(4, 4, 3)(x))))
    norm = model.view.node("batch_norm_0")
    name_value(model.target(norm.out), "normed")
    image = {"image": np.random.RandomState(0).standard_normal((2, 4, 8, 8)).astype(np.float32)}
    folded = rewrite(model, PASSES["fold-batch-norm"]).model
    assert "batch_norm_0" not in [node.id for node in folded.view.nodes]
    expected = model.run(image, ["normed"])["normed"]
    # As near as folding is.
    np.testing.assert_allclose(folded.run(image, ["normed"])["normed"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("borrows", [True, False])
@pytest.mark.parametrize("part_bytes", [1, 40, 1 << 20])
def test_a_weight_is_scaled_a_part_at_a_time(
    borrows: bool, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "PART_BYTES", part_bytes)
    model = replace(built(net), borrows=borrows)
    weight = model.view.node("conv2d_0").operand("filter") or ""
    before = model.weight(weight)
    factors = np.arange(1.0, 5.0).reshape(1, -1, 1, 1)
    editor = Editor(model)
    editor.scale_weight(weight, factors)
    changed = editor.finish("scaling")
    found = changed.weight(changed.view.node("conv2d_0").operand("filter") or "")
    np.testing.assert_array_equal(found, (before * factors).astype(np.float32))
    np.testing.assert_array_equal(model.weight(weight), before)


def test_a_name_stays_with_a_value_that_is_still_there() -> None:
    def double(found: Found, editor: Editor) -> None:
        source = editor.value(found.node.out)
        doubled = editor.after(found.node.out, lambda: paddle.scale(source, 2.0))
        editor.rewire(found.node.out, doubled)
        doubled.get_defining_op().operand(0).set_source(source)

    model = built(net)
    name_value(model.target("relu_0.out"), "act")
    changed = rewrite(model, OnRelu(double)).model
    image = {"image": np.random.RandomState(0).standard_normal((2, 4, 8, 8)).astype(np.float32)}
    np.testing.assert_array_equal(changed.run(image, ["act"])["act"], model.run(image, ["act"])["act"])


def test_a_program_with_its_gradients_is_declined_place_by_place() -> None:
    program, startup = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    with paddle.static.program_guard(program, startup):
        x = paddle.static.data("image", [None, 4, 8, 8], "float32")
        loss = paddle.mean(F.relu(nn.Conv2D(4, 4, 3)(x)))
        paddle.optimizer.SGD(0.1).minimize(loss)
    model = Model.of(program, {"loss": loss}, paddle.static.Scope())
    result = rewrite(model, OnRelu(lambda found, editor: None))
    assert result.model is model
    assert [(r.code, r.subject) for r in result.declined] == [("has-backward", "relu_0")]


def test_passes_are_found_by_their_files() -> None:
    assert PASSES.names() == (
        "drop-dead-ops",
        "drop-dropout",
        "drop-identities",
        "fold-batch-norm",
        "fold-constants",
        "untranspose-weight",
    )


def test_where_nothing_fits_the_graph_is_the_same() -> None:
    model = built(lambda x: paddle.tanh(x))
    result = rewrite(model, OnRelu(lambda found, editor: None))
    assert (result.changed, result.declined) == ((), ())
    assert diff(model.view, result.model.view) == ""
    assert result.report().facts == {}


def test_a_report_counts_and_names() -> None:
    class Refused(OnRelu):
        """Changes nothing."""

        def check(self, found: Found) -> Reason | None:
            return found.declined("because", found.match["relu"], "it is so")

    result = rewrite(built(lambda x: F.relu(F.relu(x))), Refused(lambda found, editor: None))
    report = result.report()
    assert report.facts == {"on-relu found": 2, "on-relu rewritten": 0}
    assert [(r.code, r.subject, r.text) for r in report.reasons] == [
        ("because", "relu_0", "it is so"),
        ("because", "relu_1", "it is so"),
    ]


def _outputs(model: Model) -> dict[str, Any]:
    return {name: model.target(name) for name, _ in model.view.outputs}


def _inner(model: Model, value_id: str) -> Any:
    image = np.random.RandomState(0).standard_normal((3, *model.inputs[0].shape[1:])).astype(np.float32)
    return model.run({"image": image}, [value_id])[value_id]
