"""MobileNetV1 as Keras Applications has it, with the details that its trained weights need."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn

from spokeshave.models._net import Net
from spokeshave.models.mobilenet_v1 import BLOCKS, FIRST_CHANNELS

EPSILON = 1e-3


class MobileNetV1Keras(nn.Layer):  # type: ignore[misc]
    """MobileNetV1 with TensorFlow's padding, ReLU6 and a 1x1 convolution as classifier; gives scores.

    Layers are named as in Keras Applications (`conv_dw_1`, `conv_pw_1_bn` …). Where the stride is 2, an even
    side is padded by one pixel at its end only. 4.23 million weights for 1000 classes.
    """

    def __init__(self, num_classes: int = 1000, in_channels: int = 3, scale: float = 1.0) -> None:
        super().__init__()
        channels = int(FIRST_CHANNELS * scale)
        self._order: list[str] = []
        self._add("conv1", nn.Conv2D(in_channels, channels, 3, 2, padding="SAME", bias_attr=False))
        for number, (_, width, stride) in enumerate(BLOCKS, start=1):
            wider = int(width * scale)
            self._add(
                f"conv_dw_{number}",
                nn.Conv2D(channels, channels, 3, stride, padding="SAME", groups=channels, bias_attr=False),
            )
            self._add(f"conv_pw_{number}", nn.Conv2D(channels, wider, 1, bias_attr=False))
            channels = wider
        self.relu = nn.ReLU6()
        self.pool = nn.AdaptiveAvgPool2D(1)
        self.conv_preds = nn.Conv2D(channels, num_classes, 1)

    def forward(self, images: Any) -> Any:
        """Scores [N, num_classes] of pictures [N, in_channels, H, W]."""
        found = images
        for name in self._order:
            found = self.relu(getattr(self, f"{name}_bn")(getattr(self, name)(found)))
        return paddle.flatten(self.conv_preds(self.pool(found)), 1)

    def _add(self, name: str, conv: Any) -> None:
        """The next convolution, and its batch norm."""
        self._order.append(name)
        self.add_sublayer(name, conv)
        self.add_sublayer(f"{name}_bn", nn.BatchNorm2D(conv.weight.shape[0], epsilon=EPSILON))


MOBILENET_V1_KERAS = Net(
    "mobilenet_v1_keras",
    MobileNetV1Keras,
    (3, 224, 224),
    "MobileNetV1 of Keras Applications (TensorFlow's padding, ReLU6), 4.23 million parameters",
)
