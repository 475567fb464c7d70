"""A trained model with quantizers into a float model and the plan that says what was learned."""

from __future__ import annotations

import numpy as np

from spokeshave.errors.quant import HasBackward, NotQuantized, ScaleNotStored, SiteNotTrained
from spokeshave.graph import GraphView, Node, Rounding, bias_roundings, roundings
from spokeshave.numerics import Affine, Grid, magnitude, symmetric
from spokeshave.ops import OPS
from spokeshave.program import Editor, Model
from spokeshave.program.roles import GRADIENT, training_ops
from spokeshave.quant.planning import biases_between, left_in_float
from spokeshave.quant.quantizers import QUANTIZERS
from spokeshave.quant.sites import QuantPlan, Site, nothing_but_zero
from spokeshave.report import Reason
from spokeshave.seams import Operation, Program, Value
from spokeshave.targets import TARGETS

# The engine that trained models are exported to; what it leaves in float is said.
ENGINE = "onnxruntime"


def freeze(model: Model) -> tuple[Model, QuantPlan]:
    """Takes the quantizers out of a trained test program: the float model as trained, and its settled plan.

    `apply` and `pack` of the two are the frozen forms. The scales are those that training stored; of weights
    whose quantizer stores none, those of the weights as they are. What the engine will run in float is said,
    with the reason.
    """
    refuse_backward(model.program, "freeze")
    # What leaves the model rounded is nobody's operand, and stays.
    found = [rounding for rounding in roundings(model.view) if model.view.readers(rounding.out)]
    biases = bias_roundings(model.view)
    if not found:
        raise NotQuantized()
    places = [_Place(model, rounding) for rounding in found]
    editor = Editor(model)
    handles = [_take_out(editor, rounding) for rounding in found]
    for bias in biases:
        _take_out(editor, bias)
    bare = editor.finish("freeze")
    settled = [place.settle(bare, *handle) for place, handle in zip(places, handles)]
    sites = tuple(site for site, _ in settled)
    rounded = {bias.value for bias in biases}
    between = tuple(b for b in biases_between(bare.view, sites) if b.value in rounded)
    reasons = (*(r for _, r in settled if r is not None), *left_in_float(bare.view, sites, TARGETS[ENGINE]))
    return bare, QuantPlan("trained", sites, between, reasons)


def refuse_backward(program: Program, verb: str) -> None:
    """Raises for a program that has its backward, in the name of a verb that wants one without."""
    training = [op.name() for op in training_ops(program)]
    if training:
        raise HasBackward(verb=verb, op=next((name for name in training if GRADIENT in name), training[0]))


class _Place:
    """A rounding of a trained model, and what was learned there."""

    def __init__(self, model: Model, rounding: Rounding) -> None:
        view = model.view
        self._reader = view.readers(rounding.out)[0]
        self._operand = next(o for o, v in self._reader.inputs if v == rounding.out)
        self._value = rounding.value
        self._is_weight = view.is_parameter(rounding.value)
        grid = _grid_of(view, rounding)
        self._axis = _axis_of(view, rounding, self._reader) if self._is_weight else None
        self._empty: tuple[int, ...] = ()
        if view.is_parameter(rounding.scale):
            self._affine = _learned(model, rounding, grid, self._axis)
        elif self._is_weight:
            bound = magnitude(model.weight(rounding.value), self._axis)
            self._affine, self._empty = symmetric(bound, grid, self._axis)
        else:
            raise ScaleNotStored(site=rounding.value)

    def settle(self, bare: Model, value: Value, readers: list[Operation]) -> tuple[Site, Reason | None]:
        """The site in the model without quantizers, whose ids may be others."""
        nodes = bare.picture.nodes_of(readers)
        value_id = bare.picture.id_of(value) or self._value
        site = Site(
            value_id,
            nodes[0],
            self._operand,
            self._affine.grid,
            nodes,
            self._is_weight,
            self._axis,
            affine=self._affine,
        )
        return site, nothing_but_zero(site, self._empty) if self._empty else None


def _take_out(editor: Editor, rounding: Rounding) -> tuple[Value, list[Operation]]:
    """Lets the readers of a rounded value read the value itself; gives it and them, who outlive the edit."""
    value = editor.value(rounding.value)
    readers = [editor.op(node) for node in editor.view.readers(rounding.out)]
    editor.rewire(rounding.out, value)
    return value, readers


def _learned(model: Model, rounding: Rounding, grid: Grid, axis: int | None) -> Affine:
    """The scale that training stored; refused where it never ran."""
    name = rounding.scale
    for quantizer in QUANTIZERS:
        steps = quantizer.steps_of(name)
        if steps and model.holds(steps) and not model.weight(steps).any():
            raise SiteNotTrained(site=rounding.value)
    scales = tuple(float(s) for s in np.ravel(model.weight(name)))
    return Affine(scales, (0,) * len(scales), grid, axis)


def _grid_of(view: GraphView, rounding: Rounding) -> Grid:
    low, high = (_constant(view, rounding.nodes["clip"].operand(bound)) for bound in ("min", "max"))
    is_signed = low < 0
    return Grid(int(high).bit_length() + is_signed, is_signed, is_signed and low == -high)


def _constant(view: GraphView, value: str | None) -> float:
    maker = view.maker(value) if value else None
    if maker is None or "value" not in maker.attrs:
        raise NotQuantized()
    return float(maker.attrs["value"])


def _axis_of(view: GraphView, rounding: Rounding, reader: Node) -> int | None:
    """The axis of a weight's scales: that of its output channels, where there is one scale for each."""
    if len(view.value(rounding.scale).shape) != len(view.value(rounding.value).shape):
        return None
    return OPS[reader.op].out_axis(reader.attrs)
