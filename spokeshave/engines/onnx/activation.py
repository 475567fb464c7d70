"""Functions of each element, and softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any

import numpy as np

from spokeshave.engines.onnx._constants import at, numpy_dtype
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.graph import Node, block_of
from spokeshave.ops import activation, elementwise, linear

# The names of attributes in Paddle and in ONNX.
Names = Mapping[str, str]


def _as(op_type: str, names: Names = {}) -> Callable[[Draft, Node], None]:  # noqa: B006 - never written to
    """Writes a node as the one ONNX operator that does the same, its attributes under other names."""

    def emit(draft: Draft, node: Node) -> None:
        attrs: dict[str, Any] = {theirs: node.attrs[ours] for ours, theirs in names.items()}
        draft.put(op_type, node, [draft.read(at(node, "x"))], **attrs)

    return emit


def _relu6(draft: Draft, node: Node) -> None:
    draft.put("Clip", node, [draft.read(at(node, "x")), *(_number(draft, node, n) for n in (0, 6))])


def _swish(draft: Draft, node: Node) -> None:
    x = draft.read(at(node, "x"))
    draft.put("Mul", node, [x, draft.put_step("Sigmoid", node, "sigmoid", [x])])


def _relu(draft: Draft, node: Node) -> None:
    x = draft.read(at(node, "x"))
    if _is_behind_integer_product(draft, node) and not _is_taken_in(draft, node):
        # Behind a Relu that stays, ONNX Runtime leaves the product in float: sixty times as long for one row.
        draft.put("Max", node, [x, _number(draft, node, 0.0)])
    else:
        draft.put("Relu", node, [x])


def _is_behind_integer_product(draft: Draft, node: Node) -> bool:
    """Whether this is the activation of a product of a quantized value and an int8 weight."""
    view, survey = draft.view, draft.survey
    maker = view.maker(at(node, "x"))
    if maker is not None and maker.op == elementwise.ADD.name:
        maker = view.maker(at(maker, "x"))
    if maker is None or maker.op != linear.MATMUL.name or block_of(view, maker).activation != node:
        return False
    sides = [survey.root(at(maker, side)) for side in ("x", "y")]
    return sides[0] in survey.quantized and sides[1] in survey.weights


def _is_taken_in(draft: Draft, node: Node) -> bool:
    """Whether the rounding behind it cuts at zero anyway, so that an engine drops it."""
    if len(draft.view.readers(node.out)) != 1:
        return False
    return any(found.source == node.out and found.zero == 0 for found in draft.survey.quantized.values())


def _prelu(draft: Draft, node: Node) -> None:
    x, slopes = at(node, "x"), draft.constants.of(node, "alpha")
    if node.attrs["mode"] == "channel" and node.attrs["data_format"] == "NCHW":
        behind = len(draft.view.value(x).shape) - 2
        slopes = slopes.reshape(-1, *(1,) * behind)
    draft.put("PRelu", node, [draft.read(x), draft.initializer(f"{at(node, 'alpha')}:slopes", slopes)])


def _hardtanh(draft: Draft, node: Node) -> None:
    bounds = [_number(draft, node, node.attrs[end]) for end in ("t_min", "t_max")]
    draft.put("Clip", node, [draft.read(at(node, "x")), *bounds])


def _softplus(draft: Draft, node: Node) -> None:
    x, beta = draft.read(at(node, "x")), node.attrs["beta"]
    bent = draft.put_step("Mul", node, "bent", [x, _number(draft, node, beta)])
    soft = draft.put_step("Softplus", node, "soft", [bent])
    soft = draft.put_step("Div", node, "unbent", [soft, _number(draft, node, beta)])
    threshold = _number(draft, node, node.attrs["threshold"])
    draft.put("Where", node, [draft.put_step("Greater", node, "is_straight", [bent, threshold]), x, soft])


def _mish(draft: Draft, node: Node) -> None:
    x = draft.read(at(node, "x"))
    soft = draft.put_step("Softplus", node, "soft", [x])
    draft.put("Mul", node, [x, draft.put_step("Tanh", node, "gate", [soft])])


def _log_sigmoid(draft: Draft, node: Node) -> None:
    turned = draft.put_step("Neg", node, "turned", [draft.read(at(node, "x"))])
    draft.put("Neg", node, [draft.put_step("Softplus", node, "soft", [turned])])


def _gelu(draft: Draft, node: Node) -> None:
    x = draft.read(at(node, "x"))
    chance = _chance_by_tanh(draft, node, x) if node.attrs["approximate"] else _chance(draft, node, x)
    doubled = draft.put_step("Add", node, "doubled", [chance, _number(draft, node, 1.0)])
    product = draft.put_step("Mul", node, "product", [x, doubled])
    draft.put("Mul", node, [product, _number(draft, node, 0.5)])


def _chance(draft: Draft, node: Node, x: str) -> str:
    deviations = draft.put_step("Div", node, "deviations", [x, _number(draft, node, sqrt(2))])
    return draft.put_step("Erf", node, "erf", [deviations])


def _chance_by_tanh(draft: Draft, node: Node, x: str) -> str:
    # Hendrycks & Gimpel, "Gaussian Error Linear Units", section 2.
    cube = draft.put_step("Pow", node, "cube", [x, _number(draft, node, 3.0)])
    small = draft.put_step("Mul", node, "small", [cube, _number(draft, node, 0.044715)])
    bent = draft.put_step("Add", node, "bent", [x, small])
    scaled = draft.put_step("Mul", node, "scaled", [bent, _number(draft, node, sqrt(2 / pi))])
    return draft.put_step("Tanh", node, "tanh", [scaled])


def _number(draft: Draft, node: Node, number: float) -> str:
    dtype = numpy_dtype(draft.view.value(at(node, "x")))
    return draft.initializer(f"number:{number:g}:{dtype}", np.array(number, dtype))


def _softmax(draft: Draft, node: Node) -> None:
    draft.put("Softmax", node, [draft.read(at(node, "x"))], axis=node.attrs.get("axis", -1))


RELU = Emitter(
    activation.RELU.name, "Relu, or Max with zero where a Relu would keep a product from integers.", _relu
)
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
PRELU = Emitter(activation.PRELU.name, "PRelu.", _prelu)
ELU = Emitter(activation.ELU.name, "Elu.", _as("Elu", {"alpha": "alpha"}))
SELU = Emitter(activation.SELU.name, "Selu.", _as("Selu", {"scale": "gamma", "alpha": "alpha"}))
CELU = Emitter(activation.CELU.name, "Celu.", _as("Celu", {"alpha": "alpha"}))
GELU = Emitter(activation.GELU.name, "Its parts, with Erf, or Tanh where it is approximate.", _gelu)
MISH = Emitter(activation.MISH.name, "Softplus, Tanh and Mul.", _mish)
SOFTPLUS = Emitter(activation.SOFTPLUS.name, "Softplus, and Where beyond its threshold.", _softplus)
SOFTSIGN = Emitter(activation.SOFTSIGN.name, "Softsign.", _as("Softsign"))
LOG_SIGMOID = Emitter(activation.LOG_SIGMOID.name, "Neg, Softplus and Neg.", _log_sigmoid)
HARDTANH = Emitter(activation.HARDTANH.name, "Clip.", _hardtanh)
SOFTMAX = Emitter(activation.SOFTMAX.name, "Softmax.", _softmax)
