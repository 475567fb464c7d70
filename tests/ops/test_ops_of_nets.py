"""Every op of the nets that people compress has a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paddle
import paddle.nn.functional as F  # noqa: N812 (the name it has everywhere)
import pytest
from paddle import nn
from paddle.vision import models

from spokeshave.ops import OPS

# What a program reads and hands out is no op of the table, nor are gradients and optimizers.
OUTSIDE = ("pd_op.data", "pd_op.feed", "pd_op.fetch")


class Classifier(nn.Layer):  # type: ignore[misc]
    """A net with its loss, accuracy and best classes, as it is trained."""

    def __init__(self, net: nn.Layer) -> None:
        super().__init__()
        self.net = net

    def forward(self, image: Any, label: Any) -> Any:
        scores = self.net(image)
        return (
            F.cross_entropy(scores, label),
            paddle.metric.accuracy(scores, label, 5),
            paddle.topk(scores, 2),
        )


class Encoder(nn.Layer):  # type: ignore[misc]
    """Embeddings, attention and feed-forward layers; then what recurrent nets and detectors add."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(30, 16), nn.LayerNorm(16)
        self.attention, self.recurrent = nn.MultiHeadAttention(16, 4, 0.1), nn.LSTM(16, 8)
        self.up, self.last = nn.Conv1DTranspose(8, 4, 3), nn.Conv1D(4, 2, 3)

    def forward(self, words: Any, mask: Any) -> Any:
        x = self.words(words)
        penalty = (1.0 - mask.astype("float32")).unsqueeze([1, 2]) * -1e4
        x = self.norm(x + self.attention(x, x, x, penalty))
        x = F.gelu(x) + F.silu(x[:, :, :1]).expand([-1, -1, 16])
        return self.last(self.up(self.recurrent(x)[0].transpose([0, 2, 1])))


class Neck(nn.Layer):  # type: ignore[misc]
    """Resizing, shortcuts without weights, one-sided padding, gates."""

    def forward(self, x: Any) -> Any:
        half = F.pad(x[:, :, ::2, ::2], [0, 0, 1, 1, 0, 0, 0, 0])
        gate = F.hardsigmoid(F.adaptive_avg_pool2d(half, 1)) * F.hardswish(half)
        twice = F.interpolate(F.pad(gate, [0, 1, 0, 1]), scale_factor=2, mode="bilinear")
        low, high = paddle.split(F.leaky_relu(twice), 2, axis=1)
        return paddle.concat([low, F.interpolate(high, scale_factor=1, mode="nearest")], axis=1)


def _image(size: int, channels: int = 3) -> list[Any]:
    return [paddle.static.InputSpec([None, channels, size, size], "float32", "image")]


def _label() -> list[Any]:
    return [paddle.static.InputSpec([None, 1], "int64", "label")]


NETS: dict[str, tuple[Callable[[], nn.Layer], list[Any]]] = {
    "lenet": (models.LeNet, _image(28, 1)),
    "mobilenet_v1": (lambda: models.mobilenet_v1(scale=0.25), _image(64)),
    "mobilenet_v2": (lambda: models.mobilenet_v2(scale=0.25), _image(64)),
    "mobilenet_v3": (lambda: models.mobilenet_v3_small(scale=0.35), _image(64)),
    "resnet18": (models.resnet18, _image(64)),
    "classifier": (lambda: Classifier(models.LeNet()), [*_image(28, 1), *_label()]),
    "encoder": (
        Encoder,
        [paddle.static.InputSpec([2, 7], "int64", name) for name in ("words", "mask")],
    ),
    "neck": (Neck, [paddle.static.InputSpec([None, 4, 8, 8], "float32", "x")]),
}


class Unheard(nn.Layer):  # type: ignore[misc]
    """A net with an op that the table leaves out."""

    def forward(self, x: Any) -> Any:
        return paddle.einsum("bchw->bhwc", x)


OLD_MODELS: dict[str, tuple[str, dict[str, str]]] = {
    "ch_ppocr_mobile_v2.0_cls": ("inference", {}),
    "ch_PP-OCRv3_det": ("inference", {}),
    "lac_seg_fluid": ("", {"model_filename": "__model__"}),
}


def unknown_ops(program: Any) -> set[str]:
    """The ops of a program that have no row."""
    return {name for name in _names(program.global_block()) if name not in OPS} - set(OUTSIDE)


def _traced(layer: nn.Layer, spec: list[Any]) -> Any:
    return paddle.jit.to_static(layer, full_graph=True, input_spec=spec).forward.concrete_program.main_program


def _names(block: Any) -> Iterator[str]:
    for op in block.ops:
        if not op.name().startswith("builtin."):
            yield op.name()
        for inner in op.blocks():
            yield from _names(inner)


@pytest.mark.parametrize("is_training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("net", NETS)
def test_every_op_of_a_net_has_a_row(net: str, is_training: bool) -> None:
    make, spec = NETS[net]
    layer = make()
    layer.train() if is_training else layer.eval()
    assert unknown_ops(_traced(layer, spec)) == set()


def test_an_op_without_a_row_is_named() -> None:
    assert unknown_ops(_traced(Unheard(), NETS["neck"][1])) == {"pd_op.einsum"}


@pytest.mark.parametrize("name", OLD_MODELS)
def test_every_op_of_an_old_model_has_a_row(name: str, shared: Path) -> None:
    prefix, told = OLD_MODELS[name]
    path = str(shared / "models/paddle" / name / prefix)
    paddle.enable_static()
    try:
        with paddle.static.scope_guard(paddle.static.Scope()), paddle.pir_utils.OldIrGuard():
            executor = paddle.static.Executor(paddle.CPUPlace())
            loaded = paddle.static.load_inference_model(path, executor, **told)
            program = paddle.pir.translate_to_pir(loaded[0].desc)
    finally:
        paddle.disable_static()
    assert unknown_ops(program) == set()
