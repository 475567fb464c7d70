"""Models as layers: what they compute, learn and remember is what the layer would that they came from."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from paddle.static import InputSpec
from program_nets import save_branching
from test_capturing import FOUR, IMAGES, Nested, Small

from spokeshave.data import digits
from spokeshave.errors.capturing import CannotRunHere, InputsTooMany, NotDifferentiable, NothingToCompute
from spokeshave.errors.engines import InputMissing, InputUnknown, RunFailed
from spokeshave.models import create
from spokeshave.program import Model, as_layer, capture, load
from spokeshave.seams import static_mode

pytestmark = pytest.mark.usefixtures("in_dynamic_mode")
pytest_plugins = ["program_nets"]

LABELS = np.array([[0], [4], [2]])


class Plain(nn.Layer):  # type: ignore[misc]
    """No batch norm, no dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(64, 6), nn.Linear(6, 5)

    def forward(self, image: Any) -> Any:
        return self.two(F.gelu(self.one(paddle.flatten(image, 1))))


def stepped(net: Any) -> tuple[float, dict[str, Any]]:
    """Loss and gradients of one batch, by names that layer and program have in common."""
    paddle.seed(7)
    image = paddle.to_tensor(IMAGES)
    image.stop_gradient = False
    net.clear_gradients()
    loss = F.cross_entropy(net(image), paddle.to_tensor(LABELS))
    loss.backward()
    found = {"image": image.grad.numpy()}
    found.update({p.name: p.grad.numpy() for p in net.parameters() if p.grad is not None})
    return float(loss), found


def pairs(net: Any, layer: Any) -> dict[str, str]:
    """The tensor of the layer that stands for each of the net's."""
    trained = [p for p in net.parameters() if not p.stop_gradient]
    return {p.name: getattr(layer, p.name.replace(".", "_")).name for p in trained}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", [Small, Plain])
def test_outputs_and_gradients_equal_those_of_the_layer(kind: Any, training: bool) -> None:
    net = kind()
    layer = as_layer(capture(net, [[None, 1, 8, 8]], training=True))
    for one in (net, layer):
        one.train() if training else one.eval()
    loss, gradients = stepped(net)
    same_loss, same = stepped(layer)
    assert same_loss == loss
    names = pairs(net, layer)
    assert len(same) == len(gradients) == len(names) + 1
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(same[names.get(name, name)], gradient)


def test_statistics_move_in_training_and_rest_in_evaluation() -> None:
    net = Small()
    layer = as_layer(capture(net, [[None, 1, 8, 8]], training=True))
    before = net.norm._mean.numpy().copy()
    stepped(net)
    stepped(layer)
    moved = getattr(layer, net.norm._mean.name.replace(".", "_"))
    np.testing.assert_array_equal(moved.numpy(), net.norm._mean.numpy())
    assert not np.array_equal(moved.numpy(), before)
    rested = moved.numpy().copy()
    net.eval()
    layer.eval()
    found, expected = (n(paddle.to_tensor(IMAGES)).numpy() for n in (layer, net))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(moved.numpy(), rested)


def test_without_gradients_training_still_moves_the_statistics() -> None:
    net = Small()
    layer = as_layer(capture(net, [[None, 1, 8, 8]], training=True))
    with paddle.no_grad():
        for one in (net, layer):
            paddle.seed(3)
            assert one(paddle.to_tensor(IMAGES)).stop_gradient
    moved = getattr(layer, net.norm._mean.name.replace(".", "_"))
    np.testing.assert_array_equal(moved.numpy(), net.norm._mean.numpy())


def test_a_saved_inference_model_trains_again_as_the_layer_it_was(tmp_path: Path) -> None:
    net = Small()
    net.eval()
    paddle.jit.save(net, str(tmp_path / "m"), [InputSpec([None, 1, 8, 8], "float32", "image")])
    net.train()
    layer = as_layer(load(tmp_path))
    layer.train()
    loss, gradients = stepped(net)
    same_loss, same = stepped(layer)
    assert same_loss == loss
    names = pairs(net, layer)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(same[names.get(name, name)], gradient)
    paddle.seed(1)
    one = layer(paddle.to_tensor(IMAGES)).numpy()
    assert not np.array_equal(layer(paddle.to_tensor(IMAGES)).numpy(), one), "dropout drops"


def test_lenet_trained_a_hundred_steps_either_way_ends_at_the_same_loss() -> None:
    paddle.seed(0)
    net = create("lenet")
    layer = as_layer(capture(net, [[None, 1, 28, 28]], training=True))
    first, second = trained(net), trained(layer)
    assert first == pytest.approx(second, abs=1e-5)
    assert first < 1.0, "it has learned"


