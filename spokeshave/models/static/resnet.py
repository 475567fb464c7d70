"""ResNet34 and ResNet50 for static programs."""

from __future__ import annotations

from math import sqrt

from paddle.nn import initializer

from spokeshave.models.resnet import FIRST_CHANNELS, STAGES
from spokeshave.models.static.layers import Layers
from spokeshave.models.static.mobilenet import before
from spokeshave.seams import Value

DEPTHS = (3, 4, 6, 3)
EXPANSION = 4


class StaticResNet:
    """A ResNet of 34 or 50 layers for a static program.

    Parameters are named as in PaddleSlim: `res2a_branch2a_weights`, `bn2a_branch2a_scale`, `fc_0.w_0`. Values
    are named after their layer (`res2a_branch2a.conv2d.output.1.tmp_0`). `prefix_name` is put before each
    name, with an underscore; the last layer counts up (`fc_0`) unless `net` is told its name.
    """

    def __init__(self, layers: int, prefix_name: str = "") -> None:
        self.layers, self.prefix_name = layers, prefix_name

    def net(
        self,
        input: Value,
        class_dim: int = 1000,
        conv1_name: str = "conv1",
        fc_name: str | None = None,
    ) -> Value:
        """The shares of `class_dim` classes, behind a softmax, of pictures [N, C, H, W] from 28 pixels."""
        layers, prefix = _Blocks(input, before(self.prefix_name)), before(self.prefix_name)
        found = layers.conv_norm(input, FIRST_CHANNELS, 7, conv1_name, stride=2, relu=True)
        found = layers.max_pool(found)
        block = layers.bottleneck if self.layers >= 50 else layers.basic
        for number, ((channels, first_stride), depth) in enumerate(zip(STAGES, DEPTHS), start=2):
            for place in range(depth):
                stride = 1 if place else first_stride
                found = block(found, channels, stride, f"res{number}{chr(ord('a') + place)}")
        bound = 1 / sqrt(found.shape[1])
        return layers.classes(
            layers.mean(found),
            class_dim,
            start=initializer.Uniform(-bound, bound),
            name=f"{prefix}{fc_name}" if fc_name else None,
        )


def ResNet34(prefix_name: str = "") -> StaticResNet:  # noqa: N802
    """A ResNet of 34 layers; its first block has a convolution in its shortcut, which the paper's has not."""
    return StaticResNet(34, prefix_name)


def ResNet50(prefix_name: str = "") -> StaticResNet:  # noqa: N802
    """A ResNet of 50 layers; a bottleneck has its stride in its 3x3 convolution."""
    return StaticResNet(50, prefix_name)


class _Blocks(Layers):
    """The blocks of a ResNet."""

    def __init__(self, images: Value, prefix: str) -> None:
        super().__init__(images)
        self._prefix = prefix

    def conv_norm(
        self, values: Value, out: int, kernel: int, name: str, *, stride: int = 1, relu: bool = False
    ) -> Value:
        start = initializer.KaimingNormal(fan_in=values.shape[1] * kernel * kernel)
        full, norm = f"{self._prefix}{name}", f"{self._prefix}{_norm_name(name)}"
        label = f"{full}.conv2d.output.1"
        found = self.conv(
            values, out, kernel, weights=f"{full}_weights", start=start, stride=stride, name=label
        )
        return self.norm(found, norm, name=f"{norm}.output.1", relu=relu)

    def basic(self, values: Value, out: int, stride: int, name: str) -> Value:
        found = self.conv_norm(values, out, 3, f"{name}_branch2a", stride=stride, relu=True)
        found = self.conv_norm(found, out, 3, f"{name}_branch2b")
        shortcut = values
        if stride != 1 or name == "res2a":
            shortcut = self.conv_norm(values, out, 1, f"{name}_branch1", stride=stride)
        return self.add(shortcut, found, relu=True)

    def bottleneck(self, values: Value, width: int, stride: int, name: str) -> Value:
        out = width * EXPANSION
        found = self.conv_norm(values, width, 1, f"{name}_branch2a", relu=True)
        found = self.conv_norm(found, width, 3, f"{name}_branch2b", stride=stride, relu=True)
        found = self.conv_norm(found, out, 1, f"{name}_branch2c")
        shortcut = values
        if values.shape[1] != out:
            shortcut = self.conv_norm(values, out, 1, f"{name}_branch1", stride=stride)
        return self.add(shortcut, found, name=f"{self._prefix}{name}.add.output.5", relu=True)


def _norm_name(conv: str) -> str:
    """The batch norm of `res2a_branch2a` is `bn2a_branch2a`; that of `conv1` is `bn_conv1`."""
    return f"bn_{conv}" if conv == "conv1" else f"bn{conv[3:]}"
