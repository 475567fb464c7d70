"""The last ops of detectors."""

from __future__ import annotations

from spokeshave.ops._facts import ChannelFlow, OldOp, OpFacts, same

YOLO_BOX = OpFacts(
    name="pd_op.yolo_box",
    doc="The head of a YOLO net as boxes and scores.",
    flow=ChannelFlow.REDUCES,
    old=OldOp(
        "yolo_box",
        {"x": "X", "img_size": "ImgSize"},
        {"boxes": "Boxes", "scores": "Scores"},
        same(
            "anchors",
            "class_num",
            "conf_thresh",
            "downsample_ratio",
            "clip_bbox",
            "scale_x_y",
            "iou_aware",
            "iou_aware_factor",
        ),
    ),
)

MULTICLASS_NMS = OpFacts(
    name="pd_op.multiclass_nms3",
    doc="The boxes that are left when those that overlap a better one of their class are dropped.",
    flow=ChannelFlow.REDUCES,
    data=("bboxes", "scores"),
    old=OldOp(
        "multiclass_nms3",
        {"bboxes": "BBoxes", "scores": "Scores", "rois_num": "RoisNum"},
        {"out": "Out", "index": "Index", "nms_rois_num": "NmsRoisNum"},
        same(
            "score_threshold",
            "nms_top_k",
            "keep_top_k",
            "nms_threshold",
            "normalized",
            "nms_eta",
            "background_label",
        ),
    ),
)