def trained(net: Any, steps: int = 100) -> float:
    """The loss of the last of some steps, each with its own batch."""
    images, labels = digits("train")
    optimizer = paddle.optimizer.Momentum(0.05, 0.9, parameters=net.parameters())
    order, loss = np.random.RandomState(0), 0.0
    for _ in range(steps):
        chosen = order.permutation(len(images))[:16]
        found = F.cross_entropy(net(paddle.to_tensor(images[chosen])), paddle.to_tensor(labels[chosen]))
        found.backward()
        optimizer.step()
        optimizer.clear_grad()
        loss = float(found)
    return loss


def test_the_model_of_a_layer_has_what_the_layer_learned() -> None:
    layer = as_layer(capture(Small(), [[None, 1, 8, 8]], training=True))
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    stepped(layer)
    optimizer.step()
    layer.eval()
    expected = layer(paddle.to_tensor(IMAGES)).numpy()
    model = layer.model()
    np.testing.assert_array_equal(model.run({"image": IMAGES})["output"], expected)
    stepped(layer)
    optimizer.step()
    np.testing.assert_array_equal(model.run({"image": IMAGES})["output"], expected)


def test_a_layer_of_a_program_works_inside_another_layer_and_is_captured_with_it(tmp_path: Path) -> None:
    body = as_layer(capture(Small(), [[None, 1, 8, 8]], training=True))
    net = nn.Sequential(body, nn.Linear(5, 2))
    net.eval()
    expected = net(paddle.to_tensor(IMAGES)).numpy()
    model = capture(net, [[None, 1, 8, 8]])
    [name] = model.view.inputs
    np.testing.assert_array_equal(model.run({name: IMAGES})["output"], expected)
    paddle.jit.save(net, str(tmp_path / "m"), [InputSpec([None, 1, 8, 8], "float32", "image")])
    [found] = load(tmp_path).run({"image": IMAGES}).values()
    np.testing.assert_array_equal(found, expected)


def test_tensors_of_two_layers_of_one_program_have_names_of_their_own() -> None:
    model = capture(Small(), [[None, 1, 8, 8]])
    one, other = as_layer(model), as_layer(model)
    assert {p.name for p in one.parameters()}.isdisjoint(p.name for p in other.parameters())
    assert list(one.state_dict()) == list(other.state_dict())


def test_a_copy_goes_its_own_way() -> None:
    layer = as_layer(capture(Small(), [[None, 1, 8, 8]], training=True))
    twin = copy.deepcopy(layer)
    assert stepped(twin)[0] == stepped(layer)[0]
    paddle.optimizer.SGD(0.5, parameters=twin.parameters()).step()
    assert stepped(twin)[0] != stepped(layer)[0]


def test_frozen_parameters_stay_frozen() -> None:
    net = Plain()
    net.one.weight.stop_gradient = True
    layer = as_layer(capture(net, [[None, 1, 8, 8]], training=True))
    assert len(layer.parameters()) == 3
    assert len(stepped(layer)[1]) == 4


def test_several_inputs_go_in_by_place_or_by_name_and_several_outputs_come_out() -> None:
    spec = {"x": InputSpec([None, 4], "float32", "x"), "y": InputSpec([None], "int64", "y")}
    layer = as_layer(capture(Nested(), [spec]))
    one = layer(paddle.to_tensor(FOUR), paddle.arange(3))
    other = layer(y=paddle.arange(3), x=paddle.to_tensor(FOUR))
    assert len(one) == 3
    for a, b in zip(one, other):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    with pytest.raises(InputMissing, match="'y'"):
        layer(paddle.to_tensor(FOUR))
    with pytest.raises(InputUnknown, match=r"no input 'z'.*x"):
        layer(paddle.to_tensor(FOUR), z=paddle.arange(3))


def test_a_training_program_loses_its_backward_and_goes_on_in_dynamic_mode() -> None:
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with static_mode(), static.scope_guard(scope), static.program_guard(program, startup):
        image, label = static.data("image", [None, 1, 8, 8]), static.data("label", [None, 1], "int64")
        loss = F.cross_entropy(Small()(image), label)
        paddle.optimizer.Momentum(0.1, 0.9).minimize(loss)
        static.Executor().run(startup)
    layer = as_layer(Model.of(program, {"loss": loss}, scope))
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    losses = []
    for _ in range(5):
        found = layer(image=paddle.to_tensor(IMAGES), label=paddle.to_tensor(LABELS))
        found.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(found))
    assert losses[-1] < losses[0]


def test_a_program_without_a_gradient_runs_in_evaluation_and_is_refused_in_training(tmp_path: Path) -> None:
    net = save_branching(tmp_path / "m")
    layer = as_layer(load(tmp_path))
    layer.eval()
    x = paddle.to_tensor(FOUR)
    with pytest.warns(UserWarning, match="Outputs have no gradients"):
        found = layer(x)
    for one, other in zip(found, net(x)):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    layer.train()
    with pytest.raises(NotDifferentiable, match=r"cannot be differentiated: .*zeros"):
        layer(x)


