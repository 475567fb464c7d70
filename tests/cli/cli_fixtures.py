"""A saved LeNet, what `quantize` makes of it, and a way to run commands."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import paddle
import pytest
from click.testing import CliRunner, Result
from paddle.utils import unique_name

from spokeshave.cli.main import group
from spokeshave.models import LeNet

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Runs the command line in this process: `run("inspect", path)`."""
    # Before click 8.2 the two streams are one unless this says otherwise; since then it is gone.
    apart: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    runner = CliRunner(**apart)
    return lambda *words: runner.invoke(group, [str(word) for word in words], prog_name="spokeshave")


@pytest.fixture(scope="session")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of a LeNet as Paddle saves it, with the weights that it starts with."""
    return saved_lenet(tmp_path_factory.mktemp("models") / "lenet", seed=1)


@pytest.fixture(scope="session")
def other_lenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of a LeNet with other weights."""
    return saved_lenet(tmp_path_factory.mktemp("others") / "lenet", seed=2)


@pytest.fixture(scope="session")
def quantized(lenet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `quantize` wrote of that LeNet."""
    out = tmp_path_factory.mktemp("quantized") / "out"
    words = ["quantize", str(lenet), "--data", "digits", "--limit", "64", "--output", str(out)]
    assert CliRunner().invoke(group, words).exit_code == 0
    return out


def saved_lenet(prefix: Path, seed: int) -> Path:
    paddle.seed(seed)
    with unique_name.guard():
        net = LeNet()
    net.eval()
    spec = paddle.static.InputSpec([None, 1, 28, 28], "float32", name="image")
    paddle.jit.save(net, str(prefix), input_spec=[spec])
    return prefix
