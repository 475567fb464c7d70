"""Quantizers in a program that trains: gradients pass, states learn, scales are shared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as fn
import pytest
from quant_programs import Trial, batch, convs, images, several_readers, transposed, trial

from spokeshave.errors.quant import PlanDoesNotFit, ScaleNotStored
from spokeshave.errors.registry import UnknownName
from spokeshave.graph import bias_roundings, roundings
from spokeshave.numerics import INT8, INT8_NARROW, snap, symmetric
from spokeshave.program import Model
from spokeshave.quant import plan, transform
from spokeshave.quant.quantizers.moving_average_abs_max import RATE
from spokeshave.targets import TARGETS

pytest_plugins = ["quant_programs"]
pytestmark = pytest.mark.usefixtures("static")
RATE_OF_LEARNING = 0.1
NETS = [convs, transposed, several_readers]


def sgd() -> Any:
    return paddle.optimizer.SGD(RATE_OF_LEARNING)


def momentum() -> Any:
    return paddle.optimizer.Momentum(RATE_OF_LEARNING, 0.9, weight_decay=0.01)


def transformed(made: Trial, target: str = "paddle", **options: Any) -> Model:
    model = made.model
    return transform(model, plan(model.view, TARGETS[target]), **{"is_training": True, **options})


def changes(before: dict[str, Any], made: Trial) -> dict[str, Any]:
    return {name: made.model.weight(name) - array for name, array in before.items()}


def trained(net: Any, optimizer: Any, target: str, *, is_rewired: bool, steps: int = 3) -> dict[str, Any]:
    """How training steps change the weights, with the backward there before the quantizers, or made after."""
    made = trial(net, optimizer=optimizer if is_rewired else None)
    before = made.weights()
    model = transformed(made, target)
    if not is_rewired:
        startup = paddle.static.Program()
        with paddle.static.program_guard(model.program, startup):
            optimizer.minimize(model.target("loss"))
        made.run(startup, {})
    for step in range(steps):
        made.run(model.program, batch(seed=step), model.target("loss"))
    return changes(before, made)


@pytest.mark.parametrize("target", ["paddle", "onnxruntime"])
@pytest.mark.parametrize("net", NETS)
def test_a_rewired_backward_trains_as_one_made_afresh(net: Any, target: str) -> None:
    rewired = trained(net, momentum(), target, is_rewired=True)
    afresh = trained(net, momentum(), target, is_rewired=False)
    for name, change in rewired.items():
        assert np.abs(change).max() > 1e-6, name
        # The sums of a gradient that comes by several ways may be taken in another order.
        np.testing.assert_allclose(change, afresh[name], rtol=1e-4, atol=1e-6)


def straight(value: Any, scale: Any, low: float, high: float) -> Any:
    """Rounding whose gradient is one, written down once more, in dygraph."""
    rounded = paddle.clip(paddle.round(value / scale), low, high) * scale
    return value + (rounded - value).detach()


def reference_gradients(weights: dict[str, Any], feed: dict[str, Any]) -> dict[str, Any]:
    """The gradients of `convs` at the first step, when each activation's scale is that of the batch."""
    paddle.disable_static()
    held = {name: paddle.to_tensor(array, stop_gradient=False) for name, array in weights.items()}

    def data(x: Any) -> Any:
        return straight(x, x.abs().max().detach() / 127, -128, 127), x.abs().max().detach() / 127

    def weight(name: str, axis: int) -> Any:
        others = [i for i in range(held[name].ndim) if i != axis]
        scale = held[name].abs().max(axis=others, keepdim=True).detach() / 127
        return straight(held[name], scale, -127, 127), scale

    def bias(name: str, one: Any, other: Any) -> Any:
        steps = (one * other).reshape([-1])
        return held[name] + (paddle.round(held[name] / steps) * steps - held[name]).detach()

    x, s = data(paddle.to_tensor(feed["image"]))
    w, t = weight("conv2d_0.w_0", 0)
    x = fn.conv2d(x, w, padding=1) + bias("conv2d_0.b_0", s, t).reshape([1, -1, 1, 1])
    x, _ = data(fn.max_pool2d(fn.relu(x), 2, 2))
    x = fn.relu6(fn.conv2d(x, weight("conv2d_1.w_0", 0)[0], padding=1, groups=4))
    x, s = data(paddle.flatten(x, 1))
    w, t = weight("linear_0.w_0", 1)
    scores = paddle.matmul(x, w) + bias("linear_0.b_0", s, t)
    paddle.mean(fn.cross_entropy(scores, paddle.to_tensor(feed["label"]))).backward()
    gradients = {name: tensor.grad.numpy() for name, tensor in held.items()}
    paddle.enable_static()
    return gradients


def test_gradients_are_those_of_straight_through_rounding() -> None:
    made = trial(convs, optimizer=sgd())
    before = made.weights()
    model = transformed(made)
    made.run(model.program, batch(), model.target("loss"))
    gradients = reference_gradients(before, batch())
    for name, change in changes(before, made).items():
        # Quantizers only make sums of other order; half a step of rounding would show as 1e-2.
        np.testing.assert_allclose(change, -RATE_OF_LEARNING * gradients[name], rtol=1e-3, atol=1e-6)


def test_gradients_are_not_those_of_the_float_program() -> None:
    """The test before this one would be empty if rounding made no difference."""
    made = trial(convs, optimizer=sgd())
    before = made.weights()
    made.run(made.program, batch(), made.outputs["loss"])
    gradients = reference_gradients(before, batch())
    differences = [
        np.abs(change / -RATE_OF_LEARNING - gradients[name]).max() / np.abs(gradients[name]).max()
        for name, change in changes(before, made).items()
    ]
    assert max(differences) > 2e-3


