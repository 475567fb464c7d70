"""Nets by name, as Paddle layers. Paddle is imported when the first one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spokeshave.models._net import NETS, Net, create
from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.models.cifar_resnet import CifarResNet
    from spokeshave.models.lenet import LeNet
    from spokeshave.models.mobilenet_v1 import MobileNetV1
    from spokeshave.models.mobilenet_v1_keras import MobileNetV1Keras
    from spokeshave.models.mobilenet_v3 import MobileNetV3
    from spokeshave.models.pp_lcnet import PPLCNet
    from spokeshave.models.resnet import ResNet

__all__ = [
    "NETS",
    "CifarResNet",
    "LeNet",
    "MobileNetV1",
    "MobileNetV1Keras",
    "MobileNetV3",
    "Net",
    "PPLCNet",
    "ResNet",
    "create",
]

_HOMES = {
    "CifarResNet": "spokeshave.models.cifar_resnet",
    "LeNet": "spokeshave.models.lenet",
    "MobileNetV1": "spokeshave.models.mobilenet_v1",
    "MobileNetV1Keras": "spokeshave.models.mobilenet_v1_keras",
    "MobileNetV3": "spokeshave.models.mobilenet_v3",
    "PPLCNet": "spokeshave.models.pp_lcnet",
    "ResNet": "spokeshave.models.resnet",
}
__getattr__, _ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
