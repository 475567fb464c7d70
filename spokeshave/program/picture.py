"""Takes the picture of a program: the view, and which Paddle object each id stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spokeshave.graph import GraphView, Node, ViewBuilder
from spokeshave.program.roles import forward_ops
from spokeshave.seams import Operation, Program, Value, attributes, dtype_name, is_absent

PARAMETER, COMBINE, SPLIT, SLICE = "builtin.parameter", "builtin.combine", "builtin.split", "builtin.slice"
DATA_OPS = ("pd_op.data", "pd_op.feed")
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

    def nodes_of(self, ops: Iterable[Operation]) -> tuple[str, ...]:
        """The ids of the nodes behind Paddle ops, in the order of the view."""
        wanted = {op.id() for op in ops}
        return tuple(node for node, op in self.ops.items() if op.id() in wanted)


def take_picture(program: Program, fetches: Sequence[tuple[str, Value]] = ()) -> Picture:
    """The picture of the forward part of a program; `fetches` are outputs beside those that it marks itself."""
    reader = _Reader()
    for op in forward_ops(program):
        reader.read(op)
    return reader.picture(fetches)


class _Reader:
    """Walks ops in order and builds the view."""

    def __init__(self) -> None:
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
        elif name not in (SPLIT, SLICE):
            self._read_node(op)

    def picture(self, fetches: Sequence[tuple[str, Value]]) -> Picture:
        for name, value in fetches:
            self._outputs[name] = self._ids[value.id]
        return Picture(self._build.view(self._outputs), self._ops, self._values, self._ids)

    def _read_parameter(self, op: Operation) -> None:
        value = op.result(0)
        name = op.attrs()["parameter_name"]
        self._know(value, self._build.parameter(name, tuple(value.shape), dtype_name(value)))

    def _read_data(self, op: Operation) -> None:
        value, attrs = op.result(0), op.attrs()
        if not value.all_used_ops():
            return
        # An accumulator or a learning rate is data that lives in the scope, not an input.
        add = self._build.parameter if attrs.get("persistable") == [True] else self._build.input
        self._know(value, add(attrs["name"], tuple(value.shape), dtype_name(value)))

    def _read_output(self, op: Operation) -> None:
        name = op.attrs().get("name") or op.attrs()["output_name"]
        self._outputs[name] = self._ids[op.operand_source(0).id]

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
        for name, value in zip(_operand_names(op), op.operands_source()):
            if is_absent(value):
                continue
            if value.id in self._vectors:
                parts = enumerate(self._vectors[value.id])
                found.update({f"{name}.{i}": self._ids[part.id] for i, part in parts})
            elif value.id in self._ids:
                found[name] = self._ids[value.id]
        return {**found, **self._captured(op)}

    def _captured(self, op: Operation) -> dict[str, str]:
        """What the blocks of a branch or a loop read from outside, so that no reader is overlooked."""
        inner = (v for block in op.blocks() for o in block.ops for v in o.operands_source())
        known = dict.fromkeys(self._ids[v.id] for v in inner if not is_absent(v) and v.id in self._ids)
        return {f"captured.{i}": value_id for i, value_id in enumerate(known)}

    def _know(self, value: Value, value_id: str) -> None:
        self._values[value_id] = value
        self._ids[value.id] = value_id


def _operand_names(op: Operation) -> list[str]:
    if op.name().startswith("pd_op."):
        return list(op.get_input_names())
    return [str(i) for i in range(op.num_operands())]


def _results(op: Operation) -> list[tuple[str, Value]]:
    """Results by name; a result that is a vector is spelt out as the values that are split from it."""
    names = op.get_output_names() if op.name().startswith("pd_op.") else map(str, range(op.num_results()))
    found: list[tuple[str, Value]] = []
    for name, value in zip(names, op.results()):
        if not is_absent(value):
            found.extend(_spread(name, value))
    return found


def _spread(name: str, value: Value) -> list[tuple[str, Value]]:
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
    """Where a node reads a value: the Paddle op (or the op that gathers its vector operand) and the position."""
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
    return found
