"""Pieces of nets between quantized convolutions: the engine computes what the simulation does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn

import spokeshave
from spokeshave.compress import Quantized
from spokeshave.engines import OnnxRunner

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


def quantized(piece: Any, folder: Path, side: tuple[int, int], channels: int = 8) -> tuple[Quantized, Any]:
    """A net with the piece in it, quantized, and pictures that it was not calibrated on."""
    paddle.seed(0)
    net = Between(piece, channels)
    net.eval()
    spec = paddle.static.InputSpec([None, 3, *side], "float32", "image")
    paddle.jit.save(net, str(folder / "float"), [spec])
    seen = np.random.default_rng(0).standard_normal((16, 3, *side)).astype(np.float32)
    return spokeshave.quantize(folder / "float", seen, folder / "out"), seen[:3] * 0.9


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
