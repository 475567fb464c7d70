"""Losses that give a number for each element, and what softens their labels."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, Sign, same

SIGMOID_CROSS_ENTROPY = OpFacts(
    name="pd_op.sigmoid_cross_entropy_with_logits",
    doc="The loss of as many yes-or-no questions as there are elements.",
    flow=ChannelFlow.KEEPS,
    old=OldOp(
        "sigmoid_cross_entropy_with_logits",
        {"x": "X", "label": "Label", "pos_weight": "pos_weight"},
        attrs=same("normalize", "ignore_index"),
    ),
)

HUBER_LOSS = OpFacts(
    name="pd_op.huber_loss",
    doc="Half the square of a difference up to `delta`, a straight line beyond.",
    flow=ChannelFlow.KEEPS,
    data=("input",),
    old=OldOp(
        "huber_loss",
        {"input": "X", "label": "Y"},
        {"out": "Out", "residual": "Residual"},
        same("delta"),
    ),
)

LABEL_SMOOTH = OpFacts(
    name="pd_op.label_smooth",
    doc="One-hot labels with a share `epsilon` of them spread over all classes.",
    flow=ChannelFlow.KEEPS,
    data=("label",),
    sign=Sign.AS_INPUTS,
    old=OldOp("label_smooth", {"label": "X", "prior_dist": "PriorDist"}, attrs=same("epsilon")),
)
