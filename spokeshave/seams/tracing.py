"""Layers into programs and programs into what a layer calls, by the machinery behind `paddle.jit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any

import paddle
from paddle import pir
from paddle.base.dygraph.base import in_to_static_mode
from paddle.jit.dy2static.parameter_recorder import _global_parameter_recorder
from paddle.jit.dy2static.pir_partial_program import PartialProgramLayer

from spokeshave.errors.capturing import NotDifferentiable
from spokeshave.seams.handles import Operation, Program, Value
from spokeshave.seams.modes import building
from spokeshave.seams.programs import stop_gradients_at_set_values
from spokeshave.seams.storage import REFUSALS, words_of

# Where the numbers of a parameter lie in dynamic mode.
Tensor = Any


@dataclass(frozen=True)
class Traced:
    """What a layer computes, as a program, with the tensor behind each of its parameters.

    `outputs` is nested as what `forward` gives; what is no tensor in it stands as it is.
    """

    program: Program
    outputs: Any
    parameters: tuple[tuple[Tensor, Value], ...]


def trace(layer: Any, specs: Sequence[Any]) -> Traced:
    """Traces a layer in the modes that its sublayers are in; hooks of the layer itself take part.

    The layer stays as it is: the method is traced, not the layer, which `paddle.jit.to_static` would change.
    """
    forward = _own_forward(layer, len(specs))
    function = paddle.jit.to_static(forward, input_spec=list(specs), full_graph=True)
    found = function.concrete_program_specify_input_spec(input_spec=None, with_hook=True)
    tensors, values = found.parameters
    outputs = found.outputs
    # Paddle puts a lone output into a list of its own, whatever `forward` gave.
    is_wrapped = isinstance(outputs, list) and len(outputs) == 1
    return Traced(found.main_program, outputs[0] if is_wrapped else outputs, tuple(zip(tensors, values)))


def leaves(nested: Any) -> list[Any]:
    """The items of nested containers, in Paddle's order."""
    return list(paddle.utils.flatten(nested))


def is_value(item: Any) -> bool:
    """Whether something is a value of a program."""
    return isinstance(item, pir.Value)


def is_tracing() -> bool:
    """Whether a layer is being traced, so that tensors stand for parameters."""
    return bool(in_to_static_mode())


def callable_program(
    program: Program,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    parameters: Sequence[tuple[Tensor, Value]],
    *,
    wants_gradients: bool,
) -> Callable[[Sequence[Tensor]], Any]:
    """A program as a function of tensors, which reads and updates the tensors of its parameters.

    The program, with batch norm and dropout in the mode they are in, belongs to the function from then on.
    """
    if wants_gradients:
        with building(program):
            stop_gradients_at_set_values(program)
    tensors, values = [t for t, _ in parameters], [v for _, v in parameters]
    layer = PartialProgramLayer(program, list(inputs), list(outputs), (tensors, values))
    layer.training = wants_gradients
    if wants_gradients:
        _differentiate(layer)
    call: Callable[[Sequence[Tensor]], Any] = layer
    return call


def _differentiate(layer: Any) -> None:
    """Lets Paddle build the backward, which it does at the first call otherwise."""
    try:
        _ = layer.train_program
    except (*REFUSALS, AssertionError, NotImplementedError) as error:
        raise NotDifferentiable(detail=words_of(error).rstrip(".")) from error


def copy_ops(
    program: Program,
    given: Mapping[str, Value],
    parameters: Mapping[str, Tensor],
    outputs: Sequence[Value],
) -> list[Value]:
    """Puts the ops of a program into the one being traced; gives what its outputs are there.

    `given` are values for its inputs, `parameters` tensors for its parameters, by name.
    """
    mapping, target = pir.IrMapping(), paddle.static.default_main_program()
    for op in program.global_block().ops:
        known = _known(op, target, given, parameters)
        if known is None:
            op.clone(mapping, pir.CloneOptions(True, True, True))
        else:
            mapping.add(op.result(0), known)
    return [mapping.look_up(value) for value in outputs]


def _known(
    op: Operation, target: Program, given: Mapping[str, Value], parameters: Mapping[str, Tensor]
) -> Value | None:
    if op.name() == "builtin.parameter":
        return _global_parameter_recorder.get(target, parameters[op.str_attr("parameter_name")])
    if op.name() == "pd_op.data":
        name = op.attrs()["name"]
        return given[name] if name in given else _global_parameter_recorder.get(target, parameters[name])
    return None


def with_arguments(written: Any, layer: Any, names: Sequence[str]) -> Any:
    """A method of a layer with these arguments, for one that takes whatever comes: Paddle looks them up."""

    def forward(self: Any, *inputs: Any, **named: Any) -> Any:
        return written(self, *inputs, **named)

    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = [inspect.Parameter(name, plain) for name in ("self", *names)]
    forward.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return MethodType(forward, layer)


def written_forward(layer: Any) -> Any:
    """The function as it was written: `to_static` may have put another into the layer or its class."""
    forward = layer.forward
    written = getattr(forward, "dygraph_function", forward)
    return getattr(written, "__func__", written)


def _own_forward(layer: Any, count: int) -> Any:
    written = written_forward(layer)
    first, *others = inspect.signature(written).parameters.values()
    if first.name == "self" and all(p.kind is not p.VAR_POSITIONAL for p in others):
        return MethodType(written, layer)
    # Paddle knows the layer only as `self`, and no `*inputs`.
    names = [p.name for p in others if p.kind is p.POSITIONAL_OR_KEYWORD]
    return with_arguments(written, layer, [*names, *(f"x{i}" for i in range(len(names), count))])


@contextmanager
def modes_kept(layer: Any) -> Iterator[None]:
    """Each sublayer is in its own mode again outside, whatever is set inside."""
    modes = [(part, part.training) for part in layer.sublayers(include_self=True)]
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
