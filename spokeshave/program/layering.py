"""A `Model` back as a layer that trains in dynamic mode."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import paddle
from paddle.utils import unique_name

from spokeshave.errors.capturing import CannotRunHere, InputsTooMany, NotDifferentiable, NothingToCompute
from spokeshave.errors.engines import InputMissing, InputUnknown
from spokeshave.program.forms import for_inference, for_training
from spokeshave.program.model import Model
from spokeshave.program.run_refused import run_refused
from spokeshave.registry import nearest
from spokeshave.seams import (
    REFUSALS,
    Value,
    callable_program,
    copy_ops,
    dtype_name,
    input_ops,
    is_tracing,
    is_trainable,
    let_gradients_pass,
    persistable_values,
    with_arguments,
    write_tensor,
)

Tensor = Any


def as_layer(model: Model) -> ProgramLayer:
    """A layer that computes what a model computes, with a copy of its numbers, and trains.

    In `train()` batch norms work with the statistics of the batch and move their own, dropout drops, and
    gradients reach every trainable parameter and the inputs; in `eval()` it is the model in test mode. What
    trains a static program, its backward and its optimizer, is left behind.
    """
    return ProgramLayer(model)


class ProgramLayer(paddle.nn.Layer):  # type: ignore[misc]
    """A program as a `paddle.nn.Layer`. Inputs come in the order of the program, or by name.

    Gives a tensor, or a tuple where the model has several outputs. As attributes, and in `state_dict`, its
    parameters have the names that they have in the program, with underscores for dots. What is frozen there
    is a buffer here. `model()` is the way back.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        if not model.view.outputs:
            raise NothingToCompute()
        forms = {True: for_training(model), False: for_inference(model)}
        self._tensors = self._take_parameters(model, forms[True])
        # Programs alone: their numbers are in the tensors.
        nothing = paddle.static.Scope()
        self._forms = {mode: replace(f, scope=nothing, borrows=False) for mode, f in forms.items()}
        self._names = self._forms[True].view.inputs
        self._calls: dict[tuple[bool, bool], Callable[..., Any]] = {}
        # With arguments that `paddle.jit.save` finds.
        arguments = [_identifier(name) for name in self._names]
        self.__dict__["forward"] = with_arguments(ProgramLayer.forward, self, arguments)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        """The outputs for these inputs."""
        given = self._given(inputs, named)
        if is_tracing():
            found = self._traced(given)
        elif paddle.in_dynamic_mode():
            found = self._computed([given[name] for name in self._names])
        else:
            raise CannotRunHere()
        return found[0] if len(found) == 1 else tuple(found)

    def model(self, *, training: bool | None = None) -> Model:
        """The program with the numbers as they are, in training or test form; by default as the mode is."""
        form = self._forms[self.training if training is None else training]
        program, mapping = form.cloned_program()
        fetches = tuple((name, mapping.look_up(value)) for name, value in form.fetches)
        scope = paddle.static.Scope()
        for name in form.parameters:
            write_tensor(scope, name, np.asarray(self._tensors[name].numpy()))
        return replace(form, program=program, fetches=fetches, scope=scope)

    def __deepcopy__(self, memo: dict[int, Any]) -> ProgramLayer:
        """A layer of its own with the same numbers."""
        twin = ProgramLayer(self.model(training=True))
        twin.training = self.training
        memo[id(self)] = twin
        return twin

    def _take_parameters(self, model: Model, form: Model) -> dict[str, Tensor]:
        """A tensor for each parameter of a form of the model, known to the layer as parameter or buffer."""
        tensors: dict[str, Tensor] = {}
        for name, value in persistable_values(form.program).items():
            tensor = _tensor(model, name, value)
            tensors[name] = tensor
            attribute = _attribute(name, self)
            add = self.register_buffer if tensor.stop_gradient else self.add_parameter
            add(attribute, tensor)
        return tensors

    def _given(self, inputs: tuple[Tensor, ...], named: Mapping[str, Tensor]) -> dict[str, Tensor]:
        given = {**dict(zip(self._names, inputs)), **named}
        if len(given) < len(inputs) + len(named):
            raise InputsTooMany(wanted=", ".join(self._names) or "none", given=len(inputs) + len(named))
        for name in given:
            if name not in self._names:
                raise InputUnknown(input=name, nearest=nearest(name, list(self._names)))
        for name in self._names:
            if name not in given:
                wanted = str(self._forms[True].view.value(name).shape)
                raise InputMissing(input=name, wanted=wanted, given=", ".join(given) or "none")
        return given

    def _computed(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        with self._forms[bool(self.training)].order():
            call = self._call()
            try:
                found = call(inputs)
            except REFUSALS as error:
                raise run_refused(self._forms[bool(self.training)].view, error) from error
        parts = list(found) if isinstance(found, (list, tuple)) else [found]
        if not paddle.is_grad_enabled():
            for part in parts:  # Paddle does not say so itself
                part.stop_gradient = True
        return parts

    def _call(self) -> Callable[..., Any]:
        """The program of the present mode as a function, one for each of what it is called for."""
        key = bool(self.training), paddle.is_grad_enabled()
        if key not in self._calls:
            self._calls[key] = self._made(*key)
        return self._calls[key]

    def _made(self, mode: bool, wants_gradients: bool) -> Callable[..., Any]:
        try:
            return self._made_for(mode, wants_gradients=wants_gradients)
        except NotDifferentiable as error:
            if mode:
                raise
            warnings.warn(f"{error} Outputs have no gradients.", stacklevel=2)
            return self._made_for(mode, wants_gradients=False)

    def _made_for(self, mode: bool, *, wants_gradients: bool) -> Callable[..., Any]:
        form = self._forms[mode]
        program, mapping = form.cloned_program()
        inputs = input_ops(program)
        let_gradients_pass(program)
        kept = persistable_values(program)
        return callable_program(
            program,
            [inputs[name] for name in self._names],
            [mapping.look_up(value) for _, value in form.fetches],
            [(self._tensors[name], value) for name, value in kept.items()],
            wants_gradients=wants_gradients,
        )

    def _traced(self, given: Mapping[str, Tensor]) -> list[Value]:
        form = self._forms[bool(self.training)]
        return copy_ops(form.program, given, self._tensors, [value for _, value in form.fetches])


def _tensor(model: Model, name: str, value: Value) -> Tensor:
    """A parameter where an optimizer may change it, else a buffer, with the numbers of the model."""
    # State that a run makes anew is in no file, and may have another shape than the program says.
    numbers = model.weight(name) if model.holds(name) else np.zeros(tuple(value.shape), dtype_name(value))
    shape, dtype = list(numbers.shape), dtype_name(value)
    # Optimizers tell tensors apart by name, and other layers make up names such as this one.
    own_name = unique_name.generate(name)
    if is_trainable(value):
        tensor = paddle.create_parameter(shape, dtype, name=own_name)
    else:
        tensor = paddle.zeros(shape, dtype)
        tensor.name, tensor.persistable = own_name, True
    tensor.set_value(numbers)
    return tensor


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def _attribute(name: str, layer: Any) -> str:
    """A name that an attribute may have, and that the layer does not have yet."""
    plain = _identifier(name)
    attribute, count = plain, 0
    while hasattr(layer, attribute):
        count += 1
        attribute = f"{plain}_{count}"
    return attribute
