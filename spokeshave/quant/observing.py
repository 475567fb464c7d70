"""One pass of data through a model, all sites watched at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from spokeshave.errors.quant import ObserverSawNaN, PlanDoesNotFit
from spokeshave.graph import GraphView
from spokeshave.numerics import magnitude
from spokeshave.program import Model
from spokeshave.quant.observers import OBSERVERS, Observer
from spokeshave.quant.sites import QuantPlan, Ranges, Site


def observe(
    model: Model,
    plan: QuantPlan,
    batches: Iterable[Mapping[str, np.ndarray]],
    observer: str = "abs-max",
) -> Ranges:
    """The range of every site: weights from the model, activations from one pass over the data.

    Memory is that of one batch and its activations; no value is kept.
    """
    check_fits(model, plan)
    kind = OBSERVERS[observer]
    ranges: dict[str, tuple[float, ...]] = {s.id: _weight_range(model, s) for s in plan.weights}
    ranges.update({b.value: _magnitudes(_finite(model, b.value)) for b in plan.biases})
    watchers: dict[str, Observer] = {s.id: kind(s.id) for s in plan.activations}
    for feed in batches:
        for value, array in model.run(feed, list(watchers)).items():
            watchers[value].watch(array)
    ranges.update({value: (watcher.bound(),) for value, watcher in watchers.items()})
    return ranges


def check_fits(model: Model, plan: QuantPlan) -> None:
    """Refuses a plan that contradicts itself, or whose values or readers are not those of the model."""
    plan.check()
    view = model.view
    for site in plan.sites:
        _check_site(view, site)
    for bias in plan.biases:
        if not _is_parameter(view, bias.value):
            raise PlanDoesNotFit(site=bias.value, found="the model has no such parameter to be a bias")


def _check_site(view: GraphView, site: Site) -> None:
    if site.value not in view.values:
        raise PlanDoesNotFit(site=site.id, found="the model has no such value")
    readers = {node.id for node in view.readers(site.value)}
    missing = [reader for reader in site.readers if reader not in readers]
    if missing or not site.readers:
        who = f"no node {missing[0]} reads it" if missing else "the plan names no node that reads it"
        raise PlanDoesNotFit(site=site.id, found=who)
    if site.is_weight:
        _check_weight(view, site)


def _check_weight(view: GraphView, site: Site) -> None:
    if not view.is_parameter(site.value):
        raise PlanDoesNotFit(site=site.id, found="it is no parameter")
    shape, axis = view.value(site.value).shape, site.axis
    if axis is not None and not 0 <= axis < len(shape):
        raise PlanDoesNotFit(site=site.id, found=f"a weight of shape {list(shape)} has no axis {axis}")
    if axis is not None and site.affine is not None and len(site.affine.scale) != shape[axis]:
        scales = len(site.affine.scale)
        raise PlanDoesNotFit(site=site.id, found=f"{scales} scales for {shape[axis]} channels")


def _is_parameter(view: GraphView, value: str) -> bool:
    return value in view.values and view.is_parameter(value)


def _magnitudes(bias: np.ndarray) -> tuple[float, ...]:
    return tuple(float(b) for b in np.abs(bias.reshape(-1)))


def _weight_range(model: Model, site: Site) -> tuple[float, ...]:
    return tuple(float(b) for b in np.atleast_1d(magnitude(_finite(model, site.value), site.axis)))


def _finite(model: Model, parameter: str) -> np.ndarray:
    # A ReLU may turn NaN into zero, so that no activation would tell of it.
    array = model.weight(parameter)
    count = int(np.count_nonzero(~np.isfinite(array)))
    if count:
        raise ObserverSawNaN(site=parameter, count=count)
    return array
