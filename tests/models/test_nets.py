"""The nets: their sizes, their two worlds, and that they learn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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

every_net = pytest.mark.parametrize("name", NETS.names())

# Weights that train, for the classes and channels that are published. LeNet is counted by hand below.
PUBLISHED = {
    "cifar_resnet20": (0.27e6, "He et al., table 6"),
    "cifar_resnet56": (0.85e6, "He et al., table 6"),
    "lenet": (61_610, "by hand"),
    "mobilenet_v1": (4.23e6, "Howard et al., table 8: 4.2 million"),
    "mobilenet_v1_keras": (4_231_976, "Keras Applications: 4,253,864 with 21,888 that do not train"),
    "mobilenet_v2": (3.50e6, "torchvision: 3,504,872"),
    "mobilenet_v3_large": (5.48e6, "torchvision: 5,483,032"),
    "mobilenet_v3_small": (2.54e6, "torchvision: 2,542,856"),
    "pp_lcnet": (2.96e6, "Cui et al., table 3: 3.0 million"),
    "resnet18": (11.69e6, "torchvision: 11,689,512"),
    "resnet34": (21.80e6, "torchvision: 21,797,672"),
    "resnet50": (25.56e6, "torchvision: 25,557,032"),
}
SHIPPED_BY_PADDLE = [
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "resnet18",
    "resnet34",
    "resnet50",
]


def small(name: str, **settings: Any) -> Any:
    """A net for ten digits of one channel, narrow where it can be."""
    narrow = {"scale": 0.25} if name.startswith(("mobilenet", "pp_")) else {}
    return create(name, **{"num_classes": 10, "in_channels": 1, **narrow, **settings})


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


def _images(*shape: int) -> Any:
    return paddle.to_tensor(np.random.RandomState(0).rand(*shape).astype(np.float32))


def _shuffle_statistics(net: Any) -> None:
    """Moves batch norm statistics off zero and one, where a mix-up of the two would not show."""
    random = np.random.RandomState(1)
    for key, value in net.state_dict().items():
        if key.endswith(("._mean", "._variance")):
            value.set_value(random.uniform(0.5, 1.5, value.shape).astype(np.float32))


def test_every_net_has_a_published_size_to_be_held_to() -> None:
    assert tuple(PUBLISHED) == NETS.names()


@every_net
def test_a_net_has_the_weights_of_its_paper(name: str) -> None:
    published, source = PUBLISHED[name]
    # The figures have three digits.
    assert _trainable_count(create(name)) == pytest.approx(published, rel=0.005), source


def test_lenet_has_the_parameters_counted_by_hand() -> None:
    convs = (9 * 6 + 6) + (6 * 25 * 16 + 16)
    linears = (400 * 120 + 120) + (120 * 84 + 84) + (84 * 10 + 10)
    assert _trainable_count(LeNet()) == convs + linears == 61_610


@pytest.mark.parametrize(
    ("scale", "millions"),
    [(0.25, 1.5), (0.35, 1.6), (0.5, 1.9), (0.75, 2.4), (1.5, 4.5), (2.0, 6.5), (2.5, 9.0)],
)
def test_pp_lcnet_has_the_weights_of_each_published_scale(scale: float, millions: float) -> None:
    # Published with one decimal.
    assert round(_trainable_count(create("pp_lcnet", scale=scale)) / 1e6, 1) == millions


@pytest.mark.parametrize("name", SHIPPED_BY_PADDLE)
def test_a_net_that_paddle_ships_is_that_net(name: str) -> None:
    ours, theirs = create(name, num_classes=5), getattr(paddle.vision.models, name)(num_classes=5)
    _shuffle_statistics(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.set_state_dict(theirs.state_dict())
    ours.eval()
    theirs.eval()
    images = _images(2, 3, 64, 64)
    np.testing.assert_array_equal(ours(images).numpy(), theirs(images).numpy())


@pytest.mark.parametrize("scale", [0.25, 0.75, 1.5])
@pytest.mark.parametrize("name", [n for n in SHIPPED_BY_PADDLE if n.startswith("mobilenet")])
def test_a_scaled_net_has_the_shapes_that_paddle_ships(name: str, scale: float) -> None:
    ours, theirs = create(name, scale=scale), getattr(paddle.vision.models, name)(scale=scale)
    assert [p.shape for p in ours.parameters()] == [p.shape for p in theirs.parameters()]


def test_lenet_has_the_convolutions_that_paddle_ships() -> None:
    ours, theirs = LeNet(), paddle.vision.models.LeNet()
    for mine, other in zip(ours.parameters(), theirs.parameters()):
        mine.set_value(other)
    images = paddle.to_tensor(digits("test")[0][:4])
    np.testing.assert_array_equal(ours.features(images).numpy(), theirs.features(images).numpy())


@every_net
def test_names_count_up_by_kind_of_layer_and_are_the_same_each_time(name: str) -> None:
    with unique_name.guard():
        first = [p.name for p in small(name).parameters()]
    with unique_name.guard():
        again = [p.name for p in small(name, in_channels=5).parameters()]
    assert first == again
    assert len(set(first)) == len(first)
    assert first[0] == "conv2d_0.w_0"


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


@pytest.mark.parametrize(("channels", "size"), [(1, (28, 28)), (4, (31, 45))])
@every_net
def test_a_net_takes_any_channels_and_pictures_from_28_pixels(
    name: str, channels: int, size: tuple[int, int]
) -> None:
    net = small(name, num_classes=7, in_channels=channels)
    assert list(net(paddle.zeros([2, channels, *size])).shape) == [2, 7]


@every_net
def test_a_net_takes_the_input_that_its_row_says(name: str) -> None:
    row = NETS[name]
    scores = small(name, in_channels=row.input_shape[0])(paddle.zeros([1, *row.input_shape]))
    assert list(scores.shape) == [1, 10]
    assert row.doc


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


def test_lenet_of_28_pixels_needs_no_pooling_before_its_classifier() -> None:
    capture = paddle.jit.to_static(LeNet(), full_graph=True, input_spec=[static.InputSpec([None, 1, 28, 28])])
    program = capture.forward.concrete_program.main_program
    assert [op.name() for op in program.global_block().ops].count("pd_op.pool2d") == 2


def test_the_keras_net_pads_even_sides_at_their_end_only() -> None:
    net = small("mobilenet_v1_keras")
    images = _images(1, 1, 32, 32)
    padded = paddle.nn.functional.pad(images, [0, 1, 0, 1])
    expected = paddle.nn.functional.conv2d(padded, net.conv1.weight, stride=2)
    # The same products, summed in an order that padding may change.
    np.testing.assert_allclose(net.conv1(images).numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_a_cifar_shortcut_skips_pixels_and_puts_zeros_round_the_channels() -> None:
    block = create("cifar_resnet20").layer2[0]
    values = _images(1, 16, 8, 8)
    found = block._shortcut(values).numpy()
    assert found.shape == (1, 32, 4, 4)
    np.testing.assert_array_equal(found[:, 8:24], values.numpy()[:, :, ::2, ::2])
    assert not found[:, :8].any()
    assert not found[:, 24:].any()


def test_names_are_found_and_an_unknown_one_gets_its_neighbours() -> None:
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


@every_net
def test_both_worlds_give_the_same_with_the_same_weights(name: str) -> None:
    images = digits("test")[0][:8]
    paddle.seed(0)
    layer = small(name)
    _shuffle_statistics(layer)
    layer.eval()
    expected = layer(paddle.to_tensor(images)).numpy()
    weights = [p.numpy() for p in layer.parameters()]
    with _program() as (main, executor):
        x = static.data("x", [-1, 1, 28, 28], "float32")
        twin = small(name)
        twin.eval()
        scores = twin(x)
        executor.run(static.default_startup_program())
        for parameter, weight in zip(twin.parameters(), weights):
            tensor = static.global_scope().find_var(parameter.name).get_tensor()
            tensor.set(weight, paddle.CPUPlace())
        found = executor.run(main, feed={"x": images}, fetch_list=[scores])[0]
    # The same kernels run in both; only the order of a fused bias may differ.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@every_net
def test_one_step_in_a_static_program_lowers_the_loss(name: str) -> None:
    images, labels = (array[:16] for array in digits("train"))
    paddle.seed(1)
    with _program() as (main, executor):
        x = static.data("x", [-1, 1, 28, 28], "float32")
        y = static.data("y", [-1, 1], "int64")
        net = small(name)
        # Dropout would give each step a loss of its own.
        for layer in net.sublayers():
            if isinstance(layer, paddle.nn.Dropout):
                layer.eval()
        loss = paddle.nn.functional.cross_entropy(net(x), y)
        # So short that only a wrong gradient leads uphill.
        paddle.optimizer.SGD(1e-4).minimize(loss)
        executor.run(static.default_startup_program())
        before, after = (
            float(executor.run(main, feed={"x": images, "y": labels}, fetch_list=[loss])[0]) for _ in range(2)
        )
    assert after < before


@pytest.mark.parametrize("training", [True, False])
@every_net
def test_a_net_is_captured_whole(name: str, training: bool) -> None:
    net = small(name)
    net.train() if training else net.eval()
    spec = static.InputSpec([None, 1, 28, 28], "float32", "image")
    captured = paddle.jit.to_static(net, full_graph=True, input_spec=[spec]).forward.concrete_program
    ops = captured.main_program.global_block().ops
    modes = {op.attrs()["is_test"] for op in ops if op.name() == "pd_op.batch_norm_"}
    assert modes == (set() if name == "lenet" else {not training})
    assert {op.name() for op in ops}.isdisjoint({"pd_op.if", "pd_op.while"})


@every_net
def test_a_net_that_paddle_saved_gives_the_same(name: str, tmp_path: Path) -> None:
    paddle.seed(0)
    net = small(name)
    net.eval()
    images = _images(2, 1, 28, 28)
    expected = net(images).numpy()
    spec = static.InputSpec([None, 1, 28, 28], "float32", "image")
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=[spec])
    # The same kernels on the same weights.
    np.testing.assert_allclose(paddle.jit.load(str(tmp_path / "net"))(images).numpy(), expected, rtol=1e-6)
