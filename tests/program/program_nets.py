"""Nets, as Paddle saves them and as programs, for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from paddle.utils import unique_name

from spokeshave.models import create
from spokeshave.program import Model
from spokeshave.seams import static_mode

IMAGES: Mapping[str, tuple[int, ...]] = {"lenet": (1, 28, 28), "mobilenet": (3, 32, 32), "hand": (4, 8, 8)}


@contextmanager
def dynamic_mode() -> Iterator[None]:
    """Dynamic mode inside, the caller's own mode again outside."""
    was_dynamic = paddle.in_dynamic_mode()
    paddle.disable_static()
    try:
        yield
    finally:
        if not was_dynamic:
            paddle.enable_static()


def pictures(name: str, count: int = 3, seed: int = 0) -> dict[str, Any]:
    """A feed for one of the nets."""
    shape = (count, *IMAGES[name])
    return {"image": np.random.RandomState(seed).standard_normal(shape).astype(np.float32)}


def scatter(net: Any, seed: int = 0) -> None:
    """Gives a layer weights and statistics that differ everywhere, so that nothing swapped goes unseen."""
    random = np.random.RandomState(seed)
    for parameter in net.parameters():
        spread = random.uniform(0.5, 1.5, parameter.shape).astype(np.float32)
        is_statistic = parameter.name.startswith("batch_norm")
        parameter.set_value(spread if is_statistic else parameter.numpy() + 0.01 * spread)


def save_layer(net: Any, prefix: Path, shape: tuple[int, ...], seed: int = 0) -> Path:
    """Saves a layer as `paddle.jit.save` does, in test mode, with weights that differ everywhere."""
    with dynamic_mode():
        scatter(net, seed)
        net.eval()
        paddle.jit.save(net, str(prefix), [static.InputSpec([None, *shape], "float32", "image")])
    return prefix


def save_net(name: str, folder: Path, seed: int = 0) -> Path:
    """LeNet or MobileNetV1, saved by `paddle.jit.save`; gives the prefix."""
    with dynamic_mode(), unique_name.guard():
        paddle.seed(seed)
        net = create("lenet") if name == "lenet" else create("mobilenet_v1", scale=0.25, num_classes=10)
        return save_layer(net, folder / name, IMAGES[name], seed)


def save_hand(folder: Path, seed: int = 0) -> Path:
    """The net written by hand, saved by `paddle.static.save_inference_model`; gives the prefix."""
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with (
        static_mode(),
        static.program_guard(program, startup),
        unique_name.guard(),
        static.scope_guard(scope),
    ):
        image = static.data("image", [None, *IMAGES["hand"]], "float32")
        outputs = hand(image)
        paddle.seed(seed)
        executor = static.Executor(paddle.CPUPlace())
        executor.run(startup)
        static.save_inference_model(str(folder / "hand"), [image], outputs, executor, program=program)
    return folder / "hand"


def hand(image: Any) -> list[Any]:
    """A residual add, a concat, a depthwise convolution, a product on a transposed weight; two outputs."""
    x = F.relu(nn.Conv2D(4, 4, 3, padding=1)(image))
    x = x + nn.Conv2D(4, 4, 3, padding=1, groups=4, bias_attr=False)(x)
    x = paddle.concat([x, image], axis=1)
    weight = paddle.create_parameter([5, 8 * 64], "float32", name="lying")
    return [paddle.matmul(paddle.flatten(x, 1), weight, transpose_y=True), paddle.mean(x, axis=[2, 3])]


class Branching(nn.Layer):  # type: ignore[misc]
    """A branch, a loop, a vector that is split, and a recurrent layer with state that no file keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
        self.recurrent = nn.LSTM(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.one(x) if x.mean() > 0 else self.other(x)
        i = paddle.zeros([1], "int64")
        while i < 3:
            y = y + x
            i = i + 1
        left, right = paddle.split(y, 2, axis=1)
        last, _ = self.recurrent(paddle.unsqueeze(y, 1))
        return paddle.concat([right, left], 1), last.sum()


def save_branching(prefix: Path) -> Branching:
    """Saves the net with branches, whose input is called x."""
    with dynamic_mode(), unique_name.guard():
        net = Branching()
        net.eval()
        paddle.jit.save(net, str(prefix), [static.InputSpec([None, 4], "float32", "x")])
    return net


def _save_branching_in(folder: Path) -> Path:
    save_branching(folder / "branching")
    return folder / "branching"


SAVERS: Mapping[str, Callable[[Path], Path]] = {
    "lenet": lambda folder: save_net("lenet", folder),
    "mobilenet": lambda folder: save_net("mobilenet", folder),
    "hand": save_hand,
    "branching": _save_branching_in,
}


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The prefix of a net that Paddle saved once for all tests; nobody writes there."""
    folder, made = tmp_path_factory.mktemp("saved"), dict[str, Path]()

    def prefix(name: str) -> Path:
        if name not in made:
            made[name] = SAVERS[name](folder)
        return made[name]

    return prefix


@pytest.fixture
def in_dynamic_mode() -> Iterator[None]:
    """A test begins and ends in dynamic mode, which is Paddle's own."""
    paddle.disable_static()
    yield
    paddle.disable_static()


def built(
    net: Callable[[Any], Any], shape: tuple[int, ...] = IMAGES["hand"], *, is_test: bool = True, seed: int = 0
) -> Model:
    """A model of its own from a function of an image; layers that it makes are in test mode by default."""
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with static_mode(), static.program_guard(program, startup), unique_name.guard():
        made = net(static.data("image", [None, *shape], "float32"))
        outputs = made if isinstance(made, list) else [made]
        paddle.seed(seed)
        with static.scope_guard(scope):
            static.Executor(paddle.CPUPlace()).run(startup)
    if is_test:
        program.set_is_test_attr()
    model = Model.of(program, {f"out{i}": value for i, value in enumerate(outputs)}, scope).owned()
    _scatter_statistics(model, seed)
    return model


def _scatter_statistics(model: Model, seed: int) -> None:
    random = np.random.RandomState(seed)
    for name, (shape, dtype) in model.parameters.items():
        if name.startswith("batch_norm"):
            numbers = random.uniform(0.5, 1.5, shape).astype(dtype)
            model.scope.find_var(name).get_tensor().set(numbers, paddle.CPUPlace())


def ran(model: Model, seed: int = 0) -> list[Any]:
    """The outputs of a model that `built` made, for some pictures."""
    shape = (3, *model.inputs[0].shape[1:])
    image = np.random.RandomState(seed).standard_normal(shape).astype(np.float32)
    return list(model.run({"image": image}).values())
