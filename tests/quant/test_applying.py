"""A settled plan in a model: what `numerics` defines, in both forms alike, and nothing else is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as fn
import pytest
from paddle import nn
from quant_programs import Trial, batch, convs, forward, images, settled, several_readers, transposed, trial

from spokeshave.errors.quant import PlanDoesNotFit
from spokeshave.graph import roundings, unpackings
from spokeshave.numerics import INT8_NARROW, Affine, Grid, encode, snap
from spokeshave.program import Model, load, save
from spokeshave.quant import QuantPlan, apply, observe, pack, plan
from spokeshave.targets import TARGETS

pytest_plugins = ["quant_programs"]
pytestmark = pytest.mark.usefixtures("static")


NETS = [convs, transposed, several_readers]


@pytest.mark.parametrize("net", NETS)
def test_weights_lie_on_their_grid(net: Any) -> None:
    model = forward(net)
    drawn = settled(model)
    frozen, packed = apply(model, drawn), pack(model, drawn)
    assert len(drawn.weights) >= 2
    for site in drawn.weights:
        assert site.affine is not None
        np.testing.assert_array_equal(frozen.weight(site.value), snap(model.weight(site.value), site.affine))
        codes = encode(model.weight(site.value), site.affine)
        np.testing.assert_array_equal(packed.weight(f"{site.value}.int8"), codes)
        assert site.value not in packed.parameters


@pytest.mark.parametrize("net", NETS)
def test_every_site_computes_what_numerics_defines(net: Any) -> None:
    model = forward(net)
    drawn = settled(model)
    frozen = apply(model, drawn)
    found = roundings(frozen.view)
    assert len(found) == len(drawn.activations)
    seen = frozen.run({"image": images()}, [v for r in found for v in (r.value, r.out)])
    affines = {s.value: s.affine for s in drawn.activations}
    by_value = {r.value: affines.get(r.value) for r in found}
    assert None not in by_value.values()
    for rounding in found:
        expected = snap(seen[rounding.value], by_value[rounding.value] or Affine((1.0,), (0,), INT8_NARROW))
        np.testing.assert_array_equal(seen[rounding.out], expected)


@pytest.mark.parametrize("net", NETS)
def test_both_forms_give_the_same_bits(net: Any) -> None:
    model = forward(net)
    drawn = settled(model)
    frozen, packed = apply(model, drawn), pack(model, drawn)
    feed = {"image": images(16, seed=5)}
    np.testing.assert_array_equal(frozen.run(feed)["scores"], packed.run(feed)["scores"])
    assert not np.array_equal(frozen.run(feed)["scores"], model.run(feed)["scores"])


@pytest.mark.parametrize("net", NETS)
def test_the_model_itself_stays_as_it_was(net: Any) -> None:
    model = forward(net)
    before, ops = model.weights(), len(model.program.global_block().ops)
    result = model.run({"image": images()})["scores"]
    drawn = settled(model)
    apply(model, drawn)
    pack(model, drawn)
    assert len(model.program.global_block().ops) == ops
    assert model.weights().keys() == before.keys()
    np.testing.assert_array_equal(model.run({"image": images()})["scores"], result)


def test_every_placed_reader_gets_the_rounded_value() -> None:
    model = forward(several_readers)
    drawn = settled(model)
    view = apply(model, drawn).view
    rounded = {r.value: r for r in roundings(view)}
    for site in drawn.activations:
        readers = {node.id for node in view.readers(rounded[site.value].out)}
        assert len(readers) == len(site.readers), site.id
        assert {node.op for node in view.readers(site.value)} == {"pd_op.divide"}


def test_biases_are_whole_steps_of_the_sum() -> None:
    model = forward()
    drawn = settled(model)
    frozen = apply(model, drawn)
    assert len(drawn.biases) == 2
    for bias in drawn.biases:
        steps = drawn.bias_steps(bias).reshape(-1)
        array = frozen.weight(bias.value).reshape(-1)
        np.testing.assert_array_equal(array, np.rint(array / steps) * steps)
        # Half a step is the most that rounding moves a bias, give or take the last bit.
        assert (np.abs(array - model.weight(bias.value).reshape(-1)) <= steps * 0.50001).all()


def test_packed_weights_take_a_quarter_of_the_bytes() -> None:
    model = forward(lambda image: nn.Linear(64, 64)(paddle.flatten(image, 1)))
    packed = pack(model, settled(model))
    sizes = [sum(a.nbytes for a in m.weights().values()) for m in (model, packed)]
    # 64 scales and 64 biases stand beside 4096 weights.
    assert sizes[0] / sizes[1] > 3.5
    assert [u.integers for u in unpackings(packed.view)] == ["linear_0.w_0.int8"]


def test_frozen_forms_survive_saving_and_loading(tmp_path: Any) -> None:
    model = forward(several_readers)
    drawn = settled(model)
    feed = {"image": images()}
    for name, form in (("float", apply(model, drawn)), ("int8", pack(model, drawn))):
        save(form, tmp_path / name)
        np.testing.assert_array_equal(load(tmp_path / name).run(feed)["scores"], form.run(feed)["scores"])


def test_a_scale_with_a_zero_point_is_applied_as_numerics_defines_it() -> None:
    model = forward()
    drawn = settled(model)
    lopsided = Affine((0.01,), (17,), Grid(8, signed=False))
    sites = tuple(
        replace(s, affine=lopsided, grid=lopsided.grid) if s.id == "image" else s for s in drawn.sites
    )
    frozen = apply(model, replace(drawn, sites=sites))
    rounding = next(r for r in roundings(frozen.view) if r.value == "image")
    seen = frozen.run({"image": images()}, [rounding.out])[rounding.out]
    np.testing.assert_array_equal(seen, snap(images(), lopsided))


def test_one_scale_for_a_whole_weight_is_applied_as_well() -> None:
    model = forward()
    drawn = plan(model.view, TARGETS["onnxruntime"])
    drawn = replace(drawn, sites=tuple(replace(s, axis=None) for s in drawn.sites))
    drawn = drawn.settled(observe(model, drawn, [{"image": images()}]))
    frozen, packed = apply(model, drawn), pack(model, drawn)
    assert packed.weight("conv2d_0.w_0.scale").shape == (1,)
    feed = {"image": images()}
    np.testing.assert_array_equal(frozen.run(feed)["scores"], packed.run(feed)["scores"])


def test_a_plan_without_scales_is_refused() -> None:
    model = forward()
    with pytest.raises(PlanDoesNotFit, match="no scale yet"):
        apply(model, plan(model.view, TARGETS["paddle"]))


def test_a_plan_of_another_model_is_refused() -> None:
    with pytest.raises(PlanDoesNotFit, match="the model has no such value"):
        pack(forward(), settled(forward(transposed)))


def in_scope(made: Trial) -> tuple[Model, QuantPlan]:
    model = Model.of(made.program, {"scores": made.outputs["scores"]}, made.scope)
    drawn = plan(model.view, TARGETS["paddle"])
    return model, drawn.settled(observe(model, drawn, [batch()]))


def normed(image: Any) -> Any:
    """A convolution with a batch norm behind it, and a linear layer."""
    norm = nn.BatchNorm2D(2)
    norm.eval()
    x = nn.functional.relu(norm(nn.Conv2D(1, 2, 3, bias_attr=False)(image)))
    return nn.Linear(72, 4)(paddle.flatten(x, 1))


def test_in_a_users_scope_the_weights_stay_and_the_frozen_forms_have_their_own() -> None:
    made = trial(normed)
    before = made.weights()
    model, drawn = in_scope(made)
    forms = apply(model, drawn), pack(model, drawn)
    for name, array in made.weights().items():
        np.testing.assert_array_equal(array, before[name])
    feed = batch()
    results = [form.run(feed)["scores"] for form in forms]
    for name, array in before.items():
        made.scope.find_var(name).get_tensor().set(array * 3 + 1, paddle.CPUPlace())
    for form, result in zip(forms, results):
        np.testing.assert_array_equal(form.run(feed)["scores"], result)
    assert not set(before) & set(forms[0].parameters)


def test_two_models_in_one_scope_keep_apart() -> None:
    def other(image: Any) -> Any:
        with paddle.utils.unique_name.guard("other_"):
            return nn.Linear(64, 4)(paddle.flatten(image * 30.0, 1))

    one, two = trial(normed), trial(other)
    for name, array in two.weights().items():
        one.scope.var(name).get_tensor().set(array, paddle.CPUPlace())
    two.scope = one.scope
    frozen = apply(*in_scope(one))
    result = frozen.run(batch())["scores"]
    apply(*in_scope(two))
    np.testing.assert_array_equal(frozen.run(batch())["scores"], result)


def along_both_axes(image: Any) -> Any:
    """One square weight in two products, of which the second reads it along its other axis."""
    x = paddle.flatten(image, 1)
    weight = paddle.create_parameter([64, 64], "float32", name="square")
    return paddle.matmul(fn.relu(paddle.matmul(x, weight)), weight, transpose_y=True)


@pytest.mark.parametrize("form", [apply, pack])
def test_an_op_that_stays_float_reads_the_weight_that_another_rounds_as_it_was(form: Any) -> None:
    model = forward(along_both_axes)
    drawn = settled(model)
    assert [(site.value, site.readers) for site in drawn.weights] == [("square", ("matmul_0",))]
    frozen = form(model, drawn)
    first, second = (node.operand("y") for node in frozen.view.nodes if node.op == "pd_op.matmul")
    assert second == "square"
    np.testing.assert_array_equal(frozen.weight("square"), model.weight("square"))
    read = frozen.run({"image": images()}, [first or ""])[first or ""]
    [site] = drawn.weights
    assert site.affine is not None
    np.testing.assert_array_equal(read, snap(model.weight("square"), site.affine))
