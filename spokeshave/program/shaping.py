"""The view of a model for inputs of given shapes, every length known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import paddle

from spokeshave.errors.engines import InputUnknown
from spokeshave.errors.rewriting import InputShapeMissing, InputShapeWrong
from spokeshave.graph import GraphView
from spokeshave.graph.feeding import Array, InputSpec
from spokeshave.graph.view import Value as ViewValue
from spokeshave.program.model import Model
from spokeshave.program.roles import training_ops
from spokeshave.registry import nearest
from spokeshave.seams import (
    Scope,
    Value,
    building,
    erase,
    insert_after,
    set_shape,
    set_test_mode,
    write_tensor,
)

Shapes = Mapping[str, Sequence[int]]


def shaped(model: Model, shapes: Shapes) -> GraphView:
    """The view of a model with the lengths that its values have when its inputs have these shapes.

    An input whose shape the model fixes need not be named; one that is may get other lengths, as many. The
    model runs once, on zeros, in test mode and on copies, and tells the shape of every value; so the cost
    of a net whose lengths all hang on its inputs is exact. What hangs on the numbers themselves, such as
    how many boxes a detector finds, is as zeros have it; what stands inside branches and loops keeps what
    it had.

    >>> view = shaped(model, {"image": (1, 3, 640, 640)})          # doctest: +SKIP
    >>> graph.cost(view).macs                                      # doctest: +SKIP
    """
    feed = _zeros(model.inputs, shapes)
    program, mapping = model.cloned_program()
    asked = _asked(model.view)
    with building(program):
        for op in reversed(training_ops(program)):
            erase(op)
        set_test_mode(program)
        for name, array in feed.items():
            set_shape(mapping.look_up(model.picture.values[name]), array.shape)
        targets = {i: _shape_of(mapping.look_up(model.picture.values[i])) for i in asked}
    found = Model(program, _scratch(model), tuple(targets.items())).run(feed)
    inner = {i: tuple(map(int, shape)) for i, shape in found.items()}
    return _with_shapes(model.view, {**inner, **{name: array.shape for name, array in feed.items()}})


def _zeros(inputs: Sequence[ViewValue], shapes: Shapes) -> dict[str, Array]:
    """Zeros for every input, in the shape given or the one that the model fixes."""
    known = tuple(value.id for value in inputs)
    for name in shapes:
        if name not in known:
            raise InputUnknown(input=name, nearest=nearest(name, known))
    return {value.id: _zeros_for(value, shapes.get(value.id)) for value in inputs}


def _zeros_for(value: ViewValue, shape: Sequence[int] | None) -> Array:
    spec = InputSpec.of(value)
    if shape is None and -1 in value.shape:
        raise InputShapeMissing(input=value.id, wanted=str(spec))
    given = tuple(value.shape if shape is None else shape)
    if len(given) != len(spec.shape) or not all(map(_is_length, given)):
        raise InputShapeWrong(input=value.id, wanted=str(spec), given=list(given))
    return np.zeros(given, spec.dtype)


def _is_length(n: object) -> bool:
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool) and bool(n > 0)


def _asked(view: GraphView) -> tuple[str, ...]:
    """The values to ask: all that are read or shown, and the first result of each op.

    Others may not be there when the program runs, such as what a batch norm keeps for its gradient.
    """
    firsts = {node.out for node in view.nodes if node.outputs}
    shown = {value for _, value in view.outputs}
    values = (v for v in view.values.values() if v.maker is not None)
    return tuple(v.id for v in values if v.readers or v.id in firsts or v.id in shown)


def _shape_of(value: Value) -> Value:
    insert_after(value.get_defining_op())
    return paddle.shape(value)


def _scratch(model: Model) -> Scope:
    """A scope with copies of the numbers, so that whatever a run writes is written there."""
    scope = paddle.static.Scope()
    for value in model.view.parameters:
        array = model.weight(value.id) if model.holds(value.id) else _absent(value)
        write_tensor(scope, value.id, array)
    return scope


def _absent(value: ViewValue) -> Array:
    return np.zeros([max(n, 1) for n in value.shape], InputSpec.of(value).dtype)


def _with_shapes(view: GraphView, shapes: Mapping[str, tuple[int, ...]]) -> GraphView:
    values = {i: replace(v, shape=shapes[i]) if i in shapes else v for i, v in view.values.items()}
    return replace(view, values=values)
