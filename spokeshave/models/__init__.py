"""Nets by name, as Paddle layers. Paddle is imported when the first one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spokeshave.models._net import NETS, Net, create
from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.models.lenet import LeNet
    from spokeshave.models.mobilenet_v1 import MobileNetV1

__all__ = ["NETS", "LeNet", "MobileNetV1", "Net", "create"]

_HOMES = {
    "LeNet": "spokeshave.models.lenet",
    "MobileNetV1": "spokeshave.models.mobilenet_v1",
}
__getattr__, _ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
