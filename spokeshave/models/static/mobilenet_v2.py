"""MobileNetV2 for static programs."""

from __future__ import annotations

from paddle.nn import initializer

from spokeshave.models.mobilenet_v2 import FIRST_CHANNELS, LAST_CHANNELS, STAGES
from spokeshave.models.static.layers import Layers
from spokeshave.models.static.mobilenet import before
from spokeshave.seams import Value

# How often the blocks of each stage are repeated in PaddleSlim's deeper form.
DEEPER = (1, 2, 5, 7, 5, 3, 1)


class MobileNetV2:
    """MobileNetV2 for a static program.

    Parameters are named as in PaddleSlim: `conv1_1_weights`, `conv2_1_dwise_bn_scale`, `fc10_offset`.
    `prefix_name` is put before each name, with an underscore. As there, the first block has a 1x1 convolution
    that makes 32 channels of 32, which the paper's has not. `change_depth` repeats the blocks more often.
    """

    def __init__(self, scale: float = 1.0, change_depth: bool = False, prefix_name: str = "") -> None:
        self.scale, self.change_depth, self.prefix_name = scale, change_depth, prefix_name

    def net(self, input: Value, class_dim: int = 1000) -> Value:
        """The shares of `class_dim` classes, behind a softmax, of pictures [N, C, H, W] from 28 pixels."""
        layers, prefix = Layers(input), before(self.prefix_name)
        found = _conv_norm(layers, input, int(FIRST_CHANNELS * self.scale), 3, f"{prefix}conv1_1", stride=2)
        for number, (expansion, channels, repeats, stride) in enumerate(STAGES, start=2):
            wider = int(channels * self.scale)
            depth = DEEPER[number - 2] if self.change_depth else repeats
            for block in range(1, depth + 1):
                name = f"{prefix}conv{number}_{block}"
                found = _block(layers, found, wider, name, expansion, stride if block == 1 else None)
        last = int(LAST_CHANNELS * max(1.0, self.scale))
        return layers.classes(
            layers.mean(_conv_norm(layers, found, last, 1, f"{prefix}conv9")),
            class_dim,
            weights=f"{prefix}fc10_weights",
            offset=f"{prefix}fc10_offset",
            start=initializer.XavierUniform(),
        )


def _block(layers: Layers, values: Value, out: int, name: str, expansion: int, stride: int | None) -> Value:
    """Expand, convolve each channel, and project; the first block of a stage has a stride and no shortcut."""
    inner = values.shape[1] * expansion
    found = _conv_norm(layers, values, inner, 1, f"{name}_expand")
    found = _conv_norm(layers, found, inner, 3, f"{name}_dwise", stride=stride or 1, groups=inner)
    found = _conv_norm(layers, found, out, 1, f"{name}_linear", is_linear=True)
    return found if stride else layers.add(values, found)


def _conv_norm(
    layers: Layers,
    values: Value,
    out: int,
    kernel: int,
    name: str,
    *,
    stride: int = 1,
    groups: int = 1,
    is_linear: bool = False,
) -> Value:
    start = initializer.KaimingNormal(fan_in=values.shape[1] * kernel * kernel)
    weights = f"{name}_weights"
    found = layers.conv(values, out, kernel, weights=weights, start=start, stride=stride, groups=groups)
    found = layers.norm(found, f"{name}_bn")
    return found if is_linear else layers.relu6(found)
