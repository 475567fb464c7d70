"""Rules that take or leave nodes, by name, by kind, or by a function of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Union

from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.graph import GraphView, Node
from spokeshave.registry import nearest
from spokeshave.report import Reason

Rule = Union[str, Callable[[GraphView, Node], bool]]
KIND = "type:"


@dataclass(frozen=True)
class Choice:
    """The ids of the nodes that were taken, in order, and a reason for each that was left out."""

    taken: tuple[str, ...]
    left_out: tuple[Reason, ...]


def choose(view: GraphView, include: Sequence[Rule] = (), exclude: Sequence[Rule] = ()) -> Choice:
    """Takes the nodes that a rule of `include` matches (all when there is none), less those of `exclude`.

    A rule is a glob on node ids, layer paths and weight names (`conv2d_3`, `/Head/*`, `*.w_0`), a kind
    of op (`type:conv2d`, `type:pool*`), or a function of view and node. One that matches nothing is an error.
    """
    wanted = _matched(view, include) if include else {node.id for node in view.nodes}
    refused = _matched(view, exclude)
    out = [Reason("excluded", "a rule of `exclude` names it", n.id) for n in view.nodes if n.id in refused]
    out += [
        Reason("not-included", "no rule of `include` names it", n.id)
        for n in view.nodes
        if n.id not in wanted and n.id not in refused
    ]
    return Choice(tuple(n.id for n in view.nodes if n.id in wanted and n.id not in refused), tuple(out))


def _matched(view: GraphView, rules: Sequence[Rule]) -> set[str]:
    found: set[str] = set()
    for rule in rules:
        hits = {node.id for node in view.nodes if _matches(view, node, rule)}
        if not hits:
            name = rule if isinstance(rule, str) else getattr(rule, "__name__", str(rule))
            raise RuleMatchedNothing(rule=name, nearest=_nearest(view, rule))
        found |= hits
    return found


def _matches(view: GraphView, node: Node, rule: Rule) -> bool:
    if not isinstance(rule, str):
        return rule(view, node)
    if rule.startswith(KIND):
        return fnmatchcase(_kind(node), rule[len(KIND) :])
    return any(fnmatchcase(name, rule) for name in _names(view, node))


def _names(view: GraphView, node: Node) -> list[str]:
    parameters = [value for _, value in node.inputs if view.is_parameter(value)]
    return [node.id, *([node.scope] if node.scope else []), *parameters]


def _kind(node: Node) -> str:
    return node.op.rsplit(".", 1)[-1].rstrip("_")


def _nearest(view: GraphView, rule: Rule) -> str:
    if not isinstance(rule, str):
        return "none; a function must be true for some node"
    if rule.startswith(KIND):
        return nearest(rule, [KIND + kind for kind in sorted({_kind(node) for node in view.nodes})])
    return nearest(rule, list(dict.fromkeys(name for node in view.nodes for name in _names(view, node))))
