"""The small ResNets for CIFAR-10, of 20 and 56 layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional

from spokeshave.models._net import Net

FIRST_CHANNELS = 16
# Channels and first stride of each stage (section 4.2 of the paper).
STAGES = ((16, 1), (32, 2), (64, 2))


class CifarResNet(nn.Layer):  # type: ignore[misc]
    """Three stages of `blocks` residual blocks behind one convolution; gives scores of pictures of any size.

    He et al., "Deep Residual Learning for Image Recognition", section 4.2, with shortcuts that have no
    weights (option A): every other pixel, and zeros for the channels that are missing.
    """

    def __init__(self, blocks: int, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(in_channels, FIRST_CHANNELS, 3, padding=1, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(FIRST_CHANNELS)
        width, stages = FIRST_CHANNELS, []
        for channels, stride in STAGES:
            first = ResidualBlock(width, channels, stride)
            stages.append(
                nn.Sequential(first, *(ResidualBlock(channels, channels) for _ in range(blocks - 1)))
            )
            width = channels
        self.layer1, self.layer2, self.layer3 = stages
        self.pool = nn.AdaptiveAvgPool2D(1)
        self.linear = nn.Linear(width, num_classes)

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        found = functional.relu(self.bn1(self.conv1(images)))
        found = self.layer3(self.layer2(self.layer1(found)))
        return self.linear(paddle.flatten(self.pool(found), 1))


class ResidualBlock(nn.Layer):  # type: ignore[misc]
    """Two convolutions and a shortcut round them, which has no weights where the shape changes."""

    def __init__(self, into: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(into, out, 3, stride, padding=1, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(out)
        self.conv2 = nn.Conv2D(out, out, 3, padding=1, bias_attr=False)
        self.bn2 = nn.BatchNorm2D(out)
        self._stride, self._new_channels = stride, out - into

    def forward(self, values: Any) -> Any:
        """Values [N, out, H / stride, W / stride] of values [N, into, H, W]."""
        found = functional.relu(self.bn1(self.conv1(values)))
        return functional.relu(self.bn2(self.conv2(found)) + self._shortcut(values))

    def _shortcut(self, values: Any) -> Any:
        if not self._new_channels:
            return values
        fewer = values[:, :, :: self._stride, :: self._stride]
        before = self._new_channels // 2
        return functional.pad(fewer, [0, 0, before, self._new_channels - before, 0, 0, 0, 0])


CIFAR_RESNET20 = Net(
    "cifar_resnet20", partial(CifarResNet, 3), (3, 32, 32), "ResNet-20 for CIFAR-10, 0.27 million parameters"
)
CIFAR_RESNET56 = Net(
    "cifar_resnet56", partial(CifarResNet, 9), (3, 32, 32), "ResNet-56 for CIFAR-10, 0.85 million parameters"
)
