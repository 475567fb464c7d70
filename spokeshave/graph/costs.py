"""What a model costs: multiplications, parameters and bytes, node by node and in total."""

from __future__ import annotations

from dataclasses import dataclass

from spokeshave.errors.graph import GraphBroken
from spokeshave.graph.view import GraphView, Node, Value
from spokeshave.ops import OPS, Shape
from spokeshave.ops.effects import updates

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

    `macs` is None, not zero, where the op has no row in `OPS`. Buffers are not among the parameters.
    """

    node: str
    op: str
    macs: int | None
    parameters: int
    bytes: int


@dataclass(frozen=True)
class Cost:
    """The cost of a model. Each parameter counts once in the totals, however many nodes read it.

    `parameters` is the figure that papers give: what gradients train. State that a run updates instead, such
    as the statistics of a batch norm, is stored beside it and counted under `buffers`. `macs` leaves out the
    ops named in `uncounted`, of which no row in `OPS` knows the cost.
    """

    nodes: tuple[NodeCost, ...]
    macs: int
    parameters: int
    parameter_bytes: int
    buffers: int
    buffer_bytes: int
    uncounted: tuple[str, ...]

    def heaviest(self, n: int = 10) -> tuple[NodeCost, ...]:
        """The `n` nodes with the most multiplications, the most first; equals in the order of the model."""
        return tuple(sorted(self.nodes, key=lambda node: -(node.macs or 0))[:n])


def cost(view: GraphView, batch: int = 1) -> Cost:
    """Counts a view that holds together (see `check`) for a batch of that size.

    An open dimension (-1) counts as `batch` on axis 0 and as one on any other axis, so a length that only
    the data decides, a sentence's for instance, is to be fixed in the shapes first: `program.shaped` does.
    """
    state = _buffers(view)
    nodes = tuple(_node_cost(view, node, batch, state) for node in view.nodes)
    trained = [value for value in view.parameters if value.id not in state]
    buffers = [value for value in view.parameters if value.id in state]
    return Cost(
        nodes,
        sum(node.macs or 0 for node in nodes),
        sum(value.size for value in trained),
        sum(map(_bytes, trained)),
        sum(value.size for value in buffers),
        sum(map(_bytes, buffers)),
        tuple(sorted({node.op for node in nodes if node.macs is None})),
    )


def _buffers(view: GraphView) -> frozenset[str]:
    """The parameters that are state: some node brings them up to date."""
    read = ((node.op, operand, value) for node in view.nodes for operand, value in node.inputs)
    return frozenset(v for op, operand, v in read if updates(op, operand) and view.is_parameter(v))


def _node_cost(view: GraphView, node: Node, batch: int, state: frozenset[str]) -> NodeCost:
    facts = OPS.get(node.op)
    macs = None if facts is None else facts.macs(node.attrs, _shapes(view, node, batch))
    ids = dict.fromkeys(i for _, i in node.inputs if view.is_parameter(i) and i not in state)
    read = [view.value(i) for i in ids]
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