def test_the_program_itself_stays_as_it_was() -> None:
    made, untouched = trial(convs, optimizer=sgd()), trial(convs, optimizer=sgd())
    ops = [op.name() for op in made.program.global_block().ops]
    transformed(made)
    assert [op.name() for op in made.program.global_block().ops] == ops
    [loss] = made.run(made.program, batch(), made.outputs["loss"])
    [same] = untouched.run(untouched.program, batch(), untouched.outputs["loss"])
    np.testing.assert_array_equal(loss, same)


def bias_first(image: Any) -> Any:
    """A convolution whose bias is brought into shape before anything else."""
    bias = paddle.create_parameter([4], "float32", name="early", is_bias=True)
    column = paddle.reshape(bias, [1, 4, 1, 1])
    return paddle.mean(paddle.nn.Conv2D(1, 4, 3, bias_attr=False)(image) + column, axis=[2, 3])


def test_a_bias_may_be_reshaped_before_its_steps_are_known() -> None:
    made = trial(bias_first, optimizer=sgd())
    before = made.weights()
    model = transformed(made)
    made.run(model.program, batch(), model.target("loss"))
    assert [r.value for r in bias_roundings(model.view)] == ["early"]
    assert np.abs(changes(before, made)["early"]).max() > 1e-4


def test_an_activation_learns_the_moving_average_of_its_batches() -> None:
    made = trial(convs, optimizer=sgd())
    model = transformed(made)
    total = steps = np.float32(0)
    for seed in range(4):
        feed = {**batch(seed=seed), "image": images(seed=seed) * (seed + 1)}
        made.run(model.program, feed, model.target("loss"))
        total = np.float32(total * np.float32(RATE)) + np.abs(feed["image"]).max()
        steps = np.float32(steps * np.float32(RATE)) + np.float32(1)
    held = {
        name: float(model.weight(f"conv2d_0.w_0.input.{name}")[0]) for name in ("total", "steps", "scale")
    }
    np.testing.assert_allclose(held["total"], total, rtol=1e-6)
    np.testing.assert_allclose(held["steps"], steps, rtol=1e-6)
    np.testing.assert_allclose(held["scale"], total / steps / 127, rtol=1e-6)


def test_a_test_program_reads_the_scales_and_writes_none() -> None:
    made = trial(convs, optimizer=sgd())
    model = transformed(made)
    made.run(model.program, batch(), model.target("loss"))
    tested = trial(convs)
    tested.scope = made.scope
    test_model = transformed(tested, is_training=False)
    name = "conv2d_0.w_0.input.scale"
    before = test_model.weight(name)
    [rounding] = [r for r in roundings(test_model.view) if r.value == "image"]
    feed = {**batch(), "image": images(seed=3) * 9}
    [seen] = made.run(test_model.program, feed, test_model.target(rounding.out))
    np.testing.assert_array_equal(test_model.weight(name), before)
    np.testing.assert_array_equal(seen, snap(feed["image"], symmetric(before * 127, INT8)[0]))


def test_two_sites_on_one_shared_weight_learn_apart() -> None:
    made = trial(several_readers, optimizer=sgd())
    model = transformed(made)
    made.run(model.program, batch(), model.target("loss"))
    names = {r.value: r.scale for r in roundings(transformed(_beside(made), is_training=False).view)}
    scales = {value: float(model.weight(name)[0]) for value, name in names.items() if model.holds(name)}
    assert {"conv2d_1.w_0.input.0.scale", "conv2d_1.w_0.input.1.scale"} <= set(names.values())
    assert scales["relu_0.out"] != scales["relu_1.out"]


def _beside(made: Trial) -> Trial:
    """The same net once more, for testing, in the same scope."""
    tested = trial(several_readers)
    tested.scope = made.scope
    return tested


def test_weights_are_rounded_per_channel_by_what_they_are() -> None:
    made = trial(convs)
    model = transformed(made, is_training=False)
    [rounding] = [r for r in roundings(model.view) if r.value == "conv2d_0.w_0"]
    [seen] = made.run(model.program, batch(), model.target(rounding.out))
    array = model.weight("conv2d_0.w_0")
    affine, _ = symmetric(np.abs(array).max(axis=(1, 2, 3)), INT8_NARROW, 0)
    np.testing.assert_array_equal(seen, snap(array, affine))


def test_biases_are_rounded_too() -> None:
    model = transformed(trial(convs), is_training=False)
    assert [r.value for r in bias_roundings(model.view)] == ["conv2d_0.b_0", "linear_0.b_0"]


def test_an_activation_whose_quantizer_stores_nothing_is_refused() -> None:
    with pytest.raises(ScaleNotStored, match="'image'"):
        transformed(trial(convs), activation="abs-max")


def test_an_unknown_quantizer_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="moving-average-abs-max"):
        transformed(trial(convs), activation="moving-average-absmax")


def test_a_plan_of_another_program_is_refused() -> None:
    other = trial(transposed).model
    with pytest.raises(PlanDoesNotFit):
        transform(trial(convs).model, plan(other.view, TARGETS["paddle"]), is_training=True)


def test_a_bias_that_is_not_the_nodes_own_is_refused() -> None:
    made = trial(convs)
    drawn = plan(made.model.view, TARGETS["paddle"])
    first, second = drawn.biases
    crossed = replace(drawn, biases=(replace(first, node=second.node),))
    with pytest.raises(PlanDoesNotFit, match="not the bias of matmul_0"):
        transform(made.model, crossed, is_training=True)
