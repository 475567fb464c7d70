"""Normalisations."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, same
from spokeshave.ops.conv import channel_axis

_AFFINE = {"x": "X", "scale": "Scale", "bias": "Bias"}

_OLD_BATCH_NORM = OldOp(
    "batch_norm",
    {**_AFFINE, "mean": "Mean", "variance": "Variance"},
    {
        "out": "Y",
        "mean_out": "MeanOut",
        "variance_out": "VarianceOut",
        "saved_mean": "SavedMean",
        "saved_variance": "SavedVariance",
        "reserve_space": "ReserveSpace",
    },
    {
        "data_format": "data_layout",
        **same("is_test", "momentum", "epsilon", "use_global_stats", "trainable_statistics"),
    },
    shares={"mean_out": "mean", "variance_out": "variance"},
)

BATCH_NORM = OpFacts(
    name="pd_op.batch_norm_",
    doc="Batch normalisation. In test mode a scale and a shift per channel, "
    "which fold into the weights before it.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    is_batch_norm=True,
    old=_OLD_BATCH_NORM,
)

PLAIN_BATCH_NORM = OpFacts(
    name="pd_op.batch_norm",
    doc="Batch normalisation that leaves the statistics it is given as they are.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    is_batch_norm=True,
    old=_OLD_BATCH_NORM,
)

SYNC_BATCH_NORM = OpFacts(
    name="pd_op.sync_batch_norm_",
    doc="Batch normalisation over all cards of a training; on one of them, and in test mode, `batch_norm_`.",
    flow=ChannelFlow.KEEPS,
    channel_axis=channel_axis,
    is_batch_norm=True,
)

LAYER_NORM = OpFacts(
    name="pd_op.layer_norm",
    doc="Each example, or each token of it, normalised over the axes from `begin_norm_axis` on.",
    flow=ChannelFlow.MIXES,
    channel_axis=lambda attrs, rank: rank - 1,
    old=OldOp(
        "layer_norm",
        _AFFINE,
        {"out": "Y", "mean": "Mean", "variance": "Variance"},
        same("epsilon", "begin_norm_axis"),
    ),
)

INSTANCE_NORM = OpFacts(
    name="pd_op.instance_norm",
    doc="Each channel of each picture normalised for itself.",
    flow=ChannelFlow.KEEPS,
    old=OldOp(
        "instance_norm",
        _AFFINE,
        {"y": "Y", "saved_mean": "SavedMean", "saved_variance": "SavedVariance"},
        same("epsilon"),
    ),
)

GROUP_NORM = OpFacts(
    name="pd_op.group_norm",
    doc="Each group of channels of each picture normalised for itself.",
    flow=ChannelFlow.MIXES,
    channel_axis=channel_axis,
    old=OldOp(
        "group_norm",
        _AFFINE,
        {"y": "Y", "mean": "Mean", "variance": "Variance"},
        {"data_format": "data_layout", **same("epsilon", "groups")},
    ),
)
