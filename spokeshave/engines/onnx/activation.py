"""Functions of each element, and softmax."""

from __future__ import annotations

import numpy as np

from spokeshave.engines.onnx._constants import at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.graph import Node
from spokeshave.ops import activation


def _relu(draft: Draft, node: Node) -> None:
    draft.put("Relu", node, [draft.read(at(node, "x"))])


def _relu6(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    dtype = numpy_dtype(draft.view.value(x))
    bounds = [draft.initializer(f"relu6:{n}:{dtype}", np.array(n, dtype)) for n in (0, 6)]
    draft.put("Clip", node, [draft.read(x), *bounds])


def _softmax(draft: Draft, node: Node) -> None:
    draft.put("Softmax", node, [draft.read(at(node, "x"))], axis=node.attrs.get("axis", -1))


RELU = Emitter(activation.RELU.name, "Relu.", _relu)
RELU6 = Emitter(activation.RELU6.name, "Clip from 0 to 6.", _relu6)
SOFTMAX = Emitter(activation.SOFTMAX.name, "Softmax.", _softmax)
