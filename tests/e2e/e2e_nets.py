"""Nets that were trained on the digits."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as fn
import pytest
from paddle import nn

import spokeshave
from spokeshave import models
from spokeshave.compress import Quantized
from spokeshave.data import digits


class Third(nn.Layer):  # type: ignore[misc]
    """What the other nets lack: relu6, a residual add, a concat, transposed products, a second output."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2D(1, 8, 3, stride=2, padding=1, bias_attr=False)
        self.depth = nn.Conv2D(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2D(8, 8, 1)
        self.side = nn.Conv2D(8, 4, 3, padding=1)
        self.hidden = self.create_parameter([24, 12 * 7 * 7])
        self.head = self.create_parameter([10, 24])
        self.shift = self.create_parameter([10], is_bias=True)
        self.parity = nn.Linear(24, 2)

    def forward(self, image: Any) -> Any:
        """Scores of the digit, and of its being odd."""
        stem = fn.relu6(self.stem(image))
        body = fn.relu(stem + self.point(fn.relu(self.depth(stem))))
        both = fn.avg_pool2d(paddle.concat([body, fn.relu(self.side(stem))], axis=1), 2, 2)
        hidden = fn.relu(paddle.matmul(paddle.flatten(both, 1), self.hidden, transpose_y=True))
        return paddle.matmul(hidden, paddle.t(self.head)) + self.shift, self.parity(hidden)


@dataclass(frozen=True)
class Recipe:
    """How a net is built, and for how long and how fast it is trained."""

    steps: int
    rate: float
    settings: tuple[tuple[str, Any], ...] = ()


RECIPES = {
    "lenet": Recipe(120, 0.05),
    # Fewer steps or no decay leave channels of very different ranges, which no quantizer serves well.
    "mobilenet_v1": Recipe(120, 0.05, (("scale", 0.25),)),
    "third": Recipe(120, 0.05),
}
NETS = tuple(RECIPES)
# As wide as it is used: too slow to train in every run.
FULL_SIZE = "mobilenet_v1_full"
ALL_RECIPES = {**RECIPES, FULL_SIZE: Recipe(120, 0.05)}
DECAY = 2e-3


def build(name: str) -> Any:
    """A fresh net, with names that do not hang on what was built before."""
    with paddle.utils.unique_name.guard():
        if name == "third":
            return Third()
        settings = dict(ALL_RECIPES[name].settings)
        return models.create(name.replace("_full", ""), num_classes=10, in_channels=1, **settings)


def save(net: Any, folder: Path, side: int, channels: int) -> Path:
    """Saves a net as Paddle does; gives the folder."""
    net.eval()
    spec = paddle.static.InputSpec([None, channels, side, side], "float32", "image")
    paddle.jit.save(net, str(folder / "model"), [spec])
    return folder


class Nets:
    """Trained nets by name: trained once, also where several processes run the tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._quantized: dict[str, tuple[Quantized, Path]] = {}

    def trained(self, name: str) -> Path:
        """The folder of a trained net."""
        folder = self._folder / name
        self._folder.mkdir(exist_ok=True)
        with (self._folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return folder if folder.is_dir() else save(_trained(name), folder, 28, 1)

    def quantized(self, name: str) -> tuple[Quantized, Path]:
        """What the first path makes of a trained net, and where it wrote it."""
        if name not in self._quantized:
            out = self._folder / f"{name}-{os.getpid()}"
            self._quantized[name] = spokeshave.quantize(self.trained(name), "digits", out), out
        return self._quantized[name]


@pytest.fixture(scope="session")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Nets:
    """The trained nets of this run."""
    base = tmp_path_factory.getbasetemp()
    # Each process of a parallel run has a folder of its own below the one of the run.
    return Nets((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "trained-nets")


def _trained(name: str) -> Any:
    paddle.seed(1)
    net, recipe = build(name), ALL_RECIPES[name]
    rate = paddle.optimizer.lr.CosineAnnealingDecay(recipe.rate, recipe.steps)
    optimizer = paddle.optimizer.Momentum(rate, 0.9, parameters=net.parameters(), weight_decay=DECAY)
    images, labels = digits("train")
    order = np.random.RandomState(0)
    for _ in range(recipe.steps):
        chosen = order.permutation(len(images))[:64]
        _loss(net(paddle.to_tensor(images[chosen])), paddle.to_tensor(labels[chosen])).backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
    return net


def _loss(found: Any, labels: Any) -> Any:
    if not isinstance(found, tuple):
        return fn.cross_entropy(found, labels)
    return fn.cross_entropy(found[0], labels) + fn.cross_entropy(found[1], labels % 2)
