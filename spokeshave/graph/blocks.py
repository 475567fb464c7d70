"""An operator together with the bias and the activation that engines run as part of it."""

from __future__ import annotations

from dataclasses import dataclass

from spokeshave.graph.view import GraphView, Node
from spokeshave.ops import OPS, elementwise, shape

ADD, RESHAPE = elementwise.ADD.name, shape.RESHAPE.name


@dataclass(frozen=True)
class Bias:
    """A parameter added to the result of a weighted op, by `add`, perhaps behind a `reshape`."""

    add: Node
    parameter: str
    reshape: Node | None


@dataclass(frozen=True)
class Block:
    """`act(op(x, w) + b)`: what an engine runs as one operator; `out` is the value that leaves it."""

    node: Node
    bias: Bias | None
    activation: Node | None
    out: str


def block_of(view: GraphView, node: Node) -> Block:
    """The block that starts at a node: with its bias (weighted ops only) and its activation.

    Both belong to it only where nothing else reads what they read.
    """
    facts = OPS.get(node.op)
    bias = bias_of(view, node) if facts is not None and facts.weight is not None else None
    out = bias.add.out if bias else node.out
    activation = _activation_of(view, out)
    return Block(node, bias, activation, activation.out if activation else out)


def bias_of(view: GraphView, node: Node) -> Bias | None:
    """The bias of a weighted op, written as Paddle does: `add(op, b)` or `add(op, reshape(b))`."""
    add = _only_reader(view, node.out)
    if add is None or add.op != ADD or add.operand("x") != node.out:
        return None
    term = add.operand("y")
    reshape = view.maker(term) if term else None
    if reshape is not None:
        term = reshape.operand("x") if reshape.op == RESHAPE else None
    if term is None or not view.is_parameter(term) or not _is_per_channel(view, node, add):
        return None
    return Bias(add, term, reshape)


def _is_per_channel(view: GraphView, node: Node, add: Node) -> bool:
    """Whether the added term has one number for each output channel and adds no dimension of its own."""
    facts, result = OPS[node.op], view.value(node.out)
    if not result.shape:
        return False  # the product of two vectors
    axis = facts.channel_axis(node.attrs, len(result.shape)) % len(result.shape)
    term = view.value(add.operand("y") or "")
    aligned = (1,) * (len(result.shape) - len(term.shape)) + term.shape
    return len(aligned) == len(result.shape) and all(
        length == (result.shape[i] if i == axis else 1) for i, length in enumerate(aligned)
    )


def _activation_of(view: GraphView, value: str) -> Node | None:
    reader = _only_reader(view, value)
    facts = OPS.get(reader.op) if reader is not None else None
    return reader if facts is not None and facts.is_activation else None


def _only_reader(view: GraphView, value: str) -> Node | None:
    if view.is_output(value) or len(view.value(value).readers) != 1:
        return None
    return view.readers(value)[0]
