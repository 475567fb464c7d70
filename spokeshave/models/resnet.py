"""ResNets for ImageNet, of 18, 34 and 50 layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Union

import paddle
from paddle import nn
from paddle.vision.models.resnet import BasicBlock, BottleneckBlock

from spokeshave.models._net import Net

FIRST_CHANNELS = 64
# Channels and first stride of each stage (table 1 of the paper).
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))

Block = Union[type[BasicBlock], type[BottleneckBlock]]


class ResNet(nn.Layer):  # type: ignore[misc]
    """Four stages of residual blocks behind one convolution; gives scores of pictures of any size.

    He et al., "Deep Residual Learning for Image Recognition"; the stride of a bottleneck is in its 3x3
    convolution. Weights are named as in `paddle.vision.models`, whose blocks these are. `depths` says how
    many of them each stage has.
    """

    def __init__(
        self, block: Block, depths: Sequence[int], num_classes: int = 1000, in_channels: int = 3
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(in_channels, FIRST_CHANNELS, 7, 2, padding=3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(FIRST_CHANNELS)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(3, 2, padding=1)
        width = FIRST_CHANNELS
        stages = []
        for (channels, stride), depth in zip(STAGES, depths):
            stages.append(_stage(block, width, channels, stride, depth))
            width = channels * block.expansion
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc = nn.Linear(width, num_classes)

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        found = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        found = self.layer4(self.layer3(self.layer2(self.layer1(found))))
        return self.fc(paddle.flatten(self.avgpool(found), 1))


def _stage(block: Block, into: int, channels: int, stride: int, depth: int) -> Any:
    out = channels * block.expansion
    shortcut = None
    if stride != 1 or into != out:
        shortcut = nn.Sequential(nn.Conv2D(into, out, 1, stride, bias_attr=False), nn.BatchNorm2D(out))
    first = block(into, channels, stride, shortcut)
    return nn.Sequential(first, *(block(out, channels) for _ in range(depth - 1)))


RESNET18 = Net(
    "resnet18",
    partial(ResNet, BasicBlock, (2, 2, 2, 2)),
    (3, 224, 224),
    "ResNet of 18 layers, 11.7 million parameters",
)
RESNET34 = Net(
    "resnet34",
    partial(ResNet, BasicBlock, (3, 4, 6, 3)),
    (3, 224, 224),
    "ResNet of 34 layers, 21.8 million parameters",
)
RESNET50 = Net(
    "resnet50",
    partial(ResNet, BottleneckBlock, (3, 4, 6, 3)),
    (3, 224, 224),
    "ResNet of 50 layers, 25.6 million parameters",
)
