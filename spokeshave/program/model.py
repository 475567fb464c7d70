"""`Model`: a Paddle program with the scope it lives in, what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import paddle

from spokeshave.errors.program import FetchUnknown, TensorMissing
from spokeshave.graph import GraphView
from spokeshave.graph.feeding import InputSpec, check_feed
from spokeshave.graph.view import Value as ViewValue
from spokeshave.ops.effects import is_drawing
from spokeshave.program.picture import Picture, take_picture
from spokeshave.program.run_refused import run_refused
from spokeshave.registry import nearest
from spokeshave.seams import (
    REFUSALS,
    Operation,
    Program,
    Scope,
    Value,
    clone,
    descended,
    has_tensor,
    in_program_order,
    named_values,
    persistable_values,
    plain_clone,
    read_tensor,
    static_mode,
    view_tensor,
    write_tensor,
)


@dataclass(frozen=True, eq=False)
class Model:
    """A model that verbs take and return; the only holder of Paddle objects.

    It owns its scope, or borrows the user's (`borrows`): then verbs write new tensors into that scope,
    so that a training and a test program share them. No verb changes a model that it was given.

    A model as Paddle 2 saved it `takes_other_sizes` than its file declares, as Paddle 2 never compared them:
    it may be run on what has as many axes. Once it is rewritten, the declared sizes hold.

    >>> model = spokeshave.load("lenet")                      # doctest: +SKIP
    >>> model.run({"image": np.zeros((1, 1, 28, 28), "float32")})  # doctest: +SKIP
    """

    program: Program
    scope: Scope
    fetches: tuple[tuple[str, Value], ...] = ()
    borrows: bool = False
    takes_other_sizes: bool = False
    _executors: list[paddle.static.Executor] = field(default_factory=list, repr=False)

    @staticmethod
    def of(program: Program, outputs: Mapping[str, Value], scope: Scope | None = None) -> Model:
        """A model around a program of the user's own, in the scope it lives in (the global one unless given).

        `outputs` gives names to values of the program, or of the program that it was made from.
        """
        fetches = tuple((name, descended(value, program)) for name, value in outputs.items())
        return Model(program, scope or paddle.static.global_scope(), fetches, borrows=True)

    @cached_property
    def picture(self) -> Picture:
        """The view, with the Paddle object behind each id."""
        return take_picture(self.program, self.fetches)

    @property
    def view(self) -> GraphView:
        """The frozen picture of the forward part of the program."""
        return self.picture.view

    @property
    def inputs(self) -> tuple[ViewValue, ...]:
        """What the model takes: names, shapes, types."""
        return tuple(self.view.value(name) for name in self.view.inputs)

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        """What each input takes when the model is run."""
        specs = (InputSpec.of(value) for value in self.inputs)
        return tuple(spec.open() if self.takes_other_sizes else spec for spec in specs)

    @cached_property
    def parameters(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and type of every parameter that the program declares and a scope keeps, by name."""
        values = self.picture.values
        return {p.id: (p.shape, p.dtype) for p in self.view.parameters if values[p.id].persistable}

    def weight(self, name: str) -> np.ndarray:
        """A copy of one parameter."""
        return read_tensor(self.scope, name)

    def holds(self, name: str) -> bool:
        """Whether the scope has a tensor of that name."""
        return has_tensor(self.scope, name)

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of all parameters, by name."""
        return {name: self.weight(name) for name in self.parameters}

    def run(
        self, feed: Mapping[str, np.ndarray], values: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Runs the model once; `values` are names of outputs or ids of inner values, by default all outputs.

        The feed is checked before Paddle sees it: every input by its name, in its type and shape.
        """
        check_feed(self.input_specs, feed)
        names = [name for name, _ in self.view.outputs] if values is None else list(values)
        targets = [self.target(name) for name in dict.fromkeys(names)]
        self._prepare_scope()
        with static_mode(), paddle.static.scope_guard(self.scope), self.order():
            try:
                results = self._executor.run(self.program, feed=dict(feed), fetch_list=targets)
            except REFUSALS as error:
                raise run_refused(self.view, error) from error
        return dict(zip(dict.fromkeys(names), map(np.asarray, results)))

    def order(self) -> AbstractContextManager[None]:
        """What a run happens in: ops in order where several draw at random, any order where none minds."""
        return in_program_order() if self._draws_again else nullcontext()

    @cached_property
    def _draws_again(self) -> bool:
        return sum(is_drawing(node.op, node.attrs) for node in self.view.nodes) > 1

    def cloned_program(self) -> tuple[Program, Any]:
        """A copy of the program, and the map whose `look_up` gives each of its values in the copy.

        Values of a program of the user's own are found in the copy by what they are; of others, by name.
        """
        return clone(self.program) if self.borrows else plain_clone(self.program)

    def copy(self) -> Model:
        """A model of its own with the same program and numbers; a borrowed scope stays borrowed."""
        program, mapping = self.cloned_program()
        fetches = tuple((name, mapping.look_up(value)) for name, value in self.fetches)
        scope = self.scope if self.borrows else self._copied_scope()
        copied = replace(self, program=program, scope=scope, fetches=fetches, _executors=[])
        # A picture of the copy is the picture of this model with other objects behind it.
        copied.__dict__["picture"] = self.picture.translated(mapping.look_up)
        return copied

    def owned(self) -> Model:
        """The same program with its numbers copied into a scope of its own."""
        return replace(self, scope=self._copied_scope(), borrows=False, _executors=[])

    def _copied_scope(self) -> Scope:
        """All that the program keeps, what an optimizer remembers included as far as it is there."""
        scope = paddle.static.Scope()
        for name in persistable_values(self.program):
            if name in self.parameters or self.holds(name):
                write_tensor(scope, name, view_tensor(self.scope, name))
        return scope

    def op(self, node_id: str) -> Operation:
        """The Paddle op behind a node."""
        self.view.node(node_id)
        return self.picture.ops[node_id]

    @property
    def _executor(self) -> paddle.static.Executor:
        # An Executor per model: it caches what it compiled by program, and goes when the model goes.
        if not self._executors:
            with static_mode():
                self._executors.append(paddle.static.Executor(paddle.CPUPlace()))
        return self._executors[0]

    def target(self, name: str) -> Value:
        """The Paddle value behind the name of an output, the id of a value, or a name that it was given.

        Values of a model of Paddle 2 or fluid have the names that they had there.
        """
        value_id = dict(self.view.outputs).get(name, name)
        if value_id in self.picture.values:
            return self.picture.values[value_id]
        named = named_values(self.program)
        if name not in named:
            known = [n for n, _ in self.view.outputs] + list(self.picture.values) + list(named)
            raise FetchUnknown(name=name, nearest=nearest(name, known))
        return named[name]

    def _prepare_scope(self) -> None:
        """Every parameter is in the scope: Paddle would end the process where one is missing."""
        for parameter in self.view.parameters:
            if has_tensor(self.scope, parameter.id):
                continue
            if parameter.id in self.parameters:
                raise TensorMissing(name=parameter.id)
            # State that a run makes anew; Paddle drops it after each.
            write_tensor(self.scope, parameter.id, np.zeros(parameter.shape, parameter.dtype))
