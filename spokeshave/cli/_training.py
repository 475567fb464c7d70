"""Nets made, trained in seconds and saved, for the demonstration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle.utils import unique_name

from spokeshave.models import create

BATCH_SIZE = 64
LEARNING_RATE = 2e-3


def untrained(name: str, seed: int) -> Any:
    """A net with fresh weights, the same for the same seed."""
    paddle.seed(seed)
    with unique_name.guard():
        return create(name)


def steps(net: Any, images: np.ndarray, labels: np.ndarray, count: int, seed: int) -> Iterator[float]:
    """Trains a net by `count` steps of Adam, one for each loss that is pulled; the order is the seed's."""
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(LEARNING_RATE, count)
    optimizer = paddle.optimizer.Adam(schedule, parameters=net.parameters())
    net.train()
    for chosen in _batches(len(images), count, seed):
        scores = net(paddle.to_tensor(images[chosen]))
        loss = paddle.nn.functional.cross_entropy(scores, paddle.to_tensor(labels[chosen]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        yield float(loss)


def save_layer(net: Any, prefix: Path, shape: tuple[int, ...]) -> None:
    """Writes a net as Paddle users do, with one input `image` of that shape and any batch size."""
    net.eval()
    spec = paddle.static.InputSpec([None, *shape], "float32", name="image")
    paddle.jit.save(net, str(prefix), input_spec=[spec])


def _batches(samples: int, count: int, seed: int) -> Iterator[np.ndarray]:
    # RandomState is frozen by NumPy's policy; default_rng may give another order in a later version.
    random = np.random.RandomState(seed)
    order = random.permutation(samples)
    for _ in range(count):
        if len(order) < BATCH_SIZE:
            order = random.permutation(samples)
        chosen, order = order[:BATCH_SIZE], order[BATCH_SIZE:]
        yield chosen
