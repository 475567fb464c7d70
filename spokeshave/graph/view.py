"""`GraphView`: nodes, values, shapes and attributes of a model, frozen, picklable, buildable by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from spokeshave.errors.graph import NoSuchNode, NoSuchValue
from spokeshave.registry import nearest

INPUT, PARAMETER, INNER = "input", "parameter", "inner"


@dataclass(frozen=True)
class Value:
    """A tensor between nodes. `shape` has -1 where any size fits; `kind` is input, parameter or inner."""

    id: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    maker: str | None = None
    readers: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """How many elements, counting an open dimension as one."""
        count = 1
        for length in self.shape:
            count *= 1 if length < 0 else length
        return count


@dataclass(frozen=True)
class Node:
    """An operator: operands and results by name, attributes as plain data, the layer path it came from."""

    id: str
    op: str
    inputs: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""

    def operand(self, name: str) -> str | None:
        """The id of the value at an operand, or None where it is absent."""
        return next((value for operand, value in self.inputs if operand == name), None)

    def operands(self, name: str) -> tuple[str, ...]:
        """The values at an operand that takes several (`x.0`, `x.1`, …), or the one value it has."""
        return tuple(v for operand, v in self.inputs if operand == name or operand.startswith(f"{name}."))

    @property
    def out(self) -> str:
        """The id of the first result."""
        return self.outputs[0][1]


@dataclass(frozen=True)
class GraphView:
    """A picture of a model, taken once: nodes in order, values by id, named inputs and outputs.

    Plans are computed on views only; nothing here touches a framework. Ids are strings that survive
    saving and loading: `conv2d_0` for a node, `conv2d_0.out` for its result, the parameter's own name.
    """

    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]

    @cached_property
    def _by_id(self) -> dict[str, Node]:
        return {node.id: node for node in self.nodes}

    def node(self, node_id: str) -> Node:
        """The node of that id."""
        if node_id not in self._by_id:
            raise NoSuchNode(node=node_id, nearest=nearest(node_id, self._by_id))
        return self._by_id[node_id]

    def value(self, value_id: str) -> Value:
        """The value of that id."""
        if value_id not in self.values:
            raise NoSuchValue(value=value_id, nearest=nearest(value_id, dict(self.values)))
        return self.values[value_id]

    def maker(self, value_id: str) -> Node | None:
        """The node that makes a value; None for inputs and parameters."""
        made_by = self.value(value_id).maker
        return None if made_by is None else self.node(made_by)

    def readers(self, value_id: str) -> tuple[Node, ...]:
        """The nodes that read a value, each once."""
        return tuple(self.node(n) for n in dict.fromkeys(n for n, _ in self.value(value_id).readers))

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The parameters, in order of their ids."""
        return tuple(v for _, v in sorted(self.values.items()) if v.kind == PARAMETER)

    def is_output(self, value_id: str) -> bool:
        """Whether the model hands this value out."""
        return any(value == value_id for _, value in self.outputs)

    def is_parameter(self, value_id: str | None) -> bool:
        """Whether this id names a parameter."""
        return value_id is not None and self.value(value_id).kind == PARAMETER


class ViewBuilder:
    """Builds a view node by node, as a test or a reader of programs does.

    >>> build = ViewBuilder()
    >>> x = build.input("x", (-1, 4))
    >>> w = build.parameter("w", (4, 2))
    >>> y = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 2)})
    >>> build.view({"y": y}).node("matmul_0").out
    'matmul_0.out'
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._values: dict[str, Value] = {}
        self._inputs: list[str] = []
        self._readers: dict[str, list[tuple[str, str]]] = {}
        self._seen: Counter[str] = Counter()

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
        """An input of the model; gives its id."""
        self._inputs.append(name)
        return self._add(Value(name, tuple(shape), dtype, INPUT))

    def parameter(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
        """A parameter; gives its id."""
        return self._add(Value(name, tuple(shape), dtype, PARAMETER))

    def node(
        self,
        op: str,
        inputs: Mapping[str, str],
        outputs: Mapping[str, tuple[int, ...]],
        attrs: Mapping[str, Any] | None = None,
        *,
        dtype: str = "float32",
        dtypes: Mapping[str, str] | None = None,
        scope: str = "",
    ) -> str:
        """A node reading `inputs`, making `outputs` (names to shapes); gives the id of its first result."""
        node_id = self._name(op)
        made = tuple((name, f"{node_id}.{name}") for name in outputs)
        for name, value_id in made:
            kind_of = (dtypes or {}).get(name, dtype)
            self._add(Value(value_id, tuple(outputs[name]), kind_of, INNER, node_id))
        for operand, value_id in inputs.items():
            self._readers.setdefault(value_id, []).append((node_id, operand))
        self._nodes.append(Node(node_id, op, tuple(inputs.items()), made, dict(attrs or {}), scope))
        return made[0][1] if made else node_id

    @property
    def last(self) -> Node:
        """The node added last."""
        return self._nodes[-1]

    def view(self, outputs: Mapping[str, str]) -> GraphView:
        """The finished view; `outputs` maps the names that the model shows to value ids."""
        values = {
            i: Value(v.id, v.shape, v.dtype, v.kind, v.maker, tuple(self._readers.get(i, ())))
            for i, v in self._values.items()
        }
        return GraphView(tuple(self._nodes), values, tuple(self._inputs), tuple(outputs.items()))

    def _add(self, value: Value) -> str:
        self._values[value.id] = value
        return value.id

    def _name(self, op: str) -> str:
        short = op.rsplit(".", 1)[-1].rstrip("_")
        self._seen[short] += 1
        return f"{short}_{self._seen[short] - 1}"
