"""Paddle as a runner: the protocol of all engines over a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import paddle
import pytest

from spokeshave import models
from spokeshave.engines import PaddleRunner
from spokeshave.errors.engines import InputMismatch, InputMissing, InputUnknown
from spokeshave.errors.program import FetchUnknown
from spokeshave.program import load


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> PaddleRunner:
    """A LeNet with random weights."""
    folder: Path = tmp_path_factory.mktemp("lenet")
    paddle.seed(0)
    net = models.create("lenet", num_classes=10, in_channels=1)
    net.eval()
    spec = paddle.static.InputSpec([None, 1, 28, 28], "float32", "image")
    paddle.jit.save(net, str(folder / "model"), [spec])
    return PaddleRunner(load(folder))


IMAGES = np.random.default_rng(0).random((3, 1, 28, 28), dtype=np.float32)


def test_it_names_what_it_takes_and_gives(runner: PaddleRunner) -> None:
    assert (runner.engine, runner.inputs, runner.outputs) == ("paddle", ("image",), ("fetch_name_0",))


def test_inner_values_come_with_the_outputs_in_one_run(runner: PaddleRunner) -> None:
    found = runner.fetch({"image": IMAGES}, ["relu_0.out", "fetch_name_0"])
    assert found["relu_0.out"].shape == (3, 6, 28, 28)
    assert found["relu_0.out"].min() >= 0
    np.testing.assert_array_equal(found["fetch_name_0"], runner.run({"image": IMAGES})["fetch_name_0"])


def test_what_does_not_fit_is_refused_before_paddle_sees_it(runner: PaddleRunner) -> None:
    with pytest.raises(InputMissing, match="image"):
        runner.run({})
    with pytest.raises(InputUnknown, match="picture"):
        runner.run({"picture": IMAGES})
    with pytest.raises(InputMismatch, match="float64"):
        runner.run({"image": IMAGES.astype(np.float64)})
    with pytest.raises(FetchUnknown, match=r"relu_9\.out.*relu_3\.out"):
        runner.fetch({"image": IMAGES}, ["relu_9.out"])


def test_closing_it_harms_nothing(runner: PaddleRunner) -> None:
    runner.close()
    assert set(runner.run({"image": IMAGES})) == {"fetch_name_0"}
