"""An ONNX graph while it is being written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from spokeshave.engines.onnx._constants import Array, Constants
from spokeshave.engines.onnx._quantized import FakeQuant, IntWeight
from spokeshave.engines.onnx._survey import Survey
from spokeshave.errors.engines import OutputNameTaken
from spokeshave.graph import GraphView, Node
from spokeshave.report import Reason


@dataclass(frozen=True, eq=False)
class Stored:
    """An array and the name it is to be stored under."""

    name: str
    array: Array


class Draft:
    """Nodes and initializers so far, and the ONNX name of each value: its own id, or the output's name.

    Emitters `read` operands and `put` nodes. A constant becomes an initializer, an int8 weight its
    DequantizeLinear, when it is first read: what nobody reads is not written.
    """

    def __init__(self, view: GraphView, constants: Constants, survey: Survey) -> None:
        self.view, self.constants, self.survey = view, constants, survey
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, Array] = {}
        self.reasons: list[Reason] = []
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._merged: set[str] = set()
        self._dequantized: dict[tuple[str, bool], str] = {}
        self._name_interface()

    def read(self, value_id: str) -> str:
        """The name under which a value can be read."""
        root = self.survey.root(value_id)
        constant = self.constants.get(root)
        if constant is not None:
            return self.initializer(root, constant)
        if root in self.survey.weights:
            return self._dequantize(root, swapped=False)
        return self.name(root)

    def read_swapped(self, value_id: str) -> str | None:
        """A constant or an int8 weight, stored with its last two axes swapped; None for what is neither."""
        root = self.survey.root(value_id)
        constant = self.constants.get(root)
        if constant is not None:
            return self.initializer(f"{root}:swapped", np.ascontiguousarray(constant.swapaxes(-1, -2)))
        return self._dequantize(root, swapped=True) if root in self.survey.weights else None

    def is_stored(self, value_id: str) -> bool:
        """Whether a value is a constant or an int8 weight."""
        root = self.survey.root(value_id)
        return self.constants.get(root) is not None or root in self.survey.weights

    def put(self, op_type: str, node: Node, inputs: Sequence[str], *, out: str = "", **attrs: Any) -> None:
        """Writes the ONNX node that makes `out`, by default the node's result."""
        self._append(op_type, node.id, inputs, self.name(out or node.out), attrs)

    def put_all(self, op_type: str, node: Node, inputs: Sequence[str], **attrs: Any) -> None:
        """Writes the ONNX node that makes all results of a node, in their order."""
        outs = [self.name(value_id) for _, value_id in node.outputs]
        self.nodes.append(helper.make_node(op_type, list(inputs), outs, name=node.id, **attrs))

    def put_step(self, op_type: str, node: Node, part: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Writes a node on the way to this node's result; gives the name of what it makes."""
        name = self.fresh(f"{node.id}:{part}")
        self._append(op_type, name, inputs, name, attrs)
        return name

    def put_copy(self, held: str, name: str) -> None:
        """Writes an Identity, for an output that is an input, a constant or another output."""
        self._append("Identity", f"{name}:copy", [held], name, {})

    def put_fake_quant(self, found: FakeQuant, out: str) -> None:
        """Writes a quantizer as QuantizeLinear and DequantizeLinear; `out` is the value it makes."""
        zeros = np.full(found.scale.shape, found.zero, np.uint8)
        scale = self.initializer(found.scale_name, found.scale)
        zero = self.initializer(f"{found.scale_name}:zero", zeros)
        axis = _axis(found.axis)
        codes = self.fresh(f"{out}:codes")
        self._append("QuantizeLinear", found.divide, [self.read(found.source), scale, zero], codes, axis)
        self._append("DequantizeLinear", found.multiply, [codes, scale, zero], self.name(out), axis)

    def put_dequantize(self, name: str, integers: Stored, scale: Stored, axis: int | None, out: str) -> str:
        """Writes a DequantizeLinear of stored integers, zero point 0; gives `out`, its result's name."""
        zeros = np.zeros(scale.array.shape, integers.array.dtype)
        inputs = [
            self.initializer(integers.name, integers.array),
            self.initializer(scale.name, scale.array),
            self.initializer(f"{integers.name}:zero", zeros),
        ]
        self._append("DequantizeLinear", name, inputs, out, _axis(axis))
        return out

    def initializer(self, name: str, array: Array) -> str:
        """The name of a stored array; the same name with the same content is stored once."""
        version, wanted = 1, name
        while wanted in self._taken and not _is_same(self.initializers.get(wanted), array):
            version, wanted = version + 1, f"{name}:{version + 1}"
        self._taken.add(wanted)
        self.initializers.setdefault(wanted, array)
        return wanted

    def fresh(self, name: str) -> str:
        """A name that nothing bears yet: this one, or this one with a number."""
        version, wanted = 1, name
        while wanted in self._taken:
            version, wanted = version + 1, f"{name}:{version + 1}"
        self._taken.add(wanted)
        return wanted

    def merge(self, node: Node) -> None:
        """Marks a node as written within another."""
        self._merged.add(node.id)

    def drop_unread(self) -> None:
        """Takes out the nodes that no output needs, as emitters may have done without what they made."""
        read = {name for name, _ in self.view.outputs}
        kept: list[onnx.NodeProto] = []
        for node in reversed(self.nodes):
            if read.intersection(node.output):
                kept.append(node)
                read.update(node.input)
        self.nodes = kept[::-1]
        self.initializers = {name: array for name, array in self.initializers.items() if name in read}

    def is_merged(self, node: Node) -> bool:
        """Whether a node was written within another."""
        return node.id in self._merged

    def name(self, value_id: str) -> str:
        """The ONNX name of a value that a node makes or that is an input."""
        if value_id not in self._names:
            self._names[value_id] = self.fresh(value_id)
        return self._names[value_id]

    def renamed(self) -> dict[str, str]:
        """The values that bear another name in ONNX than in the view."""
        made = {out for node in self.nodes for out in node.output} | set(self.view.inputs)
        names = {i: self._names.get(self.survey.root(i), i) for i in sorted(self.view.values)}
        return {i: name for i, name in names.items() if name != i and name in made}

    def _name_interface(self) -> None:
        self._names.update((i, i) for i in self.view.inputs)
        self._taken.update(self.view.inputs)
        for name, value_id in self.view.outputs:
            if name in self._taken:
                raise OutputNameTaken(output=name)
            self._taken.add(name)
            root = self.survey.root(value_id)
            if self.constants.get(root) is None:
                self._names.setdefault(root, name)

    def _dequantize(self, root: str, *, swapped: bool) -> str:
        if (root, swapped) not in self._dequantized:
            weight = self.survey.weights[root]
            stored = weight.moved(_swapped(weight.integers.ndim)) if swapped else weight
            self._dequantized[root, swapped] = self._put_weight(root, stored, swapped=swapped)
        return self._dequantized[root, swapped]

    def _put_weight(self, root: str, weight: IntWeight, *, swapped: bool) -> str:
        suffix = ":swapped" if swapped else ""
        out = self.fresh(f"{root}{suffix}") if swapped else self.name(root)
        integers = Stored(f"{weight.name}{suffix}", weight.integers)
        scale = Stored(weight.scale_name, weight.scale)
        return self.put_dequantize(f"{weight.multiply}{suffix}", integers, scale, weight.axis, out)

    def _append(
        self, op_type: str, name: str, inputs: Sequence[str], out: str, attrs: dict[str, Any]
    ) -> None:
        self.nodes.append(helper.make_node(op_type, list(inputs), [out], name=name, **attrs))


def _axis(axis: int | None) -> dict[str, Any]:
    return {} if axis is None else {"axis": axis}


def _swapped(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def _is_same(known: Array | None, array: Array) -> bool:
    if known is None or known is array:
        return known is array
    alike = known.shape == array.shape and known.dtype == array.dtype
    return alike and known.tobytes() == array.tobytes()
