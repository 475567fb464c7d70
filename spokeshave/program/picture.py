"""Takes the picture of a program: the view, and which Paddle object each id stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from spokeshave.errors.program import FetchUnknown
from spokeshave.graph import GraphView, Node, ViewBuilder
from spokeshave.program.roles import forward_ops
from spokeshave.seams import (
    DATA_OPS,
    Operation,
    Program,
    Value,
    attributes,
    dtype_name,
    is_absent,
    operand_names,
    ops_within,
    result_names,
)

PARAMETER, COMBINE, SPLIT, SLICE = "builtin.parameter", "builtin.combine", "builtin.split", "builtin.slice"
# Stands for an operand that is made after it is read, which the check of a graph then reports.
LATER = "a value that is made later"
OUTPUT_OPS = ("pd_op.fetch", "builtin.shadow_output")


@dataclass(frozen=True)
class Picture:
    """A view with the Paddle objects behind its ids."""

    view: GraphView
    ops: dict[str, Operation]
    values: dict[str, Value]
    ids: dict[str, str]

    def id_of(self, value: Value) -> str | None:
        """The id that a Paddle value has in the view, or None where the view leaves it out."""
        return self.ids.get(value.id)

    def translated(self, look_up: Callable[[Value], Value]) -> Picture:
        """The same picture of a copy of the program, given what finds its values by those of the program."""
        values = {value_id: look_up(value) for value_id, value in self.values.items()}
        ops = {n.id: _maker(values[n.out]) for n in self.view.nodes if n.outputs}
        return Picture(self.view, ops, values, {value.id: value_id for value_id, value in values.items()})

    def nodes_of(self, ops: Iterable[Operation]) -> tuple[str, ...]:
        """The ids of the nodes behind Paddle ops, in the order of the view."""
        wanted = {op.id() for op in ops}
        return tuple(node for node, op in self.ops.items() if op.id() in wanted)


def take_picture(program: Program, fetches: Sequence[tuple[str, Value]] = ()) -> Picture:
    """The picture of the forward part of a program; `fetches` are outputs beside those that it marks."""
    reader = _Reader(fetches)
    for op in forward_ops(program):
        reader.read(op)
    return reader.picture()


class _Reader:
    """Walks ops in order and builds the view."""

    def __init__(self, fetches: Sequence[tuple[str, Value]]) -> None:
        self._fetches = fetches
        self._shown = {value.id for _, value in fetches}
        self._build = ViewBuilder()
        self._ops: dict[str, Operation] = {}
        self._values: dict[str, Value] = {}
        self._ids: dict[str, str] = {}
        self._vectors: dict[str, list[Value]] = {}
        self._outputs: dict[str, str] = {}

    def read(self, op: Operation) -> None:
        name = op.name()
        if name == PARAMETER:
            self._read_parameter(op)
        elif name in DATA_OPS:
            self._read_data(op)
        elif name in OUTPUT_OPS:
            self._read_output(op)
        elif name == COMBINE:
            self._vectors[op.result(0).id] = list(op.operands_source())
        elif name in (SPLIT, SLICE):
            self._read_parts(op)
        else:
            self._read_node(op)

    def picture(self) -> Picture:
        for name, value in self._fetches:
            if is_absent(value) or value.id not in self._ids:
                raise FetchUnknown(name=name, nearest="the values of the forward part of its program")
            self._outputs[name] = self._ids[value.id]
        return Picture(self._build.view(self._outputs), self._ops, self._values, self._ids)

    def _read_parameter(self, op: Operation) -> None:
        value = op.result(0)
        name = op.str_attr("parameter_name")
        self._know(value, self._build.parameter(name, tuple(value.shape), dtype_name(value)))

    def _read_data(self, op: Operation) -> None:
        value, attrs = op.result(0), op.attrs()
        # An accumulator or a learning rate is data that lives in the scope, not an input.
        is_kept = attrs.get("persistable") == [True]
        if is_kept and not value.all_used_ops() and value.id not in self._shown:
            return
        # An input that nobody reads is one: Paddle wants it fed, and a layer has it among its arguments.
        add = self._build.parameter if is_kept else self._build.input
        self._know(value, add(attrs["name"], tuple(value.shape), dtype_name(value)))

    def _read_output(self, op: Operation) -> None:
        name = op.attrs().get("name") or op.attrs()["output_name"]
        self._outputs[name] = self._ids[op.operand_source(0).id]

    def _read_parts(self, op: Operation) -> None:
        """Parts of a vector that was gathered right before are what was gathered; others have ids by now."""
        gathered = self._vectors.get(op.operand_source(0).id, [])
        at = op.attrs().get("index", 0)
        for result, part in zip(op.results(), gathered[at:]):
            self._ids[result.id] = self._ids.get(part.id, LATER)

    def _read_node(self, op: Operation) -> None:
        results = _results(op)
        attrs = attributes(op)
        scope = attrs.pop("struct_name", "")
        self._build.node(
            op.name(),
            self._operands(op),
            {name: _shape(value) for name, value in results},
            attrs,
            dtypes={name: dtype_name(value) for name, value in results if value.is_dense_tensor_type()},
            scope=scope,
        )
        node = self._build.last
        self._ops[node.id] = op
        for (_, value), (_, value_id) in zip(results, node.outputs):
            self._know(value, value_id)

    def _operands(self, op: Operation) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in zip(operand_names(op), op.operands_source()):
            if is_absent(value):
                continue
            if value.id in self._vectors:
                parts = enumerate(self._vectors[value.id])
                found.update({f"{name}.{i}": self._ids.get(part.id, LATER) for i, part in parts})
            else:
                found[name] = self._ids.get(value.id, LATER)
        return {**found, **self._captured(op)}

    def _captured(self, op: Operation) -> dict[str, str]:
        """What the blocks of a branch or a loop read from outside, so that no reader is overlooked."""
        if not op.num_regions():
            return {}
        inner = (v for o in ops_within(op) for v in o.operands_source())
        known = dict.fromkeys(self._ids[v.id] for v in inner if not is_absent(v) and v.id in self._ids)
        return {f"captured.{i}": value_id for i, value_id in enumerate(known)}

    def _know(self, value: Value, value_id: str) -> None:
        self._values[value_id] = value
        self._ids[value.id] = value_id


def _maker(value: Value) -> Operation:
    """The op that makes a value, behind what splits a vector into its parts."""
    op = value.get_defining_op()
    return op.operand_source(0).get_defining_op() if op.name() in (SPLIT, SLICE) else op


def _results(op: Operation) -> list[tuple[str, Value]]:
    """Results by name; a result that is a vector is spelt out as the values that are split from it."""
    found: list[tuple[str, Value]] = []
    for name, value in zip(result_names(op), op.results()):
        if not is_absent(value):
            found.extend(_spread(name, value))
    return found


def _spread(name: str, value: Value) -> list[tuple[str, Value]]:
    if value.is_dense_tensor_type():
        return [(name, value)]
    parts: list[tuple[str, Value]] = []
    for user in value.all_used_ops():
        if user.name() == SPLIT:
            parts.extend((f"{name}.{i}", part) for i, part in enumerate(user.results()))
        elif user.name() == SLICE:
            parts.append((f"{name}.{user.attrs()['index']}", user.result(0)))
    return sorted(parts, key=lambda p: int(p[0].rsplit(".", 1)[1])) if parts else [(name, value)]


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(value.shape) if value.is_dense_tensor_type() else ()


def operands_reading(picture: Picture, node: Node, value_id: str) -> list[tuple[Operation, int]]:
    """Where a node reads a value: the Paddle op (or what gathers a vector for it) and the position.

    What the blocks of a branch or a loop read is among them.
    """
    wanted = picture.values[value_id]
    found: list[tuple[Operation, int]] = []
    for i, source in enumerate(picture.ops[node.id].operands_source()):
        if is_absent(source):
            continue
        if source.is_same(wanted):
            found.append((picture.ops[node.id], i))
        elif source.get_defining_op().name() == COMBINE:
            gather = source.get_defining_op()
            parts = enumerate(gather.operands_source())
            found.extend((gather, k) for k, part in parts if part.is_same(wanted))
    op = picture.ops[node.id]
    return found + _inside(op, wanted) if op.num_regions() else found


def _inside(op: Operation, wanted: Value) -> list[tuple[Operation, int]]:
    sources = ((o, i, v) for o in ops_within(op) for i, v in enumerate(o.operands_source()))
    return [(o, i) for o, i, v in sources if not is_absent(v) and v.is_same(wanted)]
