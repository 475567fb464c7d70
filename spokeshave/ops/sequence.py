"""Recurrent layers and what reads their results."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts

GRU = OpFacts(
    name="pd_op.gru",
    doc="Gated recurrent units over sequences of different lengths, from sums that a matmul has made.",
    flow=ChannelFlow.MIXES,
    data=("input",),
    channel_axis=lambda attrs, rank: rank - 1,
)

RNN = OpFacts(
    name="pd_op.rnn",
    doc="Layers of LSTM, GRU or plain recurrent units, in one direction or both.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
)

CRF_DECODING = OpFacts(
    name="pd_op.crf_decoding",
    doc="The most likely path of tags through a sequence.",
    flow=ChannelFlow.REDUCES,
    data=("emission",),
    channel_axis=lambda attrs, rank: rank - 1,
)
