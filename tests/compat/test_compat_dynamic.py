"""What Paddle does by itself in dynamic mode goes on working while old habits are served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.static import InputSpec

from spokeshave import compat
from spokeshave.program import as_layer, capture

BATCH = np.random.RandomState(0).standard_normal((3, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    paddle.disable_static()
    compat.enable()
    yield
    compat.disable()


def net() -> Any:
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1D(5), nn.ReLU(), nn.Linear(5, 2))


def loss_after_a_step(layer: Any) -> float:
    """The second loss of two steps."""
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    found = 0.0
    for _ in range(2):
        loss = (layer(paddle.to_tensor(BATCH)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found = float(loss)
    return found


def test_saved_layers_load_again(tmp_path: Path) -> None:
    layer = net()
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "m"), [InputSpec([None, 4], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "m"))
    x = paddle.to_tensor(BATCH)
    np.testing.assert_array_equal(loaded(x).numpy(), layer(x).numpy())


def test_static_and_captured_layers_train_as_the_layer_does() -> None:
    layer = net()
    numbers = {name: tensor.numpy().copy() for name, tensor in layer.state_dict().items()}
    expected = loss_after_a_step(layer)
    for turn in (made_static, captured):
        twin = net()
        twin.set_state_dict(numbers)
        assert loss_after_a_step(turn(twin)) == expected


def made_static(layer: Any) -> Any:
    return paddle.jit.to_static(layer, full_graph=True)


def captured(layer: Any) -> Any:
    return as_layer(capture(layer, [[None, 4]], training=True))
