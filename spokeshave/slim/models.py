"""`slim.models`: nets for static programs, as PaddleSlim's tutorials build them."""

from spokeshave.models.static import MobileNet, MobileNetV2, ResNet34, ResNet50

__all__ = ["MobileNet", "MobileNetV2", "ResNet34", "ResNet50"]
