"""MobileNetV3, small and large: inverted residuals with squeeze-and-excitation and h-swish."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import paddle
from paddle import nn
from paddle.vision.models.mobilenetv3 import InvertedResidual
from paddle.vision.ops import ConvNormActivation

from spokeshave.models._blocks import widened
from spokeshave.models._net import Net

FIRST_CHANNELS = 16
LAST_EXPANSION = 6
# Kernel, expanded and output channels, whether it squeezes, its activation and stride.
Block = tuple[int, int, int, bool, type[Any], int]
# Table 2 of the paper.
SMALL: tuple[Block, ...] = (
    (3, 16, 16, True, nn.ReLU, 2),
    (3, 72, 24, False, nn.ReLU, 2),
    (3, 88, 24, False, nn.ReLU, 1),
    (5, 96, 40, True, nn.Hardswish, 2),
    (5, 240, 40, True, nn.Hardswish, 1),
    (5, 240, 40, True, nn.Hardswish, 1),
    (5, 120, 48, True, nn.Hardswish, 1),
    (5, 144, 48, True, nn.Hardswish, 1),
    (5, 288, 96, True, nn.Hardswish, 2),
    (5, 576, 96, True, nn.Hardswish, 1),
    (5, 576, 96, True, nn.Hardswish, 1),
)
# Table 1 of the paper.
LARGE: tuple[Block, ...] = (
    (3, 16, 16, False, nn.ReLU, 1),
    (3, 64, 24, False, nn.ReLU, 2),
    (3, 72, 24, False, nn.ReLU, 1),
    (5, 72, 40, True, nn.ReLU, 2),
    (5, 120, 40, True, nn.ReLU, 1),
    (5, 120, 40, True, nn.ReLU, 1),
    (3, 240, 80, False, nn.Hardswish, 2),
    (3, 200, 80, False, nn.Hardswish, 1),
    (3, 184, 80, False, nn.Hardswish, 1),
    (3, 184, 80, False, nn.Hardswish, 1),
    (3, 480, 112, True, nn.Hardswish, 1),
    (3, 672, 112, True, nn.Hardswish, 1),
    (5, 672, 160, True, nn.Hardswish, 2),
    (5, 960, 160, True, nn.Hardswish, 1),
    (5, 960, 160, True, nn.Hardswish, 1),
)


class MobileNetV3(nn.Layer):  # type: ignore[misc]
    """Inverted residuals with squeeze-and-excitation; gives scores of pictures of any size.

    Howard et al., "Searching for MobileNetV3". Weights are named as in `paddle.vision.models`, whose blocks
    these are; `codes` is how many values the classifier's hidden layer has.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        codes: int,
        num_classes: int = 1000,
        in_channels: int = 3,
        scale: float = 1.0,
    ) -> None:
        super().__init__()
        norm = partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)
        width = widened(FIRST_CHANNELS * scale)
        outer = partial(ConvNormActivation, norm_layer=norm, activation_layer=nn.Hardswish)
        self.conv = outer(in_channels, width, stride=2)
        layers = []
        for kernel, expanded, channels, squeezes, activation, stride in blocks:
            inner, wider = widened(expanded * scale), widened(channels * scale)
            layers.append(InvertedResidual(width, inner, wider, kernel, stride, squeezes, activation, norm))
            width = wider
        self.blocks = nn.Sequential(*layers)
        self.lastconv = outer(width, width * LAST_EXPANSION, kernel_size=1)
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.classifier = nn.Sequential(
            nn.Linear(width * LAST_EXPANSION, widened(codes * scale)),
            nn.Hardswish(),
            nn.Dropout(0.2),
            nn.Linear(widened(codes * scale), num_classes),
        )

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        found = self.lastconv(self.blocks(self.conv(images)))
        return self.classifier(paddle.flatten(self.avgpool(found), 1))


MOBILENET_V3_SMALL = Net(
    "mobilenet_v3_small",
    partial(MobileNetV3, SMALL, 1024),
    (3, 224, 224),
    "MobileNetV3-small, 2.54 million parameters",
)
MOBILENET_V3_LARGE = Net(
    "mobilenet_v3_large",
    partial(MobileNetV3, LARGE, 1280),
    (3, 224, 224),
    "MobileNetV3-large, 5.48 million parameters",
)
