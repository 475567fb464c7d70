"""The nets: their sizes, their two worlds, and that they learn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import static
from paddle.utils import unique_name

import spokeshave.models
from spokeshave.data import digits
from spokeshave.errors.registry import UnknownName
from spokeshave.models import NETS, LeNet, MobileNetV1, create


@contextmanager
def _program() -> Iterator[tuple[Any, Any]]:
    """A main program that is being built, and an executor, in a scope and with names of their own."""
    paddle.enable_static()
    main, startup = static.Program(), static.Program()
    try:
        with static.scope_guard(static.Scope()), unique_name.guard(), static.program_guard(main, startup):
            yield main, static.Executor(paddle.CPUPlace())
    finally:
        paddle.disable_static()


def _trainable_count(net: Any) -> int:
    return sum(int(np.prod(p.shape)) for p in net.parameters() if p.trainable)


def _sizes(net: Any) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in net.parameters()]


def _take_weights(ours: Any, theirs: Any) -> None:
    """Give both nets the same weights, in the order of their layers, and put them in test mode."""
    for mine, other in zip(ours.parameters(), theirs.parameters()):
        mine.set_value(other)
    ours.eval()
    theirs.eval()


def test_lenet_has_the_parameters_counted_by_hand() -> None:
    convs = (9 * 6 + 6) + (6 * 25 * 16 + 16)
    linears = (400 * 120 + 120) + (120 * 84 + 84) + (84 * 10 + 10)
    assert _trainable_count(LeNet()) == convs + linears == 61_610


def test_mobilenet_v1_has_the_parameters_of_the_paper() -> None:
    assert _trainable_count(MobileNetV1()) == pytest.approx(4.23e6, rel=0.005)


def test_mobilenet_v1_is_the_one_that_paddle_ships() -> None:
    ours, theirs = MobileNetV1(scale=0.25), paddle.vision.models.mobilenet_v1(scale=0.25)
    assert _sizes(ours) == _sizes(theirs)
    assert _sizes(MobileNetV1()) == _sizes(paddle.vision.models.mobilenet_v1())
    _take_weights(ours, theirs)
    images = paddle.to_tensor(np.random.RandomState(0).rand(2, 3, 64, 64).astype(np.float32))
    np.testing.assert_array_equal(ours(images).numpy(), theirs(images).numpy())


def test_lenet_has_the_convolutions_that_paddle_ships() -> None:
    ours, theirs = LeNet(), paddle.vision.models.LeNet()
    _take_weights(ours, theirs)
    images = paddle.to_tensor(digits("test")[0][:4])
    np.testing.assert_array_equal(ours.features(images).numpy(), theirs.features(images).numpy())


def test_every_weight_is_named_after_its_kind_of_layer() -> None:
    with unique_name.guard():
        names = [p.name for p in MobileNetV1().parameters()]
    assert names[:5] == [
        "conv2d_0.w_0",
        "batch_norm2d_0.w_0",
        "batch_norm2d_0.b_0",
        "batch_norm2d_0.w_1",
        "batch_norm2d_0.w_2",
    ]
    assert names[-2:] == ["linear_0.w_0", "linear_0.b_0"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("side", [28, 224])
def test_mobilenet_v1_takes_small_and_large_pictures(side: int) -> None:
    net = create("mobilenet_v1", num_classes=7, scale=0.25)
    assert list(net(paddle.zeros([2, 3, side, side])).shape) == [2, 7]


@pytest.mark.parametrize("net", NETS, ids=NETS.names())
def test_every_net_takes_the_input_that_its_row_says(net: Any) -> None:
    scores = create(net.name, num_classes=5)(paddle.zeros([2, *net.input_shape]))
    assert list(scores.shape) == [2, 5]
    assert net.doc


def test_lenet_takes_other_channels_and_classes() -> None:
    assert list(create("lenet", num_classes=3, in_channels=3)(paddle.zeros([1, 3, 28, 28])).shape) == [1, 3]


def test_lenet_has_a_relu_between_its_linear_layers() -> None:
    paddle.seed(0)
    net = LeNet()
    weights = [p.numpy() for p in net.classifier.parameters()]
    codes = np.random.RandomState(0).randn(4, 400).astype(np.float32)
    inner = np.maximum(codes @ weights[0] + weights[1], 0)
    inner = np.maximum(inner @ weights[2] + weights[3], 0)
    found = net.classifier(paddle.to_tensor(codes)).numpy()
    # Sums of 400 float32 products, added in another order.
    np.testing.assert_allclose(found, inner @ weights[4] + weights[5], rtol=1e-4, atol=1e-5)


def test_names_are_found_and_an_unknown_one_gets_its_neighbours() -> None:
    assert NETS.names() == ("lenet", "mobilenet_v1")
    with pytest.raises(UnknownName, match=r"no net named 'mobilnet_v1'.*mobilenet_v1"):
        create("mobilnet_v1")


def test_every_public_name_is_there_on_access() -> None:
    assert dir(spokeshave.models) == sorted(spokeshave.models.__all__)
    assert all(getattr(spokeshave.models, name) is not None for name in spokeshave.models.__all__)
    with pytest.raises(AttributeError, match="LeNett"):
        spokeshave.models.LeNett  # noqa: B018


def test_paddle_stays_out_until_a_net_is_asked_for() -> None:
    code = "import sys, spokeshave.models as m; early = 'paddle' in sys.modules; m.LeNet; sys.exit(early)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["lenet", "mobilenet_v1"])
def test_both_worlds_give_the_same_with_the_same_weights(name: str) -> None:
    settings: dict[str, Any] = {
        "num_classes": 10,
        "in_channels": 1,
        **({"scale": 0.25} if name != "lenet" else {}),
    }
    images = digits("test")[0][:8]
    layer = create(name, **settings)
    layer.eval()
    expected = layer(paddle.to_tensor(images)).numpy()
    weights = [p.numpy() for p in layer.parameters()]
    with _program() as (main, executor):
        x = static.data("x", [-1, 1, 28, 28], "float32")
        twin = create(name, **settings)
        twin.eval()
        scores = twin(x)
        executor.run(static.default_startup_program())
        for parameter, weight in zip(twin.parameters(), weights):
            tensor = static.global_scope().find_var(parameter.name).get_tensor()
            tensor.set(weight, paddle.CPUPlace())
        found = executor.run(main, feed={"x": images}, fetch_list=[scores])[0]
    # The same kernels run in both; only the order of a fused bias may differ.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["lenet", "mobilenet_v1"])
def test_one_step_in_a_static_program_lowers_the_loss(name: str) -> None:
    settings: dict[str, Any] = {
        "num_classes": 10,
        "in_channels": 1,
        **({"scale": 0.25} if name != "lenet" else {}),
    }
    images, labels = (array[:64] for array in digits("train"))
    paddle.seed(1)
    with _program() as (main, executor):
        x = static.data("x", [-1, 1, 28, 28], "float32")
        y = static.data("y", [-1, 1], "int64")
        loss = paddle.nn.functional.cross_entropy(create(name, **settings)(x), y)
        paddle.optimizer.SGD(0.05).minimize(loss)
        executor.run(static.default_startup_program())
        before, after = (
            float(executor.run(main, feed={"x": images, "y": labels}, fetch_list=[loss])[0]) for _ in range(2)
        )
    assert after < before
