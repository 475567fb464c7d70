"""Functions of each element, and softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from spokeshave.engines.onnx._constants import at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.graph import Node
from spokeshave.ops import activation

# The names of attributes in Paddle and in ONNX.
Names = Mapping[str, str]


def _as(op_type: str, names: Names = {}) -> Callable[[Draft, Node], None]:  # noqa: B006 - never written to
    """Writes a node as the one ONNX operator that does the same, its attributes under other names."""

    def emit(draft: Draft, node: Node) -> None:
        attrs: dict[str, Any] = {theirs: node.attrs[ours] for ours, theirs in names.items()}
        draft.put(op_type, node, [draft.read(at(node, "x"))], **attrs)

    return emit


def _relu6(draft: Draft, node: Node) -> None:
    x = at(node, "x")
    dtype = numpy_dtype(draft.view.value(x))
    bounds = [draft.initializer(f"relu6:{n}:{dtype}", np.array(n, dtype)) for n in (0, 6)]
    draft.put("Clip", node, [draft.read(x), *bounds])


def _swish(draft: Draft, node: Node) -> None:
    x = draft.read(at(node, "x"))
    draft.put("Mul", node, [x, draft.put_step("Sigmoid", node, "sigmoid", [x])])


def _softmax(draft: Draft, node: Node) -> None:
    draft.put("Softmax", node, [draft.read(at(node, "x"))], axis=node.attrs.get("axis", -1))


RELU = Emitter(activation.RELU.name, "Relu.", _as("Relu"))
RELU6 = Emitter(activation.RELU6.name, "Clip from 0 to 6.", _relu6)
# Whole, not as its parts: OpenVINO falls back to slow kernels where HardSwish is inlined.
HARDSWISH = Emitter(activation.HARDSWISH.name, "HardSwish.", _as("HardSwish"))
HARDSIGMOID = Emitter(
    activation.HARDSIGMOID.name,
    "HardSigmoid, with slope and offset.",
    _as("HardSigmoid", {"slope": "alpha", "offset": "beta"}),
)
SIGMOID = Emitter(activation.SIGMOID.name, "Sigmoid.", _as("Sigmoid"))
TANH = Emitter(activation.TANH.name, "Tanh.", _as("Tanh"))
SILU = Emitter(activation.SILU.name, "Sigmoid and Mul.", _swish)
SWISH = Emitter(activation.SWISH.name, "Sigmoid and Mul.", _swish)
LEAKY_RELU = Emitter(activation.LEAKY_RELU.name, "LeakyRelu.", _as("LeakyRelu", {"negative_slope": "alpha"}))
SOFTMAX = Emitter(activation.SOFTMAX.name, "Softmax.", _softmax)
