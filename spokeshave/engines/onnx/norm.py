"""Normalisations."""

from __future__ import annotations

from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.engines.onnx._windows import refuse_channels_last
from spokeshave.errors.engines import TrainingNotExportable
from spokeshave.graph import Node
from spokeshave.ops import norm


def _batch_norm(draft: Draft, node: Node) -> None:
    refuse_channels_last(node)
    if not node.attrs.get("is_test") or node.attrs.get("trainable_statistics"):
        raise TrainingNotExportable(node=node.id, op=node.op)
    operands = ("x", "scale", "bias", "mean", "variance")
    inputs = [draft.read(at(node, operand)) for operand in operands]
    draft.put("BatchNormalization", node, inputs, epsilon=node.attrs["epsilon"])


BATCH_NORM = Emitter(norm.BATCH_NORM.name, "BatchNormalization, in test mode only.", _batch_norm)
SYNC_BATCH_NORM = Emitter(norm.SYNC_BATCH_NORM.name, "BatchNormalization, in test mode only.", _batch_norm)
