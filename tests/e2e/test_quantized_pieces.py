"""Pieces of nets between quantized convolutions: the engine computes what the simulation does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn

import spokeshave
from spokeshave.compress import Quantized, freeze
from spokeshave.engines import OnnxRunner
from spokeshave.program import capture

# A sum in another order puts one value in thousands into the next code; a piece that is computed otherwise
# in a single place leaves less than 35 dB.
LEAST_SNR_DB = 50.0


class Between(nn.Layer):  # type: ignore[misc]
    """A convolution, a piece, a convolution, and a classifier."""

    def __init__(self, piece: Any, channels: int) -> None:
        super().__init__()
        self.before, self.piece = nn.Conv2D(3, 8, 3, padding=1), piece
        self.after, self.classify = nn.Conv2D(channels, 8, 1), nn.Linear(8, 10)

    def forward(self, images: Any) -> Any:
        """The scores."""
        found = self.after(self.piece(F.relu(self.before(images))))
        return self.classify(F.relu(found).mean([2, 3]))


def quantized(
    piece: Any, folder: Path, side: tuple[int, int], channels: int = 8, target: str = "onnxruntime"
) -> tuple[Quantized, Any]:
    """A net with the piece in it, quantized, and pictures that it was not calibrated on."""
    paddle.seed(0)
    net = Between(piece, channels)
    net.eval()
    spec = paddle.static.InputSpec([None, 3, *side], "float32", "image")
    paddle.jit.save(net, str(folder / "float"), [spec])
    seen = np.random.default_rng(0).standard_normal((16, 3, *side)).astype(np.float32)
    result = spokeshave.quantize(folder / "float", seen, folder / "out", target=target)
    return result, seen[:3] * 0.9


def kernels(model: Path, folder: Path) -> Counter[str]:
    """The operators that ONNX Runtime is left with once it has fused what it can."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node)


def snr_db(reference: Any, other: Any) -> float:
    noise = float(np.mean((reference - other) ** 2, dtype=np.float64))
    return 10 * float(np.log10(np.var(reference) / max(noise, 1e-20)))


def pool(title: str, piece: Any, side: tuple[int, int] = (15, 16)) -> Any:
    return pytest.param(piece, side, id=title)


@pytest.mark.parametrize(
    ("piece", "side"),
    [
        pool("max, ceil", nn.MaxPool2D(3, 2, 1, ceil_mode=True)),
        pool("max, parts of other lengths", lambda x: F.adaptive_max_pool2d(x, [5, 3])),
        pool("average, ceil", nn.AvgPool2D(3, 2, 1, ceil_mode=True)),
        pool("average, ceil, counts padding", nn.AvgPool2D(3, 2, 1, ceil_mode=True, exclusive=False)),
        pool("average, ceil, counts no padding", nn.AvgPool2D(3, 2, ceil_mode=True, exclusive=False)),
        pool("average, ceil, nothing cut", nn.AvgPool2D(3, 2, 1, ceil_mode=True, exclusive=False), (15, 17)),
        pool("average counts padding", nn.AvgPool2D(3, 2, 1, exclusive=False)),
        pool("average leaves padding out", nn.AvgPool2D(3, 2, [0, 1, 1, 0])),
        pool("average, parts of other lengths", nn.AdaptiveAvgPool2D(5)),
    ],
)
def test_pools_agree(piece: Any, side: tuple[int, int], tmp_path: Path) -> None:
    result, images = quantized(piece, tmp_path, side)
    expected = next(iter(result.simulation.run({"image": images}).values()))
    found = next(iter(OnnxRunner(result.artifact.path).run({"image": images}).values()))
    assert snr_db(expected, found) >= LEAST_SNR_DB


@pytest.mark.parametrize("target", ["onnxruntime", "paddle"])
@pytest.mark.parametrize("bias", [None, False], ids=["bias", "no bias"])
def test_products_with_a_relu_run_in_integers(target: str, bias: Any, tmp_path: Path) -> None:
    # Signed grids, as in training, do not cut at zero, and a dropout that scales stands before the rounding.
    layers = [nn.Linear(16, 24, bias_attr=bias), nn.ReLU(), nn.Linear(24, 20, bias_attr=bias), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Dropout(0.5, mode="downscale_in_infer"), nn.Linear(20, 5))
    net.eval()
    model = capture(net, [paddle.static.InputSpec([None, 16], "float32", "x")])
    seen = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    result = spokeshave.quantize(model, seen, tmp_path / "out", target=target)
    left = kernels(result.artifact.path, tmp_path)
    assert sum(left[kind] for kind in ("QGemm", "MatMulIntegerToFloat", "QLinearMatMul")) == 3
    expected, found = (m.run({"x": seen}) for m in (result.simulation, OnnxRunner(result.artifact.path)))
    assert snr_db(*(next(iter(arrays.values())) for arrays in (expected, found))) >= LEAST_SNR_DB


@pytest.mark.parametrize("target", ["onnxruntime", "paddle"])
@pytest.mark.parametrize("piece", [nn.ReLU(), nn.Hardswish(), nn.Sigmoid()], ids=repr)
def test_the_report_of_a_trained_model_names_the_convolutions_that_run_in_float(
    piece: Any, target: str, tmp_path: Path
) -> None:
    result, images = quantized(piece, tmp_path, (8, 8), target=target)
    again = freeze(result.simulation, images, tmp_path / "again")
    named = [r.subject for r in again.plan.left_out if r.subject.startswith("conv2d")]
    left = kernels(again.artifact.path, tmp_path)
    assert len(named) == left["Conv"] + left["FusedConv"]
