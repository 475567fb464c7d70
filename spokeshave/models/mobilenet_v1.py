"""MobileNetV1: depthwise and pointwise convolutions in turn."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn

from spokeshave.models._net import Net

FIRST_CHANNELS = 32
# Output channels and stride of each depthwise-separable block (table 1 of the paper).
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))


class MobileNetV1(nn.Layer):  # type: ignore[misc]
    """Thirteen depthwise-separable blocks behind one convolution; gives scores of pictures of any size.

    Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications".
    4.23 million weights for 1000 classes; `scale` multiplies the channels of every block.
    """

    def __init__(self, num_classes: int = 1000, in_channels: int = 3, scale: float = 1.0) -> None:
        super().__init__()
        channels = int(FIRST_CHANNELS * scale)
        layers = _conv_bn_relu(in_channels, channels, kernel=3, stride=2)
        for width, stride in BLOCKS:
            wider = int(width * scale)
            layers += _conv_bn_relu(channels, channels, kernel=3, stride=stride, groups=channels)
            layers += _conv_bn_relu(channels, wider, kernel=1)
            channels = wider
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2D(1)
        self.classifier = nn.Linear(channels, num_classes)

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        return self.classifier(paddle.flatten(self.pool(self.features(images)), 1))


def _conv_bn_relu(into: int, out: int, *, kernel: int, stride: int = 1, groups: int = 1) -> list[Any]:
    # Batch norm takes away the mean, so a bias before it would do nothing.
    conv = nn.Conv2D(into, out, kernel, stride, padding=kernel // 2, groups=groups, bias_attr=False)
    return [conv, nn.BatchNorm2D(out), nn.ReLU()]


MOBILENET_V1 = Net("mobilenet_v1", MobileNetV1, (3, 224, 224), "MobileNetV1, 4.23 million parameters")
