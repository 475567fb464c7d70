"""Each emitter against Paddle's own call: the program that Paddle makes of it, written and run."""

from __future__ import annotations

from collections import Counter

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle_calls import CALLS, OPEN, Call, each, halves, option_a, resized, rows_of, transposed

from spokeshave.engines import OnnxRunner, to_onnx
from spokeshave.errors.engines import (
    DimensionsUnknown,
    LayoutNotExportable,
    OperandNotConstant,
    PaddingNotExportable,
    WindowNotExportable,
)

BATCHES = (1, 3)


def written(call: Call) -> list[str]:
    """The ONNX operators that a call becomes."""
    model = call.model()
    return [node.op_type for node in to_onnx(model.view, model.weights()).model.graph.node]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.title)
def test_onnx_gives_what_paddle_gives(call: Call) -> None:
    model = call.model()
    assert call.op in {node.op for node in model.view.nodes}
    runner = OnnxRunner(to_onnx(model.view, model.weights()).to_bytes())
    for batch in BATCHES:
        feed = call.feed(batch)
        expected, found = model.run(feed), runner.run(feed)
        assert list(found) == list(expected)
        for name, array in expected.items():
            assert found[name].shape == array.shape
            assert found[name].dtype == array.dtype
            # Sums of at most a few dozen products, in another order; powers of up to six times six.
            np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "call", [call for call in CALLS if -1 in call.shape[1:]], ids=lambda call: call.title
)
def test_open_sizes_stay_open(call: Call) -> None:
    model = call.model()
    runner = OnnxRunner(to_onnx(model.view, model.weights()).to_bytes())
    feed = call.feed(2, {2: 6, 3: 12})
    for name, array in model.run(feed).items():
        np.testing.assert_allclose(runner.run(feed)[name], array, rtol=1e-5, atol=1e-5)


def test_a_hardswish_stays_whole() -> None:
    assert written(each("hardswish", "", F.hardswish)) == ["HardSwish"]


def test_a_shape_that_numbers_can_say_is_stored() -> None:
    assert written(each("reshape", "", rows_of)) == ["Reshape"]
    assert Counter(written(each("reshape", "", halves, shape=OPEN)))["Shape"] > 0


def test_padding_of_a_picture_is_one_node() -> None:
    assert written(each("pad3d", "", lambda x: F.pad(x, [0, 1, 0, 1]))) == ["Pad"]


def test_option_a_is_a_slice_and_a_pad() -> None:
    assert written(each("pad", "", option_a)) == ["Slice", "Pad"]


def test_padding_that_goes_on_from_the_other_side_is_refused() -> None:
    with pytest.raises(PaddingNotExportable, match="circular"):
        written(each("pad3d", "", lambda x: F.pad(x, [1, 1, 1, 1], mode="circular")))


def test_a_size_that_is_left_open_cannot_be_split() -> None:
    with pytest.raises(DimensionsUnknown, match="split"):
        written(each("split", "", lambda x: paddle.split(x, [2, -1], 2), shape=OPEN))


def test_a_transposed_convolution_of_unknown_size_is_refused() -> None:
    with pytest.raises(WindowNotExportable, match="the input is open"):
        written(transposed("", (4, 3, 3, 3), stride=2, output_size=[18, 14], shape=OPEN))
    with pytest.raises(WindowNotExportable, match="SAME"):
        written(transposed("", (4, 3, 3, 3), stride=2, padding="SAME", shape=OPEN))


def test_pictures_with_channels_last_are_not_resized() -> None:
    with pytest.raises(LayoutNotExportable, match="NHWC"):
        written(resized("nearest", "", scale_factor=2, data_format="NHWC"))


def test_squeezing_all_axes_keeps_the_batch_whatever_its_size() -> None:
    # Paddle itself drops a batch of one, against the shape that its program states.
    call = each("squeeze", "", lambda x: paddle.squeeze(x), shape=(-1, 1, 4, 1))
    model = call.model()
    runner = OnnxRunner(to_onnx(model.view, model.weights()).to_bytes())
    for batch in BATCHES:
        feed = call.feed(batch)
        np.testing.assert_array_equal(runner.run(feed)["y"], feed["x"].reshape(batch, 4))


def test_bounds_that_are_computed_are_refused() -> None:
    with pytest.raises(OperandNotConstant, match="'max'"):
        written(each("clip", "", lambda x: paddle.clip(x, -1.0, x.max())))
