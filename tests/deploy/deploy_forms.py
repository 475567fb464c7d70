"""Nets in the three forms that a quantized model has."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache

import paddle

from spokeshave import models
from spokeshave.data import Feed, open_data
from spokeshave.program import Model, load
from spokeshave.quant import apply, observe, pack, plan
from spokeshave.targets import TARGETS


@dataclass(frozen=True)
class Forms:
    """A float model, its simulation, and the one with int8 weights."""

    original: Model
    simulation: Model
    packed: Model

    def feed(self, source: object = "digits:test", limit: int = 64) -> Feed:
        """Batches for it."""
        return open_data(source, inputs=self.original.inputs, limit=limit)


@cache
def quantized(seed: int) -> Forms:
    """The forms of a LeNet that is not trained; its weights depend on the seed alone."""
    paddle.seed(seed)
    with paddle.utils.unique_name.guard():
        net = models.create("lenet", num_classes=10, in_channels=1)
    net.eval()
    spec = paddle.static.InputSpec([None, 1, 28, 28], "float32", "image")
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(net, f"{folder}/model", [spec])
        model = load(folder)
    drawn = plan(model.view, TARGETS["onnxruntime"])
    feed = open_data("digits", inputs=model.inputs, limit=64)
    settled = drawn.settled(observe(model, drawn, (batch.inputs for batch in feed)))
    return Forms(model, apply(model, settled), pack(model, settled))
