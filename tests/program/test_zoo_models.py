"""Every net of the shelf in every form that a model takes, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from old_models import Old, built_old
from paddle import static
from paddle.utils import unique_name

from spokeshave.models import NETS, create
from spokeshave.program import Model, as_layer, capture, load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

SIDE, CLASSES = 32, 5
IMAGES = np.random.RandomState(0).standard_normal((2, 1, SIDE, SIDE)).astype(np.float32)
LABELS = np.array([[1], [3]])
# Narrow where a net can be: what holds hangs on the kinds of layers, not on their width.
NARROW = {
    "mobilenet_v1": {"scale": 0.25},
    "mobilenet_v2": {"scale": 0.25},
    "mobilenet_v3_small": {"scale": 0.5},
    "mobilenet_v3_large": {"scale": 0.35},
    "pp_lcnet": {"scale": 0.25},
}
every_net = pytest.mark.parametrize("name", NETS.names())


def built(name: str) -> Any:
    """A net with names of its own, for small pictures of one channel."""
    paddle.seed(0)
    with unique_name.guard():
        return create(name, num_classes=CLASSES, in_channels=1, **NARROW.get(name, {}))


def pictures(name: str) -> Any:
    return IMAGES[:, :, :28, :28] if name == "lenet" else IMAGES


def spec_of(name: str) -> list[int | None]:
    return [None, *pictures(name).shape[1:]]


def paddle_3(name: str, folder: Path) -> Path:
    net = built(name)
    net.eval()
    paddle.jit.save(net, str(folder / "m"), [static.InputSpec(spec_of(name), "float32", "image")])
    return folder


def old(name: str) -> Old:
    """The net as a program of Paddle 2, with weights of its own."""

    def build() -> tuple[list[Any], list[Any]]:
        image = static.data("image", spec_of(name), "float32")
        net = create(name, num_classes=CLASSES, in_channels=1, **NARROW.get(name, {}))
        net.eval()
        return [image], [net(image)]

    return built_old(build)


def paddle_2(name: str, folder: Path) -> Path:
    old(name).save(folder / "m")
    return folder


def fluid(name: str, folder: Path) -> Path:
    return old(name).save_fluid(folder)


def ran(model: Model, name: str) -> Any:
    [found] = model.run({"image": pictures(name)}).values()
    return found


@every_net
@pytest.mark.parametrize("write", [paddle_3, paddle_2, fluid])
def test_what_is_loaded_and_saved_and_loaded_again_gives_the_same(
    write: Callable[[str, Path], Path], name: str, tmp_path: Path
) -> None:
    model = load(write(name, tmp_path / "in" if write is fluid else tmp_path))
    save(model, tmp_path / "out" / "m")
    found = ran(load(tmp_path / "out"), name)
    np.testing.assert_array_equal(found, ran(model, name))
    assert np.ptp(found) > 0, "scores that are all alike say nothing"


@every_net
def test_a_saved_net_gives_what_the_layer_gives(name: str, tmp_path: Path) -> None:
    model = load(paddle_3(name, tmp_path))
    net = built(name)
    net.eval()
    expected = net(paddle.to_tensor(pictures(name))).numpy()
    # The same weights from the same seed; a file keeps all that matters.
    np.testing.assert_array_equal(ran(model, name), expected)


@cache
def captured(name: str) -> tuple[Any, Any]:
    net = built(name)
    net.train()
    return net, as_layer(capture(net, [spec_of(name)]))


@every_net
def test_a_net_and_the_layer_of_its_program_learn_the_same(name: str) -> None:
    net, layer = captured(name)
    steps = []
    for one in (net, layer):
        paddle.seed(4)
        loss = F.cross_entropy(one(paddle.to_tensor(pictures(name))), paddle.to_tensor(LABELS))
        loss.backward()
        gradients = [p.grad.numpy() for p in one.parameters() if p.grad is not None]
        steps.append((float(loss), sorted(gradients, key=lambda g: (g.shape, g.tobytes()))))
    (loss, gradients), (same_loss, same) = steps
    assert same_loss == loss
    assert len(same) == len(gradients) > 0
    for found, expected in zip(same, gradients):
        np.testing.assert_array_equal(found, expected)
