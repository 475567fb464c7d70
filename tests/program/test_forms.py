"""A model cut down to be run, and its forward part to be trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from paddle.utils import unique_name
from program_nets import save_branching

from spokeshave.errors.program import FetchUnknown, InputNotChosen
from spokeshave.program import Model, as_layer, capture, for_inference, for_training, load, save
from spokeshave.program.roles import has_backward
from spokeshave.seams import static_mode

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

IMAGES = np.random.RandomState(0).standard_normal((4, 1, 6, 6)).astype(np.float32)
LABELS = np.array([[0], [1], [2], [1]])
SIDE = np.random.RandomState(1).standard_normal((4, 3)).astype(np.float32)


@pytest.fixture
def trained() -> Model:
    """A program with two inputs and a label, two outputs, its backward, an optimizer and a schedule."""
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with static_mode(), static.program_guard(program, startup), unique_name.guard():
        image, side = static.data("image", [None, 1, 6, 6]), static.data("side", [None, 3])
        label = static.data("label", [None, 1], "int64")
        body = paddle.flatten(F.relu(nn.BatchNorm2D(2)(nn.Conv2D(1, 2, 3)(image))), 1)
        scores = nn.Linear(35, 3)(F.dropout(paddle.concat([body, side], 1), 0.5))
        loss = F.cross_entropy(scores, label)
        paddle.optimizer.Momentum(paddle.optimizer.lr.StepDecay(0.1, 2), 0.9).minimize(loss)
        with static.scope_guard(scope):
            static.Executor().run(startup)
    return Model.of(program, {"scores": scores, "body": body, "loss": loss}, scope)


def modes(model: Model) -> list[bool]:
    return [node.attrs["is_test"] for node in model.view.nodes if "is_test" in node.attrs]


def test_the_training_form_has_no_backward_and_trains_its_statistics(trained: Model) -> None:
    form = for_training(trained)
    assert has_backward(trained.program)
    assert not has_backward(form.program)
    assert modes(form) == [False, False]
    assert not hasattr(form.program, "lr_scheduler")
    feed = {"image": IMAGES, "side": SIDE, "label": LABELS}
    found = form.run(feed, ["body"])["body"]  # first, as a run of the other updates the weights
    np.testing.assert_array_equal(found, trained.run(feed, ["body"])["body"])


def test_a_model_in_test_mode_trains_again_wholly(trained: Model) -> None:
    form = for_training(for_inference(trained))
    assert modes(form) == [False, False]
    norm = next(node for node in form.view.nodes if "batch_norm" in node.op)
    assert not norm.attrs["use_global_stats"]


def test_what_was_put_into_test_mode_on_purpose_stays_there() -> None:
    program = static.Program()
    with static_mode(), static.program_guard(program, static.Program()), unique_name.guard():
        image = static.data("image", [None, 1, 6, 6])
        frozen = nn.BatchNorm2D(2, use_global_stats=True)
        frozen.eval()
        out = F.dropout(frozen(nn.Conv2D(1, 2, 3)(image)), 0.5)
    assert modes(for_training(Model.of(program, {"out": out}, static.Scope()))) == [True, False]


def test_inference_keeps_what_the_chosen_outputs_need(trained: Model) -> None:
    form = for_inference(trained, ["body"])
    assert form.view.inputs == ("image",)
    assert "linear_0.w_0" not in form.parameters
    assert for_inference(trained).view.inputs == ("image", "side", "label")


def test_a_model_may_begin_at_an_inner_value(trained: Model, tmp_path: Path) -> None:
    body = dict(trained.view.outputs)["body"]
    save(trained, tmp_path / "head", ["scores"], [body, "side"])
    head = load(tmp_path)
    assert head.view.inputs == (body, "side")
    whole = for_inference(trained, ["scores", "body"]).run({"image": IMAGES, "side": SIDE})
    found = head.run({body: whole["body"], "side": SIDE})["scores"]
    np.testing.assert_array_equal(found, whole["scores"])
    assert not [name for name in head.parameters if name.startswith("conv")]


def test_chosen_inputs_stay_also_where_nothing_reads_them(trained: Model, tmp_path: Path) -> None:
    save(trained, tmp_path / "m", ["body"], ["image", "side"])
    with static_mode(), static.scope_guard(static.Scope()):
        _, feeds, _ = static.load_inference_model(str(tmp_path / "m"), static.Executor())
    assert sorted(feeds) == ["image", "side"]


def test_an_input_that_is_needed_and_not_chosen_is_named(trained: Model, tmp_path: Path) -> None:
    with pytest.raises(InputNotChosen, match=r"'side'.*chosen: image"):
        save(trained, tmp_path / "m", ["scores"], ["image"])
    with pytest.raises(FetchUnknown, match=r"'imag' .*Nearest: image"):
        save(trained, tmp_path / "m", ["scores"], ["imag"])
    with pytest.raises(FetchUnknown, match=r"'score' .*Nearest: scores"):
        save(trained, tmp_path / "m", ["score"])
    assert not list(tmp_path.iterdir())


def test_the_model_that_was_given_stays_as_it_is(trained: Model) -> None:
    before = trained.view
    for_training(trained)
    for_inference(trained, ["scores"], [dict(trained.view.outputs)["body"], "side"])
    assert Model.of(trained.program, dict(trained.fetches), trained.scope).view == before
    assert modes(trained) == [False, False]


def test_what_only_a_loop_inside_a_branch_reads_is_kept(tmp_path: Path) -> None:
    class Deep(nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                count = paddle.zeros([1], "int64")
                while count < 2:
                    x = self.inner(x)
                    count = count + 1
            return x

    net = Deep()
    net.eval()
    paddle.jit.save(net, str(tmp_path / "m"), [static.InputSpec([None, 4], "float32", "x")])
    ones = np.ones((2, 4), np.float32)
    [found] = for_inference(load(tmp_path)).run({"x": ones}).values()
    np.testing.assert_array_equal(found, net(paddle.to_tensor(ones)).numpy())
    save(load(tmp_path), tmp_path / "again")
    [found] = load(tmp_path / "again").run({"x": ones}).values()
    np.testing.assert_array_equal(found, net(paddle.to_tensor(ones)).numpy())


def test_branches_keep_their_parameters(saved: Callable[[str], Path], tmp_path: Path) -> None:
    net = save_branching(tmp_path / "branching")
    form = for_training(load(tmp_path))
    x = np.ones((2, 4), np.float32)
    found = next(iter(form.run({"x": x}).values()))
    np.testing.assert_array_equal(found, net(paddle.to_tensor(x))[0].numpy())


class Normed(nn.Layer):  # type: ignore[misc]
    """Writes its weight anew before each time that it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.weight_norm(nn.Linear(3, 4))

    def forward(self, side: Any) -> Any:
        return self.linear(side)


