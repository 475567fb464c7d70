"""Building blocks that several nets share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from paddle import nn

CHANNEL_STEP = 8

Sides = Union[int, Sequence[int]]  # one number for both sides, or one for height and one for width


def widened(channels: float) -> int:
    """A scaled number of channels as a multiple of eight, not more than a tenth below it."""
    rounded = max(CHANNEL_STEP, int(channels + CHANNEL_STEP / 2) // CHANNEL_STEP * CHANNEL_STEP)
    return rounded + CHANNEL_STEP if rounded < 0.9 * channels else rounded


class ConvBN(nn.Layer):  # type: ignore[misc]
    """A convolution without bias, its batch norm, and an activation if there is one.

    Batch norm takes away the mean, so a bias before it would do nothing.
    """

    def __init__(
        self,
        into: int,
        out: int,
        kernel: int,
        *,
        stride: Sides = 1,
        groups: int = 1,
        activation: type[Any] | None = None,
    ) -> None:
        super().__init__()
        padding = (kernel - 1) // 2
        self.conv = nn.Conv2D(into, out, kernel, stride, padding, groups=groups, bias_attr=False)
        self.bn = nn.BatchNorm2D(out)
        self.act = activation() if activation else None

    def forward(self, values: Any) -> Any:
        """What the three make of values [N, into, H, W]."""
        normal = self.bn(self.conv(values))
        return self.act(normal) if self.act else normal
