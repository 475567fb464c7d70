"""Ranges come from one pass over the data; a plan that is not of the model is refused before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import paddle
import pytest
from quant_programs import forward, images, settled, transposed

from spokeshave.errors.quant import ObserverSawNaN, ObserverSawNothing, PlanDoesNotFit
from spokeshave.numerics import INT8_NARROW, Affine
from spokeshave.program import Model
from spokeshave.quant import QuantPlan, observe, plan
from spokeshave.quant.sites import Bias
from spokeshave.seams import write_tensor
from spokeshave.targets import TARGETS

pytest_plugins = ["quant_programs"]
pytestmark = pytest.mark.usefixtures("static")
ORT = TARGETS["onnxruntime"]


def ranges_of(model: Model, *batches: np.ndarray) -> dict[str, tuple[float, ...]]:
    return dict(observe(model, plan(model.view, ORT), [{"image": b} for b in batches]))


def test_each_range_is_the_largest_magnitude_of_its_value() -> None:
    model, data = forward(), images()
    drawn = plan(model.view, ORT)
    found = ranges_of(model, data)
    seen = model.run({"image": data}, [s.value for s in drawn.activations])
    assert {v: (float(np.abs(a).max()),) for v, a in seen.items()} == {v: found[v] for v in seen}
    for site in drawn.weights:
        array = np.moveaxis(model.weight(site.value), site.axis or 0, 0)
        assert found[site.id] == tuple(np.abs(array.reshape(len(array), -1)).max(axis=1).tolist())
    for bias in drawn.biases:
        assert found[bias.value] == tuple(np.abs(model.weight(bias.value)).reshape(-1).tolist())


def test_how_the_data_is_cut_into_batches_does_not_matter() -> None:
    model, data = forward(), images(12)
    assert ranges_of(model, data) == ranges_of(model, data[:1], data[1:7], data[7:])


def test_observing_changes_nothing() -> None:
    model = forward()
    before, ops = model.weights(), len(model.program.global_block().ops)
    ranges_of(model, images())
    assert len(model.program.global_block().ops) == ops
    for name, array in model.weights().items():
        np.testing.assert_array_equal(array, before[name])


def test_no_batch_at_all_is_an_error() -> None:
    with pytest.raises(ObserverSawNothing, match="saw no value in 0"):
        ranges_of(forward())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["conv2d_0.w_0", "conv2d_0.b_0"])
def test_a_parameter_that_is_no_number_is_an_error_that_names_it(name: str, bad: float) -> None:
    model = forward()
    array = model.weight(name)
    array.reshape(-1)[1] = bad
    write_tensor(model.scope, name, array)
    with pytest.raises(ObserverSawNaN, match=f"'{name}' saw 1 values"):
        ranges_of(model, images())


def test_nan_that_arises_inside_the_model_is_an_error_that_names_the_site() -> None:
    model = forward(lambda image: paddle.nn.Linear(64, 4)(paddle.log(paddle.flatten(image, 1))))
    with pytest.raises(ObserverSawNaN, match=r"'log_0\.out' saw \d+ values"):
        ranges_of(model, images())


def edited(value: str, **changes: Any) -> QuantPlan:
    """The settled plan of the model with one site changed."""
    good = settled(forward())
    return replace(good, sites=tuple(replace(s, **changes) if s.id == value else s for s in good.sites))


IMAGE, WEIGHT = "image", "conv2d_0.w_0"
MISFITS: dict[str, tuple[Callable[[], QuantPlan], str]] = {
    "of another model": (lambda: settled(forward(transposed)), "the model has no such value"),
    "with a reader that is gone": (lambda: edited(IMAGE, readers=("conv2d_9",)), "no node conv2d_9 reads it"),
    "with a reader of another value": (lambda: edited(IMAGE, readers=("relu_0",)), "no node relu_0 reads it"),
    "without readers": (lambda: edited(IMAGE, readers=()), "names no node"),
    "with a weight that is none": (lambda: edited(IMAGE, is_weight=True), "it is no parameter"),
    "with an axis too many": (lambda: edited(WEIGHT, axis=4, affine=None), "has no axis 4"),
    "with an axis from the end": (lambda: edited(WEIGHT, axis=-1, affine=None), "has no axis -1"),
    "with too few scales": (
        lambda: edited(WEIGHT, affine=Affine((1.0,), (0,), INT8_NARROW, 0)),
        "1 scales for 4 channels",
    ),
    "with a bias that is gone": (
        lambda: replace(edited(IMAGE), biases=(Bias("b", "conv2d_0", IMAGE, WEIGHT),)),
        "no such parameter to be a bias",
    ),
    "that contradicts itself": (lambda: edited(IMAGE, like=IMAGE), "its own scale"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_plan_is_refused(name: str) -> None:
    make, says = MISFITS[name]
    drawn = make()
    with pytest.raises(PlanDoesNotFit, match=says):
        observe(forward(), drawn, [{"image": images()}])
