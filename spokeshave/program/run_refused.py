"""What it means when Paddle refuses to run a model."""

from __future__ import annotations

from spokeshave.errors import SpokeshaveError
from spokeshave.errors.engines import RunFailed
from spokeshave.errors.formats import SequencesNotServed
from spokeshave.graph import GraphView, Node
from spokeshave.seams import words_of

# Ops that read where sequences begin beside their numbers, and the operand that gives lengths instead.
_SEQUENCE_OPS = {
    "pd_op.gru": "",
    "pd_op.lstm": "",
    "pd_op.attention_lstm": "",
    "pd_op.crf_decoding": "length",
}
_PREFIX = "pd_op.sequence_"


def run_refused(view: GraphView, error: BaseException) -> SpokeshaveError:
    """The error to raise where Paddle raised one while it ran a model."""
    ops = sequence_ops(view)
    if ops:
        return SequencesNotServed(ops=", ".join(ops), detail=words_of(error))
    return RunFailed(engine="Paddle", detail=words_of(error))


def sequence_ops(view: GraphView) -> tuple[str, ...]:
    """The ops of a model that need to know where sequences begin; empty where none does."""
    return tuple(node.id for node in view.nodes if _needs_sequences(node))


def _needs_sequences(node: Node) -> bool:
    lengths = _SEQUENCE_OPS.get(node.op)
    if lengths is None:
        return node.op.startswith(_PREFIX)
    return lengths not in dict(node.inputs)
