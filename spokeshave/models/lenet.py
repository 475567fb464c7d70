"""LeNet, the small net for pictures of handwriting."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional

from spokeshave.models._net import Net

# What the two convolutions leave of 28 pixels.
SIDE = 5


class LeNet(nn.Layer):  # type: ignore[misc]
    """Two convolutions with pooling and three linear layers, for pictures of 28 pixels; gives scores.

    After LeCun et al., "Gradient-based learning applied to document recognition", with ReLU and max pooling.
    61,610 parameters for 10 classes and one channel. Features of larger pictures are averaged down to those
    of 28 pixels.
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(in_channels, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(16 * SIDE * SIDE, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, num_classes),
        )

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W] of 28 pixels a side or more."""
        found = self.features(images)
        if list(found.shape[2:]) != [SIDE, SIDE]:
            found = functional.adaptive_avg_pool2d(found, SIDE)
        return self.classifier(paddle.flatten(found, 1))


LENET = Net("lenet", LeNet, (1, 28, 28), "LeNet for 28-pixel pictures, 61,610 parameters")
