"""Rewrites of a model: what to look for, when to refuse, what to put there; checked after each pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, ClassVar

import numpy as np

from spokeshave.graph import GraphView, Match, Node, Step, check, match
from spokeshave.program.model import Model
from spokeshave.program.picture import COMBINE, PARAMETER, SLICE, SPLIT, operands_reading
from spokeshave.program.roles import has_backward
from spokeshave.registry import Shelf, made
from spokeshave.report import Cell, Reason, Report, Row
from spokeshave.seams import (
    DATA_OPS,
    Operation,
    Program,
    Value,
    back_at_end,
    building,
    erase,
    erase_tensors,
    has_tensor,
    insert_after,
    insert_before,
    is_absent,
    name_of,
    name_values,
    named_values,
    new_parameter,
    operand_names,
    read_tensor,
    static_mode,
    taken_apart_on_failure,
    view_tensor,
    write_rows,
    write_tensor,
)

LAYER = "struct_name"


def _anything(name: str) -> bool:
    return True


# How much of a weight is worked on at a time.
PART_BYTES = 1 << 16


@dataclass(frozen=True)
class Found:
    """A place that a pass found, with the view it was found in and what was learned of it (`facts`).

    `holds` tells whether the model has the numbers of a parameter.
    """

    view: GraphView
    match: Match
    facts: Mapping[str, Any] = field(default_factory=dict)
    holds: Callable[[str], bool] = _anything

    @staticmethod
    def at(view: GraphView, node: Node, **facts: Any) -> Found:
        """A place that is a single node."""
        return Found(view, Match((("node", node),)), facts)

    @property
    def node(self) -> Node:
        """The node by which the place is named: the last of its match."""
        return self.match.last

    def declined(self, code: str, node: Node, text: str) -> Reason:
        """Why this place is left as it is."""
        return Reason(code, text, node.id)


@dataclass(frozen=True)
class PassResult:
    """A new model, the places that were changed, and a reason for each that was not."""

    model: Model
    name: str
    changed: tuple[str, ...]
    declined: tuple[Reason, ...]

    def report(self) -> Report:
        """What the pass did, as a report."""
        counts: dict[str, Cell] = {
            "found": len(self.changed) + len(self.declined),
            "rewritten": len(self.changed),
        }
        facts = {f"{self.name} {word}": count for word, count in counts.items()} if counts["found"] else {}
        return Report(self.name, facts, tuple(Row(c, self.name) for c in self.changed), self.declined)


class Pass(ABC):
    """One rule of rewriting: where to look, a named refusal, and what to do there.

    Gives for nothing: a check of the graph after it, a list of what was changed and declined. In a program
    that has its gradients every place is declined: they would still be those of what stood there before.
    """

    name: ClassVar[str]

    @abstractmethod
    def places(self, view: GraphView) -> Iterable[Found]:
        """The places to look at, in the order in which they are changed; no other is touched."""

    @abstractmethod
    def check(self, found: Found) -> Reason | None:
        """Why this place must be left alone, or None."""

    @abstractmethod
    def apply(self, found: Found, editor: Editor) -> None:
        """Changes the place."""


class Rewrite(Pass):
    """A pass whose places are the chains of `steps`."""

    steps: ClassVar[tuple[Step, ...]]

    def places(self, view: GraphView) -> Iterable[Found]:
        return [Found(view, found) for found in match(view, self.steps)]


PASSES: Shelf[Pass] = Shelf("pass", "spokeshave.program.passes", made(Pass))


class Editor:
    """Changes a copy of a model. Ids are those of the view that the copy had at the start."""

    def __init__(self, model: Model) -> None:
        self._model = model.copy()
        self._picture = self._model.picture
        self._outputs = dict(self._model.fetches)
        ops = self._model.program.global_block().ops
        shown = {value.id for value in self._outputs.values()}
        self._unread = {op.id() for op in ops if _is_dead(op, shown)}
        # What every reader was given in place of a value, by its id, with the name of that value.
        self._heirs: dict[str, tuple[Value, str]] = {}
        self._is_open = False

    @property
    def view(self) -> GraphView:
        """The view before any change."""
        return self._picture.view

    @property
    def program(self) -> Program:
        """The program under edit."""
        return self._model.program

    def value(self, value_id: str) -> Value:
        """The Paddle value behind an id."""
        return self._picture.values[value_id]

    def source(self, node: Node, operand: str) -> Value:
        """The Paddle value that a node reads at an operand as the program stands, edits included."""
        op, names = self.op(node), operand_names(self.op(node))
        name, _, place = operand.partition(".")
        source = op.operand_source(names.index(name))
        return source.get_defining_op().operand_source(int(place)) if place else source

    def find(self, *steps: Step) -> tuple[Match, ...]:
        """All chains of these steps in the view before any change."""
        return match(self.view, steps)

    def weight(self, name: str) -> np.ndarray:
        """A copy of a parameter of the edited model."""
        return read_tensor(self._model.scope, name)

    def set_weight(self, name: str, array: np.ndarray, readers: Sequence[Node] | None = None) -> None:
        """Gives the readers of a parameter, all or those given, other numbers of the same shape and type.

        In a scope of the user's own the parameter stays as it is, as it may be in training, and so it does
        where it has other readers: a new one is read in its place.
        """
        is_partial = readers is not None and len(readers) < len(self.view.readers(name))
        if self._model.borrows or is_partial:
            self.rewire(name, self.parameter(f"{name}.frozen", array), readers)
        else:
            write_tensor(self._model.scope, name, array)

    def scale_weight(self, name: str, factors: np.ndarray) -> None:
        """Multiplies a parameter by factors that broadcast to its shape, in their precision.

        Some rows at a time, so that there is no second array of the whole.
        """
        if self._model.borrows:
            numbers = self.weight(name)
            self.set_weight(name, (numbers * factors).astype(numbers.dtype))
            return
        numbers = view_tensor(self._model.scope, name)
        whole = np.broadcast_to(factors, numbers.shape)
        count = max(1, PART_BYTES * len(numbers) // max(1, numbers.nbytes))
        for start in range(0, len(numbers), count):
            rows = slice(start, start + count)
            write_rows(self._model.scope, name, start, (numbers[rows] * whole[rows]).astype(numbers.dtype))

    def holds(self, name: str) -> bool:
        """Whether the scope has a tensor of that name."""
        return has_tensor(self._model.scope, name)

    def parameter(self, name: str, array: np.ndarray, *, keep: bool = False) -> Value:
        """A new parameter with these numbers; with `keep`, those that the scope already has win.

        Where the program had one of that name before the edit, the new one gets a number behind its name.
        """
        if not keep:
            name = self._free(name)
        if not (keep and self.holds(name)):
            write_tensor(self._model.scope, name, array)
        with self._at_work():
            return new_parameter(name, array.shape, str(array.dtype))

    @contextmanager
    def building(self) -> Iterator[None]:
        """Many edits cost less inside, as what they build into is opened once for all."""
        with building(self.program):
            self._is_open = True
            try:
                yield
            finally:
                self._is_open = False

    def _at_work(self) -> AbstractContextManager[None]:
        return back_at_end(self.program) if self._is_open else building(self.program)

    def before(self, node: Node, build: Callable[[], Value], like: Node | None = None) -> Value:
        """What `build` makes, placed before a node, as a part of its layer or of that of `like`."""
        with self._at_work():
            insert_before(self._picture.ops[node.id])
            return _of_layer((like or node).scope, build())

    def after(self, value_id: str, build: Callable[[], Value]) -> Value:
        """What `build` makes, placed right after a value is made (first of all for inputs and parameters)."""
        value = self._picture.values[value_id]
        maker = self.view.maker(value_id)
        with self._at_work():
            insert_after(value.get_defining_op())
            return _of_layer(maker.scope if maker else "", build())

    def rewire(self, value_id: str, to: Value, readers: Sequence[Node] | None = None) -> None:
        """Makes nodes read `to` in place of a value: those given, or all and the model's outputs."""
        view = self._picture.view
        for node in view.readers(value_id) if readers is None else readers:
            for op, position in operands_reading(self._picture, node, value_id):
                op.operand(position).set_source(to)
        if readers is None:
            shown = {name for name, shown in view.outputs if shown == value_id}
            self._outputs.update(dict.fromkeys(shown & set(self._outputs), to))
            name = name_of(self.value(value_id))
            if name is not None:
                self._heirs[to.id] = to, name

    def show(self, name: str, value: Value) -> None:
        """Gives a value a name under which the model hands it out; another of that name gives way."""
        self._outputs[name] = value

    def op(self, node: Node) -> Operation:
        """The Paddle op behind a node."""
        return self._picture.ops[node.id]

    def gradients_of(self, node: Node) -> list[Operation]:
        """The gradient ops of a node: those of its kind that read what it reads."""
        op = self.op(node)
        sources = dict(zip(operand_names(op), op.operands_source()))
        name = f"{op.name().rstrip('_')}_grad"
        readers = [r for v in sources.values() if not is_absent(v) for r in v.all_used_ops()]
        unique = {r.id(): r for r in readers if r.name() == name}
        return [r for r in unique.values() if _shares_operands(r, sources)]

    def erase(self, node: Node) -> None:
        """Removes a node that nobody reads any more, with what gathers and takes apart vectors for it."""
        op = self._picture.ops[node.id]
        readers = [r for value in op.results() if not is_absent(value) for r in value.all_used_ops()]
        makers = [v.get_defining_op() for v in op.operands_source() if not is_absent(v)]
        for part in (*(r for r in readers if r.name() in (SPLIT, SLICE)), op):
            self._erase(part)
        for gather in {m.id(): m for m in makers if m.name() == COMBINE}.values():
            if gather.result(0).use_empty():
                self._erase(gather)

    def finish(self, after: str) -> Model:
        """The edited model, without what nobody reads since the edit began, its graph checked."""
        with taken_apart_on_failure(self._model.program):
            self._drop_unread()
            self._hand_names_on()
            fetches = tuple(self._outputs.items())
            model = Model(self._model.program, self._model.scope, fetches, self._model.borrows)
            check(model.view, after)
        return model

    def _erase(self, op: Operation) -> None:
        for value in op.results() if self._heirs else ():
            self._heirs.pop(value.id, None)
        erase(op)

    def _hand_names_on(self) -> None:
        """Gives the name of a value that is gone to what stands in its place."""
        if self._heirs:
            alive = named_values(self._model.program)
            name_values((heir, name) for heir, name in self._heirs.values() if name not in alive)

    def _free(self, name: str) -> str:
        taken = self._picture.view.values
        return next(n for n in chain((name,), (f"{name}.{i}" for i in count(1))) if n not in taken)

    def _drop_unread(self) -> None:
        """Erases ops that were read before the edit and are not any more; others may be fetched."""
        kept = {value.id for value in self._outputs.values()}
        dropped = []
        for op in reversed(list(self._model.program.global_block().ops)):
            if op.id() not in self._unread and _is_dead(op, kept):
                dropped += [op.attrs()["parameter_name"]] if op.name() == PARAMETER else []
                self._erase(op)
        if not self._model.borrows:
            erase_tensors(self._model.scope, dropped)


