"""The last ops of detectors."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OpFacts

YOLO_BOX = OpFacts(
    name="pd_op.yolo_box",
    doc="The head of a YOLO net as boxes and scores.",
    flow=ChannelFlow.REDUCES,
)

MULTICLASS_NMS = OpFacts(
    name="pd_op.multiclass_nms3",
    doc="The boxes that are left when those that overlap a better one of their class are dropped.",
    flow=ChannelFlow.REDUCES,
    data=("bboxes", "scores"),
)
