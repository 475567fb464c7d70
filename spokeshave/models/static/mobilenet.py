"""MobileNetV1 for static programs."""

from __future__ import annotations

from paddle.nn import initializer

from spokeshave.models.mobilenet_v1 import BLOCKS, FIRST_CHANNELS
from spokeshave.models.static.layers import Layers
from spokeshave.seams import Value


class MobileNet:
    """MobileNetV1 for a static program.

    Parameters are named as in PaddleSlim: `conv1_weights`, `conv2_1_sep_bn_scale`, `fc7_offset`.
    `prefix_name` is put before each name, with an underscore.
    """

    def __init__(self, prefix_name: str = "") -> None:
        self.prefix_name = prefix_name

    def net(self, input: Value, class_dim: int = 1000, scale: float = 1.0) -> Value:
        """The shares of `class_dim` classes, behind a softmax, of pictures [N, C, H, W] from 28 pixels."""
        layers, prefix = Layers(input), before(self.prefix_name)
        width = int(FIRST_CHANNELS * scale)
        found = _conv_norm(layers, input, width, 3, f"{prefix}conv1", stride=2)
        for block, channels, stride in BLOCKS:
            name = f"{prefix}{block}"
            found = _conv_norm(layers, found, width, 3, f"{name}_dw", stride=stride, groups=width)
            width = int(channels * scale)
            found = _conv_norm(layers, found, width, 1, f"{name}_sep")
        return layers.classes(
            layers.mean(found),
            class_dim,
            weights=f"{prefix}fc7_weights",
            offset=f"{prefix}fc7_offset",
            start=initializer.KaimingUniform(),
        )


def before(prefix_name: str) -> str:
    """What is put before names: the prefix and an underscore, if there is one."""
    return f"{prefix_name}_" if prefix_name else ""


def _conv_norm(
    layers: Layers, values: Value, out: int, kernel: int, name: str, *, stride: int = 1, groups: int = 1
) -> Value:
    start = initializer.KaimingUniform()
    weights = f"{name}_weights"
    found = layers.conv(values, out, kernel, weights=weights, start=start, stride=stride, groups=groups)
    return layers.norm(found, f"{name}_bn", relu=True)
