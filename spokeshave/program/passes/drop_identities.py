"""Ops that give back what they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from spokeshave.graph import GraphView, Node
from spokeshave.ops.effects import SHARE_DATA
from spokeshave.ops.elementwise import SCALE
from spokeshave.ops.shape import (
    ASSIGN,
    CAST,
    CONCAT,
    EXPAND,
    FLATTEN,
    PAD,
    PAD3D,
    RESHAPE,
    SQUEEZE,
    TILE,
    TRANSPOSE,
    UNSQUEEZE,
)
from spokeshave.program.passes._constants import constant_ints, constant_number, is_overwritten
from spokeshave.program.passes._passing import let_pass, reason_to_stay
from spokeshave.program.rewriting import Editor, Found, Pass
from spokeshave.report import Reason


class DropIdentities(Pass):
    """Ops go that give back what they were given, and pairs that undo each other.

    A copy, a cast to the type that is there, a scale by one, a reshape, flatten, expand or tile to the shape
    that is there, a transpose to the order that is there, a concat of one tensor, a pad by zero; transposes
    that undo each other, and a squeeze of what was unsqueezed. Outputs stay the same to the bit, except that
    a zero whose sign a scale by one would have dropped keeps it.

    ## What is left alone
    All whose lengths do not tell for certain; a copy that is made because something writes over it or over
    what it was made from; an op whose result is an output where what it was given is an input, a weight or an
    output too; all in a program that has its gradients.
    """

    name = "drop-identities"

    def places(self, view: GraphView) -> Iterable[Found]:
        seen = _Seen(view)
        for node in view.nodes:
            same = SAME[node.op](seen, node) if node.op in SAME else None
            if same is not None:
                found = Found.at(view, node, same=same)
                yield found
                if self.check(found) is None:
                    seen.equals[node.out] = same[0].operand(same[1]) or ""

    def check(self, found: Found) -> Reason | None:
        holder, operand = found.facts["same"]
        return reason_to_stay(found, found.node, holder.operand(operand))

    def apply(self, found: Found, editor: Editor) -> None:
        holder, operand = found.facts["same"]
        let_pass(found.node, holder, operand, editor)


# A node, and the operand at which it reads what the first result of the node in question equals.
_Same = tuple[Node, str]


@dataclass(frozen=True)
class _Seen:
    """A view, and what has been found so far to equal what."""

    view: GraphView
    equals: dict[str, str] = field(default_factory=dict)

    def shape(self, value_id: str | None) -> tuple[int, ...]:
        return self.view.value(value_id or "").shape

    def before(self, node: Node, op: str) -> Node | None:
        """The node of that op whose result a node reads, seen through what equals it."""
        value = node.operand("x") or ""
        while value in self.equals:
            value = self.equals[value]
        maker = self.view.maker(value)
        is_it = maker is not None and maker.op == op and not is_overwritten(self.view, value)
        return maker if is_it else None


def _copy(seen: _Seen, node: Node) -> _Same | None:
    return node, "x"


def _cast(seen: _Seen, node: Node) -> _Same | None:
    value = seen.view.value
    return (node, "x") if value(node.operand("x") or "").dtype == value(node.out).dtype else None


def _scale(seen: _Seen, node: Node) -> _Same | None:
    factor = constant_number(seen.view, node.operand("scale"))
    return (node, "x") if factor == 1 and not node.attrs.get("bias") else None


def _reshape(seen: _Seen, node: Node) -> _Same | None:
    have, want = seen.shape(node.operand("x")), constant_ints(seen.view, node.operand("shape"))
    if want is None or len(have) != len(want):
        return None
    # A zero keeps a length. One that is left to be worked out is what it was if all others are.
    others = [w for h, w in zip(have, want) if not (w == 0 or w == h > 0)]
    return (node, "x") if others in ([], [-1]) else None


def _flatten(seen: _Seen, node: Node) -> _Same | None:
    rank = len(seen.shape(node.operand("x")))
    ends = [node.attrs[name] % rank for name in ("start_axis", "stop_axis")] if rank else [0, 1]
    return (node, "x") if ends[0] == ends[1] else None


def _expand(seen: _Seen, node: Node) -> _Same | None:
    have, want = seen.shape(node.operand("x")), constant_ints(seen.view, node.operand("shape"))
    is_same = want is not None and len(have) == len(want) and all(w in (-1, h) for h, w in zip(have, want))
    return (node, "x") if is_same else None


def _tile(seen: _Seen, node: Node) -> _Same | None:
    times = constant_ints(seen.view, node.operand("repeat_times"))
    is_same = times is not None and set(times) <= {1} and len(times) <= len(seen.shape(node.operand("x")))
    return (node, "x") if is_same else None


def _concat(seen: _Seen, node: Node) -> _Same | None:
    return (node, "x.0") if len(node.operands("x")) == 1 and node.operand("x.0") else None


def _pad(seen: _Seen, node: Node) -> _Same | None:
    widths = (
        node.attrs.get("paddings")
        if node.op == PAD.name
        else constant_ints(seen.view, node.operand("paddings"))
    )
    return (node, "x") if widths is not None and not any(widths) else None


def _transpose(seen: _Seen, node: Node) -> _Same | None:
    """From here back through transposes of transposes, until they have undone each other."""
    order = list(node.attrs["perm"])
    holder: Node | None = node
    while holder is not None:
        if order == sorted(order):
            return holder, "x"
        holder = seen.before(holder, TRANSPOSE.name)
        order = [holder.attrs["perm"][i] for i in order] if holder is not None else order
    return None


def _squeeze(seen: _Seen, node: Node) -> _Same | None:
    before = seen.before(node, UNSQUEEZE.name)
    if before is None:
        return None
    rank = len(seen.shape(before.out))
    taken, given = (_axes(seen, n, rank) for n in (node, before))
    return (before, "x") if taken and taken == given else None


def _axes(seen: _Seen, node: Node, rank: int) -> Sequence[int]:
    axes = constant_ints(seen.view, node.operand("axis"))
    return sorted(axis % rank for axis in axes) if axes is not None else ()


SAME: dict[str, Callable[[_Seen, Node], _Same | None]] = {
    ASSIGN.name: _copy,
    SHARE_DATA: _copy,
    CAST.name: _cast,
    SCALE.name: _scale,
    RESHAPE.name: _reshape,
    FLATTEN.name: _flatten,
    EXPAND.name: _expand,
    TILE.name: _tile,
    CONCAT.name: _concat,
    PAD.name: _pad,
    PAD3D.name: _pad,
    TRANSPOSE.name: _transpose,
    SQUEEZE.name: _squeeze,
}
