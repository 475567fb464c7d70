"""PP-LCNet: depthwise-separable convolutions with h-swish, made for CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle
from paddle import nn

from spokeshave.models._blocks import ConvBN, Sides, widened
from spokeshave.models._net import Net

FIRST_CHANNELS = 16
# Kernel, output channels and whether it squeezes, of each block of each stage (table 1 of the paper). The
# first block of a stage has its stride.
STAGES = (
    ((3, 32, False),),
    ((3, 64, False), (3, 64, False)),
    ((3, 128, False), (3, 128, False)),
    ((3, 256, False), *[(5, 256, False)] * 5),
    ((5, 512, True), (5, 512, True)),
)
SQUEEZE = 4


class PPLCNet(nn.Layer):  # type: ignore[misc]
    """Thirteen depthwise-separable blocks behind one convolution; gives scores of pictures of any size.

    Cui et al., "PP-LCNet: A Lightweight CPU Convolutional Neural Network". 2.96 million weights at `scale` 1
    for 1000 classes; published from 0.25 to 2.5. Layers are named as in PaddleClas. `strides` are those of
    the first convolution and of the four stages that have one, each a number or height and width; models of
    text lines go down in height only. `codes` is how many channels the last convolution makes; None leaves
    it out.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        in_channels: int = 3,
        scale: float = 1.0,
        strides: Sequence[Sides] = (2, 2, 2, 2, 2),
        codes: int | None = 1280,
    ) -> None:
        super().__init__()
        first, *others = strides
        width = widened(FIRST_CHANNELS * scale)
        self.conv1 = ConvBN(in_channels, width, 3, stride=first, activation=nn.Hardswish)
        stages = []
        for blocks, stride in zip(STAGES, (1, *others)):
            layers = []
            for number, (kernel, channels, squeezes) in enumerate(blocks):
                wider = widened(channels * scale)
                layers.append(_DepthwiseSeparable(width, wider, kernel, 1 if number else stride, squeezes))
                width = wider
            stages.append(nn.Sequential(*layers))
        self.blocks2, self.blocks3, self.blocks4, self.blocks5, self.blocks6 = stages
        self.avg_pool = nn.AdaptiveAvgPool2D(1)
        self.last_conv = nn.Conv2D(width, codes, 1, bias_attr=False) if codes else None
        self.act = nn.Hardswish()
        # Of the two kinds of dropout, the one that scales at test time: trained weights count on it.
        self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
        self.fc = nn.Linear(codes or width, num_classes)

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        found = self.blocks3(self.blocks2(self.conv1(images)))
        found = self.avg_pool(self.blocks6(self.blocks5(self.blocks4(found))))
        if self.last_conv is not None:
            found = self.dropout(self.act(self.last_conv(found)))
        return self.fc(paddle.flatten(found, 1))


class _DepthwiseSeparable(nn.Layer):  # type: ignore[misc]
    """A depthwise convolution, squeeze-and-excitation if wanted, and a 1x1 convolution."""

    def __init__(self, into: int, out: int, kernel: int, stride: Sides, squeezes: bool) -> None:
        super().__init__()
        self.dw_conv = ConvBN(into, into, kernel, stride=stride, groups=into, activation=nn.Hardswish)
        self.se = _SqueezeExcitation(into) if squeezes else None
        self.pw_conv = ConvBN(into, out, 1, activation=nn.Hardswish)

    def forward(self, values: Any) -> Any:
        found = self.dw_conv(values)
        return self.pw_conv(self.se(found) if self.se else found)


class _SqueezeExcitation(nn.Layer):  # type: ignore[misc]
    """Scales each channel by what a small net makes of the means of all channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2D(1)
        self.conv1 = nn.Conv2D(channels, channels // SQUEEZE, 1)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(channels // SQUEEZE, channels, 1)
        self.hardsigmoid = nn.Hardsigmoid()

    def forward(self, values: Any) -> Any:
        means = self.avg_pool(values)
        return values * self.hardsigmoid(self.conv2(self.relu(self.conv1(means))))


PP_LCNET = Net("pp_lcnet", PPLCNet, (3, 224, 224), "PP-LCNet x1.0, 2.96 million parameters")