def test_what_is_written_over_a_value_stays_written_also_where_the_result_of_writing_is_not_read() -> None:
    program, scope = static.Program(), static.Scope()
    with static_mode(), static.program_guard(program, static.Program()):
        side = static.data("side", [None, 3])
        y = side * 2.0
        paddle._C_ops.set_value_(y, [0], [1], [1], [1], [1], [], [1], [7.0])
        model = Model.of(program, {"y": y + 0.0}, scope)
    wanted = SIDE * 2
    wanted[:, 0] = 7
    np.testing.assert_array_equal(model.run({"side": SIDE})["y"], wanted)
    np.testing.assert_array_equal(for_inference(model).run({"side": SIDE})["y"], wanted)


def test_a_weight_that_is_computed_is_computed_in_test_mode_too() -> None:
    net = Normed()
    layer = as_layer(capture(net, [[None, 3]], training=True))
    for one in (net, layer):
        one.eval()
        for parameter in one.parameters():
            if parameter.name.startswith("linear"):
                parameter.set_value(parameter * 2 + 0.5)
        one(paddle.to_tensor(SIDE)).sum().backward()
    np.testing.assert_array_equal(layer(paddle.to_tensor(SIDE)).numpy(), net(paddle.to_tensor(SIDE)).numpy())
    given = [p for p in net.parameters() if p.name.startswith("linear")]
    for parameter in given:
        twin = getattr(layer, parameter.name.replace(".", "_"))
        np.testing.assert_allclose(twin.grad.numpy(), parameter.grad.numpy(), rtol=1e-6, atol=1e-6)


class Counting(nn.Layer):  # type: ignore[misc]
    """Counts how often it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", paddle.zeros([1]))

    def forward(self, side: Any) -> Any:
        paddle.assign(self.count + 1, self.count)
        return side + self.count


def test_state_rests_in_test_mode() -> None:
    model = capture(Counting(), [[None, 3]], training=True)
    np.testing.assert_array_equal(model.run({"side": SIDE})["output"], SIDE + 1)
    form = for_inference(model)
    for _ in range(2):
        np.testing.assert_array_equal(form.run({"side": SIDE})["output"], SIDE + 1)


def test_the_iteration_behind_a_spectral_norm_rests_in_test_mode() -> None:
    net = nn.utils.spectral_norm(nn.Linear(3, 4))
    layer = as_layer(capture(net, [[None, 3]], training=True))
    x = paddle.to_tensor(SIDE)
    np.testing.assert_array_equal(layer(x).numpy(), net(x).numpy())
    net.eval()
    layer.eval()
    expected = net(x).numpy()
    for _ in range(2):
        np.testing.assert_array_equal(layer(x).numpy(), expected)
