"""Nets with weights that others trained reach what others measured."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from PIL import Image

from spokeshave.models import create, load_weights
from spokeshave.program import load
from spokeshave.seams import parameter_ops, read_tensor

# From the shared models' README: measured with the nets of those who trained them.
CIFAR = {
    "cifar_resnet20": ("resnet20.safetensors", 0.9173),
    "cifar_resnet56": ("resnet56_fp16conv.safetensors", 0.9340),
}


def cifar(shared: Path, strips: int) -> tuple[np.ndarray, np.ndarray]:
    """The first pictures of the test set, 500 in each strip, normalised as the nets were trained."""
    file = np.load(shared / "data/cifar10/cifar10_test.npz")
    keys = sorted(key for key in file.files if key.startswith("s"))[:strips]
    pictures = [np.asarray(Image.open(io.BytesIO(file[key].tobytes())).convert("RGB")) for key in keys]
    images = np.concatenate(pictures).reshape(-1, 32, 32, 3) / 255
    images = (images - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    return images.transpose(0, 3, 1, 2).astype(np.float32), file["labels"][: len(images)]


def photos(shared: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Photos of ImageNet's classes, evenly chosen, their centres, between -1 and 1."""
    folder = shared / "data/imagenet_photos"
    rows = [line.split() for line in (folder / "val_list.txt").read_text().splitlines()]
    rows = rows[:: len(rows) // count]
    pictures = [np.asarray(Image.open(folder / name))[16:240, 16:240] for name, _ in rows]
    images = (np.stack(pictures) / 127.5 - 1).transpose(0, 3, 1, 2).astype(np.float32)
    return images, np.array([int(label) for _, label in rows])


def right(net: Any, images: np.ndarray, labels: np.ndarray) -> int:
    """How many pictures get the class that they are of."""
    net.eval()
    batches = range(0, len(images), 100)
    with paddle.no_grad():
        best = [net(paddle.to_tensor(images[at : at + 100])).numpy().argmax(axis=1) for at in batches]
    return int((np.concatenate(best) == labels).sum())


@pytest.mark.parametrize("name", CIFAR)
def test_a_cifar_resnet_is_right_on_the_first_pictures(shared: Path, name: str) -> None:
    net = create(name)
    file, _ = CIFAR[name]
    assert load_weights(net, shared / "models" / file) == ()
    images, labels = cifar(shared, 1)
    # 94 and 96 were seen; by chance it would be ten.
    assert right(net, images[:100], labels[:100]) >= 90


def test_the_keras_mobilenet_is_right_on_some_photos(shared: Path) -> None:
    net = create("mobilenet_v1_keras", scale=0.25)
    assert load_weights(net, shared / "models/mobilenet_v1_0.25_224.safetensors") == ()
    # Of twenty, eleven were seen; by chance it would be none.
    assert right(net, *photos(shared, 20)) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("name", CIFAR)
def test_a_cifar_resnet_reaches_the_accuracy_of_its_author(shared: Path, name: str) -> None:
    net = create(name)
    file, accuracy = CIFAR[name]
    load_weights(net, shared / "models" / file)
    images, labels = cifar(shared, 20)
    assert len(images) == 10_000
    # Published with two decimals of a percent; a picture on the border may fall on either side.
    assert right(net, images, labels) == pytest.approx(10_000 * accuracy, abs=1)


@pytest.mark.slow
def test_the_keras_mobilenet_reaches_what_was_measured(shared: Path) -> None:
    net = create("mobilenet_v1_keras", scale=0.25)
    load_weights(net, shared / "models/mobilenet_v1_0.25_224.safetensors")
    assert right(net, *photos(shared, 200)) == pytest.approx(0.57 * 200, abs=1)


def test_pp_lcnet_is_the_net_that_paddleocr_ships(shared: Path) -> None:
    """The direction of text lines: a net of two classes, whose strides go down in height only."""
    shipped = load(shared / "models/paddle/PP-LCNet_x0_25_textline_ori")
    # Their names end in the number that the layers had in the order in which they were made.
    stored = sorted(parameter_ops(shipped.program), key=lambda name: int(name.rpartition("_")[2]))
    strides = ((1, 2), (2, 1), (2, 1), (2, 1), (2, 1))
    net = create("pp_lcnet", num_classes=2, scale=0.25, strides=strides, codes=None)
    parameters = net.parameters()
    assert len(parameters) == len(stored)
    for parameter, name in zip(parameters, stored):
        parameter.set_value(read_tensor(shipped.scope, name))
    net.eval()
    images = np.random.RandomState(0).randn(2, 3, 80, 160).astype(np.float32)
    (expected,) = shipped.run({"x": images}).values()
    found = paddle.nn.functional.softmax(net(paddle.to_tensor(images))).numpy()
    # Sums of the same products in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
