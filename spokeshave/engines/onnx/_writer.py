"""A view and its weights as an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx

from spokeshave.engines.onnx._constants import Array, Constants
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import EMITTERS
from spokeshave.engines.onnx._model import assemble
from spokeshave.engines.onnx._reach import survey
from spokeshave.graph import GraphView, Node
from spokeshave.report import Reason


@dataclass(frozen=True)
class Written:
    """An ONNX model, and the reasons for what was not written as it could be."""

    model: onnx.ModelProto
    reasons: tuple[Reason, ...] = ()

    def to_bytes(self) -> bytes:
        """The file's content; the same view and weights give the same bytes."""
        return bytes(self.model.SerializeToString(deterministic=True))


def to_onnx(view: GraphView, weights: Mapping[str, Array], *, name: str = "model") -> Written:
    """The model as it stands, as ONNX: same inputs, outputs and open dimensions, quantizers as Q/DQ pairs.

    Biases go into the Conv or Gemm before them; what moves or casts a parameter is done once, here.
    Raises before anything is written when an operator has no ONNX form, naming all of them. Costs a
    copy of the weights and a check of the model with its shapes.

    >>> from spokeshave.graph import ViewBuilder
    >>> build = ViewBuilder()
    >>> y = build.node("pd_op.relu", {"x": build.input("x", (-1, 4))}, {"out": (-1, 4)})
    >>> [node.op_type for node in to_onnx(build.view({"y": y}), {}).model.graph.node]
    ['Relu']
    """
    draft = _drafted(view, weights)
    return Written(assemble(draft, name), tuple(draft.reasons))


def check_writable(view: GraphView, weights: Mapping[str, Array]) -> None:
    """Raises what `to_onnx` would raise of this model, without assembling one.

    For those who are about to spend time on what is to be exported: rounding adds nothing that could not be
    written, so that a float model answers for the quantized one.
    """
    _drafted(view, weights)


def _drafted(view: GraphView, weights: Mapping[str, Array]) -> Draft:
    constants = Constants(view, weights)
    draft = Draft(view, constants, survey(view, constants))
    for node in draft.survey.nodes:
        if not draft.is_merged(node):
            _put(draft, node)
    _put_outputs(draft)
    draft.drop_unread()
    return draft


def _put(draft: Draft, node: Node) -> None:
    fake_quant = draft.survey.quantized.get(node.out)
    if fake_quant is not None:
        draft.put_fake_quant(fake_quant, node.out)
    else:
        EMITTERS[node.op].emit(draft, node)


def _put_outputs(draft: Draft) -> None:
    """Copies what cannot bear its output's name: an input, a constant, a value handed out twice."""
    for name, value_id in draft.view.outputs:
        held = draft.read(value_id)
        if held != name:
            draft.put_copy(held, name)
