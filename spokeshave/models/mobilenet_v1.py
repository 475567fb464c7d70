"""MobileNetV1: depthwise and pointwise convolutions in turn."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn
from paddle.vision.models.mobilenetv1 import DepthwiseSeparable
from paddle.vision.ops import ConvNormActivation

from spokeshave.models._net import Net

FIRST_CHANNELS = 32
# Name, output channels and stride of each depthwise-separable block (table 1 of the paper).
BLOCKS = (
    ("conv2_1", 64, 1),
    ("conv2_2", 128, 2),
    ("conv3_1", 128, 1),
    ("conv3_2", 256, 2),
    ("conv4_1", 256, 1),
    ("conv4_2", 512, 2),
    ("conv5_1", 512, 1),
    ("conv5_2", 512, 1),
    ("conv5_3", 512, 1),
    ("conv5_4", 512, 1),
    ("conv5_5", 512, 1),
    ("conv5_6", 1024, 2),
    ("conv6", 1024, 1),
)


class MobileNetV1(nn.Layer):  # type: ignore[misc]
    """Thirteen depthwise-separable blocks behind one convolution; gives scores of pictures of any size.

    Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications".
    4.23 million weights for 1000 classes; `scale` multiplies the channels of every block. Weights are named
    as in `paddle.vision.models.mobilenet_v1`, whose blocks these are.
    """

    def __init__(self, num_classes: int = 1000, in_channels: int = 3, scale: float = 1.0) -> None:
        super().__init__()
        self.conv1 = ConvNormActivation(in_channels, int(FIRST_CHANNELS * scale), stride=2)
        width = FIRST_CHANNELS
        for name, wider, stride in BLOCKS:
            block = DepthwiseSeparable(int(width * scale), width, wider, width, stride, scale)
            self.add_sublayer(name, block)
            width = wider
        self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        self.fc = nn.Linear(int(width * scale), num_classes)

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        found = self.conv1(images)
        for name, _, _ in BLOCKS:
            found = getattr(self, name)(found)
        return self.fc(paddle.flatten(self.pool2d_avg(found), 1))


MOBILENET_V1 = Net("mobilenet_v1", MobileNetV1, (3, 224, 224), "MobileNetV1, 4.23 million parameters")
