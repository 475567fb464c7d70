"""The numbers that a view tells of constants made in the program."""

from __future__ import annotations

from typing import Optional, Union

from spokeshave.graph import GraphView, Node
from spokeshave.ops import Attrs, OpFacts
from spokeshave.ops.effects import overwrites
from spokeshave.ops.shape import FULL, FULL_INT_ARRAY

Number = Union[int, float]
MaybeInts = Optional[tuple[int, ...]]


def constant_number(view: GraphView, value_id: str | None) -> Number | None:
    """The one number of a `full`, or None for anything else or one that is written over."""
    node = _maker_of(view, value_id, FULL)
    return None if node is None else _number(node.attrs)


def constant_ints(view: GraphView, value_id: str | None) -> MaybeInts:
    """The integers of a `full_int_array`, or None for anything else or one that is written over."""
    node = _maker_of(view, value_id, FULL_INT_ARRAY)
    return None if node is None else tuple(int(n) for n in node.attrs["value"])


def is_overwritten(view: GraphView, value_id: str) -> bool:
    """Whether an op writes, or may write, over a value."""
    readers = view.value(value_id).readers
    return any(overwrites(view.node(reader).op, operand) for reader, operand in readers)


def _maker_of(view: GraphView, value_id: str | None, facts: OpFacts) -> Node | None:
    node = view.maker(value_id) if value_id is not None else None
    is_told = node is not None and node.op == facts.name and not is_overwritten(view, node.out)
    return node if is_told else None


def _number(attrs: Attrs) -> Number | None:
    value = attrs.get("value")
    return value if isinstance(value, (bool, int, float)) else None
