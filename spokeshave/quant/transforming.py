"""Quantizers into a program that is trained, or into the one that tests it."""

from __future__ import annotations

import numpy as np
import paddle

from spokeshave.errors.quant import PlanDoesNotFit, ScaleNotStored
from spokeshave.graph import Node, block_of
from spokeshave.program import Editor, Model
from spokeshave.program.roles import has_backward
from spokeshave.quant.kernels import rounded, rounded_bias, straight_through
from spokeshave.quant.naming import tensor_prefix
from spokeshave.quant.observing import check_fits
from spokeshave.quant.quantizers import QUANTIZERS, Quantizer, Remember
from spokeshave.quant.sites import Bias, QuantPlan, Site
from spokeshave.seams import Value, is_absent


def transform(
    model: Model,
    plan: QuantPlan,
    *,
    is_training: bool,
    weight: str = "abs-max",
    activation: str = "moving-average-abs-max",
) -> Model:
    """A model that computes with rounded values at every site, its scales learned in the scope it has.

    Works with the backward already there: what the gradient ops read of the rounded operands is rewired,
    which gives the numbers of a backward made afresh. A test program reads the scales that training stored
    under the same names. `weight` and `activation` name quantizers; that of the activations must be one that
    stores its scale, as nothing could be frozen otherwise.
    """
    check_fits(model, plan)
    for site in plan.activations:
        if not QUANTIZERS[activation].steps_of(site.id):
            raise ScaleNotStored(site=site.id)
    return _Transformer(model, is_training, weight, activation).transformed(plan)


class _Transformer:
    """Puts quantizers into a copy of a model."""

    def __init__(self, model: Model, is_training: bool, weight: str, activation: str) -> None:
        self._editor = Editor(model)
        self._is_training = is_training
        self._weight, self._activation = QUANTIZERS[weight], QUANTIZERS[activation]
        # With a backward in place its ops are rewired; one that is still to be made must find its way.
        self._needs_gradient = is_training and not has_backward(self._editor.program)
        self._scales: dict[str, Value] = {}

    def transformed(self, plan: QuantPlan) -> Model:
        for site in plan.sites:
            self._quantize(site)
        for bias in plan.biases:
            self._round_bias(bias)
        return self._editor.finish("transform")

    def _quantize(self, site: Site) -> None:
        source = self._editor.value(site.value)
        quantizer = self._weight if site.is_weight else self._activation

        def build() -> Value:
            self._scales[site.id] = scale = self._scale(quantizer, source, site)
            return self._passing(source, rounded(source, scale, site.grid.low, site.grid.high))

        value = self._editor.after(site.value, build)
        for reader in site.readers:
            self._let_read(self._editor.view.node(reader), site.value, value)

    def _round_bias(self, bias: Bias) -> None:
        """Rounds a bias where it is added: before that the scales of its steps may not be there."""
        view, source = self._editor.view, self._editor.value(bias.value)
        added = block_of(view, view.node(bias.node)).bias
        if added is None or added.parameter != bias.value:
            raise PlanDoesNotFit(site=bias.value, found=f"it is not the bias of {bias.node}")
        scales = self._scales[bias.input], self._scales[bias.weight]
        term = added.reshape.out if added.reshape else bias.value
        shape = view.value(term).shape

        def build() -> Value:
            value = self._passing(source, rounded_bias(source, *scales))
            return paddle.reshape(value, shape) if added.reshape else value

        self._let_read(added.add, term, self._editor.before(added.add, build))

    def _scale(self, quantizer: Quantizer, source: Value, site: Site) -> Value:
        make = quantizer.training_scale if self._is_training else quantizer.test_scale
        scale = make(source, site, self._memory_of(site))
        for new, old in scale.updates:
            paddle.assign(new, output=old)
        return scale.value

    def _memory_of(self, site: Site) -> Remember:
        prefix = tensor_prefix(self._editor.view, site)

        def remember(name: str, start: np.ndarray) -> Value:
            return self._editor.parameter(f"{prefix}.{name}", start, keep=True)

        return remember

    def _passing(self, source: Value, value: Value) -> Value:
        return straight_through(source, value) if self._needs_gradient else value

    def _let_read(self, reader: Node, value_id: str, value: Value) -> None:
        """Lets a node and its gradient op read a rounded operand in place of a value.

        The gradient then passes the rounding unchanged, as no gradient op stands for it.
        """
        wanted = self._editor.value(value_id)
        for op in self._editor.gradients_of(reader):
            for i, source in enumerate(op.operands_source()):
                if not is_absent(source) and source.is_same(wanted):
                    op.operand(i).set_source(value)
        self._editor.rewire(value_id, value, [reader])
