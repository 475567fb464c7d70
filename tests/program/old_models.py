"""Models in the format of Paddle 2 and fluid, which Paddle 3 still writes where it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import inference, nn, static
from paddle.pir_utils import OldIrGuard
from paddle.utils import unique_name

Arrays = dict[str, Any]
Build = Callable[[], tuple[list[Any], list[Any]]]

SHAPE = (2, 8, 8)
WEIGHTS = ("batch_norm2d_0.w_0", "conv2d_0.w_0", "linear_0.w_0")
STATISTICS = ("batch_norm2d_0.w_1", "batch_norm2d_0.w_2")


@dataclass(frozen=True)
class Old:
    """An old program that was built, with the scope of its weights."""

    program: Any
    scope: Any
    feeds: list[Any]
    fetches: list[Any]

    @property
    def parameters(self) -> list[Any]:
        return [v for v in self.program.list_vars() if v.persistable and v.name not in ("feed", "fetch")]

    def save(self, prefix: Path) -> Path:
        """`prefix.pdmodel` and `prefix.pdiparams`."""
        with old_world(self.scope):
            executor = static.Executor(paddle.CPUPlace())
            program = self.program.clone(for_test=True)
            static.save_inference_model(str(prefix), self.feeds, self.fetches, executor, program=program)
        return prefix

    def save_fluid(self, folder: Path, model: str = "__model__", params: str | None = None) -> Path:
        """`__model__` and one file per parameter, or one for all."""
        folder.mkdir(parents=True, exist_ok=True)
        with old_world(self.scope):
            program = static.normalize_program(self.program.clone(for_test=True), self.feeds, self.fetches)
            executor = static.Executor(paddle.CPUPlace())
            (folder / model).write_bytes(program.desc.serialize_to_string())
            kept = [v for v in program.list_vars() if v.persistable and v.name not in ("feed", "fetch")]
            static.save_vars(executor, str(folder), program, vars=kept, filename=params)
        return folder

    def set(self, **numbers: Any) -> None:
        for name, array in numbers.items():
            self.scope.var(name).get_tensor().set(np.asarray(array), paddle.CPUPlace())


@contextmanager
def old_world(scope: Any) -> Iterator[None]:
    """Old programs inside, in static mode and with this scope."""
    was_dynamic = paddle.in_dynamic_mode()
    paddle.enable_static()
    try:
        with OldIrGuard(), static.scope_guard(scope):
            yield
    finally:
        if was_dynamic:
            paddle.disable_static()


def built_old(build: Build, seed: int = 0) -> Old:
    """An old program from what builds feeds and fetches, with numbers that differ everywhere."""
    scope = static.Scope()
    with old_world(scope), unique_name.guard():
        program, startup = static.Program(), static.Program()
        paddle.seed(seed)
        with static.program_guard(program, startup):
            feeds, fetches = build()
        static.Executor(paddle.CPUPlace()).run(startup)
    old = Old(program, scope, feeds, fetches)
    _scatter(old, seed)
    return old


def _scatter(old: Old, seed: int) -> None:
    random = np.random.RandomState(seed)
    for variable in old.parameters:
        found = np.array(old.scope.find_var(variable.name).get_tensor())
        if found.dtype == np.float32:
            spread = random.uniform(0.5, 1.5, found.shape).astype(np.float32)
            is_norm = variable.name.startswith("batch_norm")
            old.set(**{variable.name: spread if is_norm else found + 0.01 * spread})


def small_net() -> tuple[list[Any], list[Any]]:
    """Convolutions, batch norm, fluid's `mul` on four axes, dropout."""
    x = static.data("x", [None, *SHAPE], "float32")
    y = F.relu(nn.BatchNorm2D(4)(nn.Conv2D(2, 4, 3, padding=1)(x)))
    y = nn.Conv2D(4, 4, 3, padding=1, groups=4, bias_attr=False)(y)
    y = F.dropout(nn.Linear(4 * 64, 6)(paddle.flatten(y, 1)), 0.4)
    return [x], [F.softmax(y), paddle.mean(y, axis=1)]


def op_of(type_name: str, inputs: Arrays, outputs: Arrays, **attrs: Any) -> list[Any]:
    """Appends an op of the old kind; outputs are given as (dtype, shape) and come as variables."""
    block = static.default_main_program().global_block()
    made = {
        slot: block.create_var(name=unique_name.generate(type_name), dtype=dtype, shape=shape)
        for slot, (dtype, shape) in outputs.items()
    }
    block.append_op(type=type_name, inputs=inputs, outputs={k: [v] for k, v in made.items()}, attrs=attrs)
    return list(made.values())


def constant(name: str, numbers: Any) -> Any:
    """A parameter with these numbers, which nothing trains."""
    array = np.asarray(numbers)
    return paddle.create_parameter(
        list(array.shape),
        str(array.dtype),
        name=name,
        default_initializer=nn.initializer.Assign(array),
    )


def fed(shape: Sequence[int] = (3, *SHAPE), seed: int = 0) -> Arrays:
    return {"x": np.random.RandomState(seed).standard_normal(shape).astype(np.float32)}


def in_old_paddle(model: Path, weights: Path | None, feed: Arrays, starts: Sequence[int] = ()) -> list[Any]:
    """What Paddle Inference makes of the files, without rewriting; `starts` say where sequences begin."""
    config = inference.Config(str(model), str(weights)) if weights else inference.Config(str(model))
    config.disable_gpu()
    config.disable_mkldnn()
    config.switch_ir_optim(False)
    config.disable_glog_info()
    runner = inference.create_predictor(config)
    for name, array in feed.items():
        handle = runner.get_input_handle(name)
        handle.reshape(array.shape)
        handle.copy_from_cpu(array)
        if starts:
            handle.set_lod([list(starts)])
    runner.run()
    return [runner.get_output_handle(n).copy_to_cpu() for n in runner.get_output_names()]


@pytest.fixture(scope="session")
def small_old() -> Old:
    """The small net; nobody changes it."""
    return built_old(small_net)


@pytest.fixture(scope="session")
def small_files(small_old: Old, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of the small net as Paddle 2 saves it; nobody writes there."""
    return small_old.save(tmp_path_factory.mktemp("old") / "m")
