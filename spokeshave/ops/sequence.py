"""Recurrent layers and what reads their results."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spokeshave.ops._facts import Attrs, ChannelFlow, OldOp, OpFacts, Shape, Sign, same


def _gru_macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    # Each step multiplies the state before it with the weight of all three gates.
    return prod(shapes["input"][:-1]) * prod(shapes["weight"])


def _rnn_macs(attrs: Attrs, shapes: Mapping[str, Shape]) -> int:
    # Of the weights those with two axes are matrices, each read once a step; the rest are biases.
    matrices = [s for name, s in shapes.items() if name.startswith("weight_list.") and len(s) == 2]
    return prod(shapes["x"][:-1]) * sum(map(prod, matrices))


GRU = OpFacts(
    name="pd_op.gru",
    doc="Gated recurrent units over sequences of different lengths, from sums that a matmul has made.",
    flow=ChannelFlow.MIXES,
    data=("input",),
    channel_axis=lambda attrs, rank: rank - 1,
    weight="weight",
    macs=_gru_macs,
    old=OldOp(
        "gru",
        {"input": "Input", "h0": "H0", "weight": "Weight", "bias": "Bias"},
        {
            "batch_gate": "BatchGate",
            "batch_reset_hidden_prev": "BatchResetHiddenPrev",
            "batch_hidden": "BatchHidden",
            "hidden": "Hidden",
        },
        same("activation", "gate_activation", "is_reverse", "origin_mode", "is_test"),
    ),
)

RNN = OpFacts(
    name="pd_op.rnn",
    doc="Layers of LSTM, GRU or plain recurrent units, in one direction or both.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
    macs=_rnn_macs,
    old=OldOp(
        "rnn",
        {
            "x": "Input",
            "pre_state": "PreState",
            "weight_list": "WeightList",
            "sequence_length": "SequenceLength",
        },
        {"out": "Out", "dropout_state_out": "DropoutState", "state": "State", "reserve": "Reserve"},
        same(
            "dropout_prob", "is_bidirec", "input_size", "hidden_size", "num_layers", "mode", "seed", "is_test"
        ),
    ),
)

CRF_DECODING = OpFacts(
    name="pd_op.crf_decoding",
    doc="The most likely path of tags through a sequence.",
    flow=ChannelFlow.REDUCES,
    data=("emission",),
    sign=Sign.NONNEGATIVE,
    channel_axis=lambda attrs, rank: rank - 1,
    old=OldOp(
        "crf_decoding",
        {"emission": "Emission", "transition": "Transition", "label": "Label", "length": "Length"},
        {"viterbi_path": "ViterbiPath"},
    ),
)
