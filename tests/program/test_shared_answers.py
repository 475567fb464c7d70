"""Models that others trained are right here: text is found where it was drawn, and told upside down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from spokeshave.program import load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

HALF = (0.5,) * 3, (0.5,) * 3
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def drawn(width: int, height: int, text: str, place: tuple[int, int]) -> Any:
    """A white picture with a line of black text."""
    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text(place, text, fill="black", font=ImageFont.load_default(28))
    return picture


def fed(picture: Any, norm: tuple[Any, Any]) -> Any:
    """The picture as a net takes it: channels first, normalised."""
    array = (np.asarray(picture, np.float32) / 255 - norm[0]) / norm[1]
    return array.astype(np.float32).transpose(2, 0, 1)


@pytest.mark.parametrize(
    ("name", "size", "norm"),
    [("ch_ppocr_mobile_v2.0_cls", (192, 48), HALF), ("PP-LCNet_x0_25_textline_ori", (160, 80), IMAGENET)],
)
def test_a_line_and_the_same_line_upside_down_are_told_apart(
    shared: Path, name: str, size: tuple[int, int], norm: Any
) -> None:
    upright = fed(drawn(192, 48, "Hello World 42", (4, 6)).resize(size), norm)
    both = np.stack([upright, upright[:, ::-1, ::-1]])
    [scores] = load(shared / "models/paddle" / name).run({"x": both}).values()
    assert scores.argmax(1).tolist() == [0, 1]
    assert scores.max(1).min() > 0.9


def test_text_is_found_where_it_was_drawn(shared: Path, tmp_path: Path) -> None:
    picture = drawn(320, 160, "Hello World", (60, 60))
    model = load(shared / "models/paddle/ch_PP-OCRv3_det")
    save(model, tmp_path / "m")
    for one in (model, load(tmp_path)):
        [found] = one.run({"x": fed(picture, IMAGENET)[None]}).values()
        rows, columns = np.nonzero(found[0, 0] > 0.3)
        assert 60 <= rows.min() < rows.max() < 95
        assert 55 <= columns.min() < columns.max() < 230
        assert rows.size > 500
