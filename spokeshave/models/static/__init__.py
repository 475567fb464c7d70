"""Nets for static programs, with the names of parameters and values that PaddleSlim's tutorials count on."""

from spokeshave.models.static.mobilenet import MobileNet
from spokeshave.models.static.mobilenet_v2 import MobileNetV2
from spokeshave.models.static.resnet import ResNet34, ResNet50, StaticResNet

__all__ = ["MobileNet", "MobileNetV2", "ResNet34", "ResNet50", "StaticResNet"]
