"""A settled plan into a model: the frozen program, and the one that stores its weights as int8."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import paddle

from spokeshave.errors.quant import PlanDoesNotFit
from spokeshave.graph import Node
from spokeshave.numerics import Affine, encode, snap
from spokeshave.program import Editor, Model
from spokeshave.quant.kernels import rounded
from spokeshave.quant.naming import tensor_prefix
from spokeshave.quant.observing import check_fits
from spokeshave.quant.sites import QuantPlan, Site
from spokeshave.seams import Value


def apply(model: Model, plan: QuantPlan) -> Model:
    """The frozen model: weights and biases on their grids as float32, a rounding at every activation site.

    What it computes is the reference for every other form of the quantized model. Where the model borrows the
    user's scope, all that it reads lies there under names of its own, which the next `apply` writes anew.
    """
    return _frozen(model, plan, _snap_weight)


def pack(model: Model, plan: QuantPlan) -> Model:
    """The frozen model with its weights stored as int8, a quarter of the bytes; the same numbers come out."""
    return _frozen(model, plan, _pack_weight)


def _frozen(model: Model, plan: QuantPlan, store: Callable[[Editor, Site], None]) -> Model:
    _check_settled(model, plan)
    editor = Editor(model)
    for site in plan.weights:
        store(editor, site)
    for bias in plan.biases:
        editor.set_weight(bias.value, _rounded_bias(editor.weight(bias.value), plan.bias_steps(bias)))
    for site in plan.activations:
        _round_activation(editor, site, f"{tensor_prefix(editor.view, site)}{_mark(model)}")
    if model.borrows:
        _part_from_training(editor, plan)
    return editor.finish("freezing")


def _part_from_training(editor: Editor, plan: QuantPlan) -> None:
    """Gives the model copies of the other parameters in the user's scope, which training may change."""
    rounded_ones = {s.value for s in plan.weights} | {b.value for b in plan.biases}
    for value in editor.view.parameters:
        array = editor.weight(value.id) if value.readers and value.id not in rounded_ones else None
        if array is not None and str(array.dtype) == value.dtype:
            editor.set_weight(value.id, array)


def _mark(model: Model) -> str:
    """Tells the tensors of a frozen program from those that its training program keeps in the same scope."""
    return ".frozen" if model.borrows else ""


def _snap_weight(editor: Editor, site: Site) -> None:
    snapped = snap(editor.weight(site.value), affine_of(site))
    editor.set_weight(site.value, snapped, _readers_of(editor, site))


def affine_of(site: Site) -> Affine:
    """The scale of a site that has one."""
    if site.affine is None:
        raise PlanDoesNotFit(site=site.id, found="it has no scale yet; settle the plan with observed ranges")
    return site.affine


def _check_settled(model: Model, plan: QuantPlan) -> None:
    check_fits(model, plan)
    for site in plan.sites:
        affine_of(site)


def _round_activation(editor: Editor, site: Site, prefix: str) -> None:
    affine = affine_of(site)
    scale = editor.parameter(f"{prefix}.scale", np.array(affine.scale, np.float32))
    low, high = affine.grid.low - affine.zero[0], affine.grid.high - affine.zero[0]
    source = editor.value(site.value)
    value = editor.after(site.value, lambda: rounded(source, scale, low, high))
    editor.rewire(site.value, value, _readers_of(editor, site))


def _readers_of(editor: Editor, site: Site) -> list[Node]:
    """The nodes that get the rounded value; others go on with the value as it is."""
    return [editor.view.node(reader) for reader in site.readers]


def _rounded_bias(bias: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """A bias in whole steps, in float: the integers that an engine adds."""
    steps = np.broadcast_to(steps, (bias.size,)).reshape(bias.shape)
    return np.asarray(np.rint(bias / steps) * steps, np.float32)


def _pack_weight(editor: Editor, site: Site) -> None:
    affine = affine_of(site)
    array = editor.weight(site.value)
    codes = editor.parameter(f"{site.value}.int8", encode(array, affine))
    scale = editor.parameter(f"{site.value}.scale", _scale_array(affine, array.ndim))
    readers = _readers_of(editor, site)
    value = editor.before(readers[0], _unpacking(codes, scale))
    editor.rewire(site.value, value, readers)


def _scale_array(affine: Affine, rank: int) -> np.ndarray:
    """The scales in a shape that broadcasts along their axis."""
    shape = [-1 if i == affine.axis else 1 for i in range(rank)] if affine.axis is not None else [1]
    return np.array(affine.scale, np.float32).reshape(shape)


def _unpacking(codes: Value, scale: Value) -> Callable[[], Value]:
    return lambda: paddle.multiply(paddle.cast(codes, "float32"), scale)
