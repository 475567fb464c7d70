"""Models that others made and trained, as ONNX and quantized: text detection and text direction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spokeshave
from spokeshave.data import digits
from spokeshave.deploy import export
from spokeshave.engines import OnnxRunner
from spokeshave.program import Model

# Height and width of pictures; where two are given, the model takes any.
SIZES = {
    "PP-LCNet_x0_25_textline_ori": ((80, 160),),
    "ch_PP-OCRv3_det": ((64, 96), (160, 128)),
    "ch_ppocr_mobile_v2.0_cls": ((32, 100),),
}
MEAN, SPREAD = 0.45, 0.225


def lines_of_text(count: int, size: tuple[int, int]) -> Any:
    """White pictures with rows of digits on them, every other one upside down."""
    glyphs, rng = digits("test")[0], np.random.default_rng(0)
    pages = np.ones((count, 1, *size), np.float32)
    for page in pages[:, 0]:
        for top in range(0, size[0] - 27, 32):
            for left in range(0, size[1] - 27, 24):
                page[top : top + 28, left : left + 28] -= 0.9 * glyphs[rng.integers(len(glyphs)), 0]
    pages[1::2] = pages[1::2, :, ::-1, ::-1]
    return np.repeat((pages.clip(0, 1) - MEAN) / SPREAD, 3, axis=1).astype(np.float32)


@pytest.fixture(scope="module", params=sorted(SIZES))
def named(request: pytest.FixtureRequest, shared: Path) -> tuple[str, Model]:
    """Each model in turn, loaded from where it lies."""
    return request.param, spokeshave.load(shared / "models/paddle" / request.param)


def rms(difference: Any) -> float:
    return float(np.sqrt(np.mean(np.square(difference, dtype=np.float64))))


def only(results: dict[str, Any]) -> Any:
    (array,) = results.values()
    return array


def test_onnx_is_the_model_at_any_batch_and_size(named: tuple[str, Model], tmp_path: Path) -> None:
    name, model = named
    runner = OnnxRunner(export(model, tmp_path / "model.onnx").path)
    for batch, size in ((1, SIZES[name][0]), (3, SIZES[name][-1])):
        feed = {"x": lines_of_text(batch, size)}
        expected, found = only(model.run(feed)), only(runner.run(feed))
        assert found.shape == expected.shape
        assert expected.max() > 0.5  # it sees something
        # All of them end in probabilities; sums of thousands of products in another order.
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_calibrated_it_runs_in_integers(named: tuple[str, Model], tmp_path: Path) -> None:
    name, model = named
    pages = lines_of_text(8, SIZES[name][-1])
    result = spokeshave.quantize(model, pages, tmp_path / "out")
    feed = {"x": pages}
    simulation = only(result.simulation.run(feed))
    np.testing.assert_array_equal(only(result.packed.run(feed)), simulation)
    engine = only(OnnxRunner(result.artifact.path).run(feed))
    # A sum in another order ends in the next code, three in a million at first; through seventy layers that
    # grows to half of what the rounding itself changes. A wrong scale anywhere changes as much as all of it.
    assert rms(engine - simulation) < 0.7 * rms(simulation - only(model.run(feed)))
    convolutions = [n.id for n in model.view.nodes if n.op in ("pd_op.conv2d", "pd_op.depthwise_conv2d")]
    assert sum("conv2d" in reader for s in result.plan.weights for reader in s.readers) == len(convolutions)
