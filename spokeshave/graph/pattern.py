"""Finding chains of operators, such as a convolution, its bias and a batch norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spokeshave.errors.registry import UnknownName
from spokeshave.graph.view import GraphView, Node
from spokeshave.registry import nearest


@dataclass(frozen=True)
class Step:
    """One link of a chain: a node whose op is among `ops` and that `where` accepts.

    Its first result is read at `operand` of the next step that is there. An optional step may be absent.
    """

    name: str
    ops: tuple[str, ...]
    operand: str = "x"
    optional: bool = False
    where: Callable[[GraphView, Node], bool] | None = None

    def fits(self, view: GraphView, node: Node) -> bool:
        """Whether a node can stand at this step."""
        return node.op in self.ops and (self.where is None or self.where(view, node))


@dataclass(frozen=True)
class Match:
    """A chain that was found: `found.conv` or `found["conv"]` is the node of the step `conv`."""

    nodes: tuple[tuple[str, Node], ...]

    def get(self, name: str) -> Node | None:
        """The node of a step, or None for an optional step that is absent."""
        return dict(self.nodes).get(name)

    def __getitem__(self, name: str) -> Node:
        found = dict(self.nodes)
        if name not in found:
            raise UnknownName(what="step of this match", name=name, nearest=nearest(name, found))
        return found[name]

    def __getattr__(self, name: str) -> Node:
        # Through __dict__: while unpickling there is no `nodes` yet, and asking for it would come back here.
        found: dict[str, Node] = dict(self.__dict__.get("nodes", ()))
        if name not in found:
            raise AttributeError(f"this match has no step {name!r}")
        return found[name]

    def __contains__(self, name: str) -> bool:
        return name in dict(self.nodes)

    @property
    def last(self) -> Node:
        """The node of the last step, by which a match is named."""
        return self.nodes[-1][1]

    def read_elsewhere(self, view: GraphView, name: str) -> bool:
        """Whether the first result of a step is read by anything but the next step, or leaves the model.

        The last step has no next one: there any reader counts.
        """
        node = self[name]
        within = 0 if node.id == self.nodes[-1][1].id else 1
        return view.is_output(node.out) or len(view.value(node.out).readers) > within


def match(view: GraphView, steps: Sequence[Step]) -> tuple[Match, ...]:
    """All chains of these steps, in the order of their last nodes; no node is in two of them.

    The search starts at the last step, which is never optional, and follows operands to their makers.
    Where several chains share a node the earliest one has it, so ask `read_elsewhere` before rewriting.

    >>> from spokeshave.graph import ViewBuilder
    >>> build = ViewBuilder()
    >>> x, w = build.input("x", (-1, 4)), build.parameter("w", (4, 2))
    >>> y = build.node("pd_op.matmul", {"x": x, "y": w}, {"out": (-1, 2)})
    >>> z = build.node("pd_op.relu", {"x": y}, {"out": (-1, 2)})
    >>> steps = Step("linear", ("pd_op.matmul",)), Step("act", ("pd_op.relu",))
    >>> [found] = match(build.view({"z": z}), steps)
    >>> found.linear.id
    'matmul_0'
    """
    *before, last = steps
    taken: set[str] = set()
    found = []
    for node in view.nodes:
        chain = _chain(view, before, last, node)
        if chain is not None and taken.isdisjoint(link.id for _, link in chain):
            taken.update(link.id for _, link in chain)
            found.append(Match(chain))
    return tuple(found)


def chain_to(view: GraphView, steps: Sequence[Step], node: Node) -> Match | None:
    """The chain of these steps that ends at a node, whoever else has a part of it."""
    *before, last = steps
    chain = _chain(view, before, last, node)
    return None if chain is None else Match(chain)


_Chain = tuple[tuple[str, Node], ...]


def _chain(view: GraphView, before: Sequence[Step], step: Step, node: Node) -> _Chain | None:
    """The chain that ends with `node` standing at `step`."""
    if not step.fits(view, node):
        return None
    head = _head(view, before, node)
    return None if head is None else (*head, (step.name, node))


def _head(view: GraphView, before: Sequence[Step], node: Node) -> _Chain | None:
    """The part of the chain that lies before `node`: with an optional step where it can be, else without."""
    if not before:
        return ()
    *earlier, step = before
    maker = _maker(view, node, step.operand)
    chain = None if maker is None else _chain(view, earlier, step, maker)
    return _head(view, earlier, node) if chain is None and step.optional else chain


def _maker(view: GraphView, node: Node, operand: str) -> Node | None:
    """The node whose first result is read at an operand."""
    value = node.operand(operand)
    maker = None if value is None else view.maker(value)
    return maker if maker is not None and maker.out == value else None
