"""Quantizers into a program that is trained, or into the one that tests it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import paddle

from spokeshave.graph import Node
from spokeshave.program import Editor, Model
from spokeshave.program.roles import has_backward
from spokeshave.quant.kernels import rounded, straight_through
from spokeshave.quant.observing import check_fits
from spokeshave.quant.quantizers import QUANTIZERS, Quantizer, Scale
from spokeshave.quant.sites import QuantPlan, Site
from spokeshave.seams import Value


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
    under the same names.
    """
    check_fits(model, plan)
    editor = Editor(model)
    for site in plan.sites:
        quantizer = QUANTIZERS[weight if site.is_weight else activation]
        _quantize(editor, site, quantizer, is_training)
    return editor.finish("transform")


def _quantize(editor: Editor, site: Site, quantizer: Quantizer, is_training: bool) -> None:
    source = editor.value(site.value)
    # With a backward in place its ops are rewired; one that is still to be made must find its way.
    needs_gradient = is_training and not has_backward(editor.program)

    def remember(name: str, start: np.ndarray) -> Value:
        return editor.parameter(name, start, keep=True)

    def build() -> Value:
        make: Callable[..., Scale] = quantizer.training_scale if is_training else quantizer.test_scale
        scale = make(source, site, remember)
        for new, old in scale.updates:
            paddle.assign(new, output=old)
        value = rounded(source, scale.value, site.grid.low, site.grid.high)
        return straight_through(source, value) if needs_gradient else value

    first = editor.view.node(site.readers[0])
    value = editor.before(first, build)
    readers = [editor.view.node(reader) for reader in site.readers]
    _rewire_gradients(editor, site, readers, value)
    editor.rewire(site.value, value, readers)


def _rewire_gradients(editor: Editor, site: Site, readers: list[Node], value: Value) -> None:
    """Lets the gradient op of each reader read the rounded operand too.

    The gradient then passes the rounding unchanged, as no gradient op stands for it.
    """
    wanted = editor.value(site.value)
    for reader in readers:
        for op in editor.gradients_of(reader):
            for i, source in enumerate(op.operands_source()):
                if source.is_same(wanted):
                    op.operand(i).set_source(value)
