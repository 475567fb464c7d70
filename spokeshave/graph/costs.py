"""What a model costs: multiplications, parameters and bytes, node by node and in total."""

from __future__ import annotations

from dataclasses import dataclass

from spokeshave.errors.graph import GraphBroken
from spokeshave.graph.view import GraphView, Node, Value
from spokeshave.ops import OPS, Shape

_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


@dataclass(frozen=True)
class NodeCost:
    """What one node costs. `parameters` and `bytes` are those of the parameters that it reads itself.

    `macs` is None, not zero, where the op has no row in `OPS`.
    """

    node: str
    op: str
    macs: int | None
    parameters: int
    bytes: int


@dataclass(frozen=True)
class Cost:
    """The cost of a model. Each parameter counts once in the totals, however many nodes read it.

    `macs` leaves out the ops named in `uncounted`, of which no row in `OPS` knows the cost.
    """

    nodes: tuple[NodeCost, ...]
    macs: int
    parameters: int
    parameter_bytes: int
    uncounted: tuple[str, ...]

    def heaviest(self, n: int = 10) -> tuple[NodeCost, ...]:
        """The `n` nodes with the most multiplications, the most first; equals in the order of the model."""
        return tuple(sorted(self.nodes, key=lambda node: -(node.macs or 0))[:n])


def cost(view: GraphView, batch: int = 1) -> Cost:
    """Counts a view that holds together (see `check`) for a batch of that size.

    An open dimension (-1) counts as `batch` on axis 0 and as one on any other axis, so a length that only
    the data decides, a sentence's for instance, is to be fixed in the shapes first. Buffers, such as the
    statistics of a batch norm, count as parameters: they are stored with them.
    """
    nodes = tuple(_node_cost(view, node, batch) for node in view.nodes)
    return Cost(
        nodes,
        sum(node.macs or 0 for node in nodes),
        sum(value.size for value in view.parameters),
        sum(_bytes(value) for value in view.parameters),
        tuple(sorted({node.op for node in nodes if node.macs is None})),
    )


def _node_cost(view: GraphView, node: Node, batch: int) -> NodeCost:
    facts = OPS.get(node.op)
    macs = None if facts is None else facts.macs(node.attrs, _shapes(view, node, batch))
    read = [view.value(i) for i in dict.fromkeys(i for _, i in node.inputs) if view.is_parameter(i)]
    return NodeCost(node.id, node.op, macs, sum(v.size for v in read), sum(_bytes(v) for v in read))


def _shapes(view: GraphView, node: Node, batch: int) -> dict[str, Shape]:
    return {name: _closed(view.value(i).shape, batch) for name, i in (*node.inputs, *node.outputs)}


def _closed(shape: Shape, batch: int) -> Shape:
    return tuple(length if length >= 0 else (batch if axis == 0 else 1) for axis, length in enumerate(shape))


def _bytes(value: Value) -> int:
    if value.dtype not in _BYTES:
        fault = f"the parameter {value.id!r} has the dtype {value.dtype!r}, whose size nobody knows"
        raise GraphBroken(after="counting the parameters", count=1, first=fault)
    return value.size * _BYTES[value.dtype]