def test_state_that_a_recurrent_layer_makes_anew_needs_no_numbers() -> None:
    net = nn.LSTM(4, 3)
    layer = as_layer(capture(net, [[None, 2, 4]], training=True))
    x = paddle.to_tensor(np.stack([FOUR, FOUR], 1))
    found, expected = layer(x), net(x)[0]
    np.testing.assert_array_equal(found[0].numpy(), expected.numpy())
    found[0].sum().backward()
    expected.sum().backward()
    name = net.parameters()[0].name.replace(".", "_")
    np.testing.assert_array_equal(getattr(layer, name).grad.numpy(), net.parameters()[0].grad.numpy())


def test_a_model_without_outputs_and_a_call_in_static_mode_are_refused() -> None:
    model = capture(Plain(), [[None, 1, 8, 8]])
    with pytest.raises(NothingToCompute):
        as_layer(Model(model.program, model.scope))
    layer = as_layer(model)
    with static_mode(), static.program_guard(static.Program()), pytest.raises(CannotRunHere):
        layer(static.data("image", [None, 1, 8, 8]))


class Ignoring(nn.Layer):  # type: ignore[misc]
    """Does not read its first argument."""

    def forward(self, ignored: Any, x: Any) -> Any:
        return x * 2


def test_an_input_that_nobody_reads_keeps_its_place() -> None:
    model = capture(Ignoring(), [[None, 4], [None, 4]])
    assert model.view.inputs == ("ignored", "x")
    np.testing.assert_array_equal(model.run({"ignored": FOUR * 0, "x": FOUR})["output"], FOUR * 2)
    found = as_layer(model)(paddle.to_tensor(FOUR * 0), paddle.to_tensor(FOUR))
    np.testing.assert_array_equal(found.numpy(), FOUR * 2)


def test_more_inputs_than_there_are_and_one_that_is_given_twice_are_refused() -> None:
    x = paddle.to_tensor(FOUR)
    layer = as_layer(capture(Ignoring(), [[None, 4], [None, 4]]))
    with pytest.raises(InputsTooMany, match="takes the inputs ignored, x, and was given 3"):
        layer(x, x, x)
    with pytest.raises(InputsTooMany):
        layer(x, x, x=x)


class Dropping(nn.Layer):  # type: ignore[misc]
    """Draws three masks, each on a path of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Any) -> Any:
        y = self.one(x)
        z = F.relu(self.two(F.relu(y)))
        return F.dropout(F.relu(self.three(F.relu(z)))), F.dropout(y), F.dropout(z)


def test_masks_are_drawn_in_the_order_of_the_layer() -> None:
    net = Dropping()
    model = capture(net, [[None, 4]], training=True)
    layer = as_layer(model)
    before = paddle.get_flags(["FLAGS_new_executor_sequential_run"])
    for seed in range(8):
        expected, found, run = (seeded(seed, each) for each in (net, layer, model))
        for one, *others in zip(expected, found, run):
            for other in others:
                np.testing.assert_array_equal(other, one)
    assert paddle.get_flags(["FLAGS_new_executor_sequential_run"]) == before


def seeded(seed: int, net: Any) -> list[Any]:
    paddle.seed(seed)
    if isinstance(net, Model):
        return list(net.run({"x": FOUR}).values())
    return [tensor.numpy() for tensor in net(paddle.to_tensor(FOUR))]


class Writing(nn.Layer):  # type: ignore[misc]
    """Writes numbers over a part of a value."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.linear(x)
        y[:, 0] = x[:, 1]
        y[:, 3] = 7.0
        y[1, 1:3] = 2.0
        return y


@pytest.mark.parametrize("training", [True, False])
def test_no_gradient_passes_what_was_written_over(training: bool) -> None:
    net = Writing()
    layer = as_layer(capture(net, [[None, 4]], training=True))
    found = []
    for one in (net, layer):
        one.train() if training else one.eval()
        x = paddle.to_tensor(FOUR)
        x.stop_gradient = False
        y = one(x)
        y.sum().backward()
        found.append((y.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in one.parameters())))
    for expected, one in zip(found[0][:2], found[1][:2]):
        np.testing.assert_array_equal(one, expected)
    shapes = {array.shape: array for array in found[1][2:]}
    for expected in found[0][2:]:
        np.testing.assert_array_equal(shapes[expected.shape], expected)


def test_what_paddle_refuses_to_run_is_an_error_of_ours() -> None:
    layer = as_layer(capture(nn.Linear(4, 2), [[None, 4]]))
    with pytest.raises(RunFailed, match="Paddle failed"):
        layer(paddle.zeros([3, 5]))
