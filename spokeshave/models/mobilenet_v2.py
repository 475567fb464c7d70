"""MobileNetV2: inverted residuals with linear bottlenecks."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn
from paddle.vision.models.mobilenetv2 import InvertedResidual
from paddle.vision.ops import ConvNormActivation

from spokeshave.models._blocks import widened
from spokeshave.models._net import Net

FIRST_CHANNELS = 32
LAST_CHANNELS = 1280
# Expansion, output channels, repeats and first stride of each stage (table 2 of the paper).
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(nn.Layer):  # type: ignore[misc]
    """Seventeen inverted residuals between two convolutions; gives scores of pictures of any size.

    Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks". 3.50 million weights for 1000
    classes. Weights are named as in `paddle.vision.models.mobilenet_v2`, whose blocks these are.
    """

    def __init__(self, num_classes: int = 1000, in_channels: int = 3, scale: float = 1.0) -> None:
        super().__init__()
        width, last = widened(FIRST_CHANNELS * scale), widened(LAST_CHANNELS * max(1.0, scale))
        layers = [ConvNormActivation(in_channels, width, stride=2, activation_layer=nn.ReLU6)]
        for expansion, channels, repeats, first_stride in STAGES:
            wider = widened(channels * scale)
            for stride in (first_stride, *[1] * (repeats - 1)):
                layers.append(InvertedResidual(width, wider, stride, expansion))
                width = wider
        layers.append(ConvNormActivation(width, last, kernel_size=1, activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, num_classes))

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        return self.classifier(paddle.flatten(self.pool2d_avg(self.features(images)), 1))


MOBILENET_V2 = Net("mobilenet_v2", MobileNetV2, (3, 224, 224), "MobileNetV2, 3.50 million parameters")
