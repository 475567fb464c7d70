"""A trained model with quantizers comes apart into the float model and the plan that was learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from quant_programs import Trial, batch, convs, forward, several_readers, trial

from spokeshave.errors.quant import HasBackward, NotQuantized, ScaleNotStored, SiteNotTrained
from spokeshave.graph import roundings
from spokeshave.program import Model
from spokeshave.quant import apply, freeze, pack, plan, transform
from spokeshave.quant.kernels import rounded, scale_of
from spokeshave.seams import write_tensor
from spokeshave.select import choose
from spokeshave.targets import TARGETS

pytest_plugins = ["quant_programs"]
pytestmark = pytest.mark.usefixtures("static")


def trained(net: Any = convs, target: str = "paddle", **options: str) -> Model:
    """A test model with quantizers, after some steps of training in the same scope."""
    made = trial(net, optimizer=paddle.optimizer.SGD(0.05))
    training = transformed(made, target, is_training=True, **options)
    for step in range(3):
        made.run(training.program, batch(seed=step), training.target("loss"))
    beside = trial(net)
    beside.scope = made.scope
    return transformed(beside, target, is_training=False, **options)


def transformed(made: Trial, target: str, **options: Any) -> Model:
    return transform(made.model, plan(made.model.view, TARGETS[target]), **options)


@pytest.mark.parametrize("target", ["paddle", "onnxruntime"])
@pytest.mark.parametrize("net", [convs, several_readers])
@pytest.mark.parametrize("weight", ["abs-max", "moving-average-abs-max"])
def test_all_forms_give_the_bits_of_the_fake_quantized_program(net: Any, target: str, weight: str) -> None:
    model = trained(net, target, weight=weight)
    bare, learned = freeze(model)
    feed = batch(16, seed=9)
    expected = model.run(feed)
    for form in (apply(bare, learned), pack(bare, learned)):
        for name, array in form.run(feed).items():
            np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("net", [convs, several_readers])
def test_the_learned_plan_has_the_sites_that_were_planned(net: Any) -> None:
    made = trial(net)
    drawn = plan(made.model.view, TARGETS["onnxruntime"])
    _, learned = freeze(trained(net, "onnxruntime"))
    assert learned.is_settled

    def places(sites: Any) -> set[Any]:
        return {(s.value, s.readers, s.grid, s.is_weight, s.axis) for s in sites}

    assert places(learned.sites) == places(drawn.sites)
    assert set(learned.biases) == set(drawn.biases)


def test_the_float_model_is_the_one_that_was_trained() -> None:
    model = trained()
    bare, _ = freeze(model)
    plain = trial(convs)
    plain.scope = model.scope
    np.testing.assert_array_equal(bare.run(batch())["scores"], plain.model.run(batch())["scores"])
    assert not roundings(bare.view)


def test_freezing_leaves_model_and_scope_alone() -> None:
    model = trained()
    before, ops = model.weights(), len(model.program.global_block().ops)
    freeze(model)
    assert len(model.program.global_block().ops) == ops
    for name, array in model.weights().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_dead_channel_gets_its_reason() -> None:
    model = trained()
    array = model.weight("conv2d_0.w_0")
    array[2] = 0
    write_tensor(model.scope, "conv2d_0.w_0", array)
    _, learned = freeze(model)
    assert [r.subject for r in learned.left_out if r.code == "all-zero"] == ["conv2d_0.w_0"]
    affine = next(s.affine for s in learned.sites if s.value == "conv2d_0.w_0")
    assert affine is not None
    assert affine.scale[2] == 1.0


def test_what_was_not_quantized_is_said() -> None:
    made = trial(convs)
    choice = choose(made.model.view, exclude=["conv2d_0"])
    model = transform(made.model, plan(made.model.view, TARGETS["onnxruntime"], choice), is_training=True)
    batches = [made.run(model.program, batch(seed=n), model.target("loss")) for n in range(2)]
    assert len(batches) == 2
    beside = trial(convs)
    beside.scope = made.scope
    drawn = plan(beside.model.view, TARGETS["onnxruntime"], choice)
    _, learned = freeze(transform(beside.model, drawn, is_training=False))
    found = {r.subject: r.code for r in learned.left_out}
    assert found["conv2d_0"] == "op-runs-in-float"
    assert not {"depthwise_conv2d_0", "matmul_0"} & set(found)


@pytest.mark.parametrize(
    ("target", "in_float"), [("paddle", {"conv2d_0", "depthwise_conv2d_0"}), ("onnxruntime", set())]
)
def test_convolutions_whose_results_are_not_rounded_are_said_to_run_in_float(
    target: str, in_float: set[str]
) -> None:
    _, learned = freeze(trained(convs, target))
    assert {r.subject for r in learned.left_out if r.code == "output-not-rounded"} == in_float


def test_a_model_without_quantizers_is_refused() -> None:
    with pytest.raises(NotQuantized):
        freeze(forward())


def test_a_program_with_its_backward_is_refused() -> None:
    made = trial(convs, optimizer=paddle.optimizer.SGD(0.05))
    training = transformed(made, "paddle", is_training=True)
    with pytest.raises(HasBackward, match="_grad"):
        freeze(training)


def test_quantizers_that_never_saw_a_step_are_refused() -> None:
    with pytest.raises(SiteNotTrained, match="'image'"):
        freeze(transformed(trial(convs), "paddle", is_training=False))


def test_an_activation_that_takes_its_scale_from_the_batch_is_refused() -> None:
    def dynamic(image: Any) -> Any:
        scale = scale_of(paddle.max(paddle.abs(image)).reshape([1]), 127)
        return paddle.nn.Conv2D(1, 2, 3)(rounded(image, scale, -128, 127))

    with pytest.raises(ScaleNotStored, match="'image'"):
        freeze(forward(dynamic))


def test_rounding_between_computed_bounds_is_no_quantizer_of_ours() -> None:
    def bounded(image: Any) -> Any:
        scale, bound = paddle.create_parameter([1], "float32"), paddle.max(image)
        clipped = paddle.clip(paddle.round(paddle.divide(image, scale)), bound * -1, bound)
        return paddle.nn.Conv2D(1, 2, 3)(paddle.multiply(clipped, scale))

    with pytest.raises(NotQuantized):
        freeze(forward(bounded))


def test_rounding_that_only_an_output_shows_is_left_in_place() -> None:
    def shown(image: Any) -> Any:
        return rounded(image, paddle.create_parameter([1], "float32"), -128, 127)

    with pytest.raises(NotQuantized):
        freeze(forward(shown))
