"""Which nodes the outputs of a model need, and which of them are quantizers, constants or nothing at all."""

from __future__ import annotations

from collections.abc import Iterable

from spokeshave.engines.onnx._constants import Constants
from spokeshave.engines.onnx._emitter import EMITTERS
from spokeshave.engines.onnx._quantized import FakeQuant, IntWeight, Quantizers
from spokeshave.engines.onnx._survey import Survey
from spokeshave.errors.engines import OpNotExportable, ResultNotExportable
from spokeshave.graph import GraphView, Node
from spokeshave.registry import nearest

SHOWN_NODES = 4


def survey(view: GraphView, constants: Constants) -> Survey:
    """Walks back from the outputs; raises once for all operators that cannot be written."""
    walk = _Walk(view, constants)
    for _, value_id in view.outputs:
        walk.visit(value_id)
    _refuse_unknown(node for node in view.nodes if node.id in walk.unknown)
    nodes = tuple(node for node in view.nodes if node.id in walk.needed)
    return Survey(nodes, walk.quantized, walk.weights, walk.passed)


class _Walk:
    """What was found on the way from the outputs to the inputs."""

    def __init__(self, view: GraphView, constants: Constants) -> None:
        self._view, self._constants = view, constants
        self._quantizers = Quantizers(view, constants)
        self._seen: set[str] = set()
        self.needed: set[str] = set()
        self.unknown: set[str] = set()
        self.quantized: dict[str, FakeQuant] = {}
        self.weights: dict[str, IntWeight] = {}
        self.passed: dict[str, str] = {}

    def visit(self, value_id: str) -> None:
        """Visits a value and all that it needs, without recursion: models are deep."""
        waiting = [value_id]
        while waiting:
            value = waiting.pop()
            if value not in self._seen:
                self._seen.add(value)
                waiting.extend(self._needs_of(value))

    def _needs_of(self, value_id: str) -> tuple[str, ...]:
        if self._constants.get(value_id) is not None:
            return ()
        weight = self._quantizers.int_weight_at(value_id)
        if weight is not None:
            self.weights[value_id] = weight
            return ()
        node = self._view.maker(value_id)
        return () if node is None else self._needs_of_result(value_id, node)

    def _needs_of_result(self, value_id: str, node: Node) -> tuple[str, ...]:
        found = self._quantizers.fake_quant_at(value_id)
        if found is not None:
            self.quantized[value_id] = found
            self.needed.add(node.id)
            return (found.source,)
        passed = self._passed_by(node)
        _refuse_side_result(node, value_id)
        if passed is not None:
            self.passed[value_id] = passed
            return (passed,)
        return self._operands(node)

    def _passed_by(self, node: Node) -> str | None:
        emitter = EMITTERS.get(node.op)
        if emitter is None:
            self.unknown.add(node.id)
            return None
        return emitter.passes(self._constants, node)

    def _operands(self, node: Node) -> tuple[str, ...]:
        self.needed.add(node.id)
        return tuple(value_id for _, value_id in node.inputs)


def _refuse_side_result(node: Node, value_id: str) -> None:
    emitter = EMITTERS.get(node.op)
    if emitter is not None and not emitter.gives_all and value_id != node.out:
        result = next(name for name, made in node.outputs if made == value_id)
        raise ResultNotExportable(node=node.id, op=node.op, result=result)


def _refuse_unknown(nodes: Iterable[Node]) -> None:
    users: dict[str, list[str]] = {}
    for node in nodes:
        users.setdefault(node.op, []).append(node.id)
    if not users:
        return
    ops = ", ".join(f"{op} ({_shown(ids)})" for op, ids in sorted(users.items()))
    close = dict.fromkeys(name for op in sorted(users) for name in nearest(op, EMITTERS.names()).split(", "))
    raise OpNotExportable(ops=ops, nearest=", ".join(close))


def _shown(ids: list[str]) -> str:
    more = len(ids) - SHOWN_NODES
    return ", ".join(ids[:SHOWN_NODES]) + (f" and {more} more" if more > 0 else "")