def _is_dead(op: Operation, kept: set[str]) -> bool:
    # Most ops are read: that is asked first, as a name takes longer.
    has_results = False
    for value in op.results():
        if not is_absent(value):
            if not value.use_empty() or value.id in kept:
                return False
            has_results = True
    # An op that ends in an underscore writes into an operand, read or not.
    return has_results and not op.name().endswith("_") and op.name() not in DATA_OPS


def _of_layer(scope: str, made: Value) -> Value:
    """Marks what was made as a part of the layer whose path this is."""
    op = made.get_defining_op()
    if scope and not op.has_attr(LAYER):
        op.set_str_attr(LAYER, scope)
    return made


def _shares_operands(gradient: Operation, sources: dict[str, Value]) -> bool:
    shared = [
        (sources[name], value)
        for name, value in zip(operand_names(gradient), gradient.operands_source())
        if name in sources and not is_absent(sources[name])
    ]
    return bool(shared) and all(not is_absent(v) and v.is_same(source) for source, v in shared)


def rewrite(model: Model, rule: Pass) -> PassResult:
    """Applies a rule wherever it fits: a new model, with what was changed and what was declined.

    Where it fits nowhere, the model that was given comes back.
    """
    places = [replace(place, holds=model.holds) for place in rule.places(model.view)]
    is_trained = bool(places) and has_backward(model.program)
    reasons = [_has_backward(place) if is_trained else rule.check(place) for place in places]
    fitting = [place for place, reason in zip(places, reasons) if reason is None]
    changed = tuple(place.node.id for place in fitting)
    declined = tuple(reason for reason in reasons if reason is not None)
    if not fitting:
        return PassResult(model, rule.name, changed, declined)
    with static_mode():  # entering it once is cheaper than once for each op
        editor = Editor(model)
        with taken_apart_on_failure(editor.program), editor.building():
            for place in fitting:
                rule.apply(place, editor)
        return PassResult(editor.finish(rule.name), rule.name, changed, declined)


def _has_backward(place: Found) -> Reason:
    text = "the program has its gradients, which would still be those of what stood here before"
    return place.declined("has-backward", place.node, text)
