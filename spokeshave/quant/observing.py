"""One pass of data through a model, all sites watched at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from spokeshave.errors.quant import PlanDoesNotFit
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
    ranges.update({b.value: _magnitudes(model.weight(b.value)) for b in plan.biases})
    watchers: dict[str, Observer] = {s.id: kind(s.id) for s in plan.activations}
    for feed in batches:
        for value, array in model.run(feed, list(watchers)).items():
            watchers[value].watch(array)
    ranges.update({value: (watcher.bound(),) for value, watcher in watchers.items()})
    return ranges


def check_fits(model: Model, plan: QuantPlan) -> None:
    """Refuses a plan whose values or readers are not those of the model."""
    view = model.view
    nodes = {node.id for node in view.nodes}
    for site in plan.sites:
        if site.value not in view.values:
            raise PlanDoesNotFit(site=site.id, found="the model has no such value")
        if site.is_weight and not view.is_parameter(site.value):
            raise PlanDoesNotFit(site=site.id, found="it is no parameter")
        missing = [reader for reader in site.readers if reader not in nodes]
        if missing:
            raise PlanDoesNotFit(site=site.id, found=f"the model has no node {missing[0]}")


def _magnitudes(bias: np.ndarray) -> tuple[float, ...]:
    return tuple(float(b) for b in np.abs(bias.reshape(-1)))


def _weight_range(model: Model, site: Site) -> tuple[float, ...]:
    return tuple(float(b) for b in np.atleast_1d(magnitude(model.weight(site.value), site.axis)))
