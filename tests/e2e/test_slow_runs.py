"""What takes minutes: a net as wide as it is used, and saving that is killed again and again."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import paddle
import pytest
from e2e_nets import FULL_SIZE, Nets, save

import spokeshave
from spokeshave import models
from spokeshave.data import digits
from spokeshave.engines import OnnxRunner
from spokeshave.errors.files import ChecksumWrong
from spokeshave.measure import accuracy

pytest_plugins = ["e2e_nets"]
pytestmark = pytest.mark.slow

KILLS = 12
# Writes the two nets in turns under one name, for as long as it lives.
SAVER = """
import itertools, sys
import spokeshave
nets = [spokeshave.load(folder) for folder in sys.argv[1:3]]
print("ready", flush=True)
for net in itertools.cycle(nets):
    spokeshave.save(net, sys.argv[3])
"""


def test_mobilenet_of_full_width_keeps_its_accuracy_on_all_digits(nets: Nets) -> None:
    result, out = nets.quantized(FULL_SIZE)
    images, labels = digits("all")
    feed = {"image": images}
    engine = OnnxRunner(out / "onnx/model.onnx").run(feed)["fetch_name_0"]
    simulation = result.simulation.run(feed)["fetch_name_0"]
    plain = spokeshave.load(nets.trained(FULL_SIZE)).run(feed)["fetch_name_0"]
    assert (engine.argmax(axis=1) == simulation.argmax(axis=1)).mean() >= 0.995
    assert accuracy(engine, labels) >= accuracy(plain, labels) - 0.005


def test_a_killed_save_never_leaves_a_mixture_that_loads(tmp_path: Path) -> None:
    paddle.seed(0)
    kinds = {
        name: save(models.create("lenet", num_classes=classes), tmp_path / name, 28, 1)
        for name, classes in (("ten", 10), ("four", 4))
    }
    feed = {"image": digits("test")[0][:4]}
    wanted = {name: spokeshave.load(folder).run(feed)["fetch_name_0"] for name, folder in kinds.items()}
    target, when = tmp_path / "saved/model", random.Random(0)
    outcomes = []
    for _ in range(KILLS):
        _save_until_killed([*map(str, kinds.values()), str(target)], when.uniform(0.05, 0.6))
        outcomes.append(_found(target, feed, wanted))
    assert set(outcomes) <= {"ten", "four", "refused"}
    # The moment between two names is short.
    assert outcomes.count("refused") <= KILLS // 3


def _save_until_killed(arguments: list[str], seconds: float) -> None:
    command = [sys.executable, "-W", "ignore", "-c", SAVER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as saver:
        assert saver.stdout is not None
        assert saver.stdout.readline() == "ready\n"
        time.sleep(seconds)
        saver.kill()


def _found(target: Path, feed: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> str:
    """Which of the nets stands there, whole; refused where the checksums tell that it is neither."""
    try:
        scores = spokeshave.load(target).run(feed)["fetch_name_0"]
    except ChecksumWrong:
        return "refused"
    return next((name for name, known in wanted.items() if np.array_equal(known, scores)), "a mixture")
