"""Shapes for given inputs are those that a run has, and costs with them those that papers publish."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paddle import nn
from paddle.utils import unique_name
from program_nets import built, ran

from spokeshave.errors.engines import InputUnknown, RunFailed
from spokeshave.errors.rewriting import InputShapeMissing, InputShapeWrong
from spokeshave.graph import cost
from spokeshave.program import PASSES, Model, load, rewrite, shaped

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

OPEN = (None, 4, None, None)


def net(x: Any) -> Any:
    x = F.relu(nn.BatchNorm2D(6)(nn.Conv2D(4, 6, 3, stride=2)(x)))
    x = F.interpolate(x, scale_factor=2)
    left, right = paddle.split(x, 2, axis=1)
    return paddle.reshape(paddle.concat([right, left], 1), [0, 6, -1])


def open_model() -> Model:
    program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    paddle.enable_static()
    with paddle.static.program_guard(program, startup), unique_name.guard():
        out = net(paddle.static.data("image", list(OPEN), "float32"))
        with paddle.static.scope_guard(scope):
            paddle.static.Executor(paddle.CPUPlace()).run(startup)
    paddle.disable_static()
    return Model.of(program, {"out": out}, scope)


OPEN_MODEL: list[Model] = []


def the_open_model() -> Model:
    if not OPEN_MODEL:
        OPEN_MODEL.append(open_model())
    return OPEN_MODEL[0]


@settings(max_examples=12, deadline=None)
@given(batch=st.integers(1, 3), height=st.integers(3, 20), width=st.integers(3, 20))
def test_every_length_is_that_of_the_arrays_that_a_run_gives(batch: int, height: int, width: int) -> None:
    model = the_open_model()
    view = shaped(model, {"image": (batch, 4, height, width)})
    shown = [v.id for v in view.values.values() if v.kind == "inner" and v.readers]
    image = np.random.RandomState(0).standard_normal((batch, 4, height, width)).astype(np.float32)
    for value, array in model.run({"image": image}, shown).items():
        assert view.value(value).shape == array.shape
    high, wide = (height - 1) // 2, (width - 1) // 2
    assert cost(view).macs == batch * high * wide * 6 * 4 * 9


def test_nothing_but_shapes_differs_and_the_model_stays_as_it_was() -> None:
    model = open_model()
    text, weights = str(model.program), model.weights()
    view = shaped(model, {"image": (2, 4, 9, 9)})
    assert [n.id for n in view.nodes] == [n.id for n in model.view.nodes]
    assert view.outputs == model.view.outputs
    assert model.view.value("image").shape == (-1, 4, -1, -1)
    assert view.value("image").shape == (2, 4, 9, 9)
    assert str(model.program) == text
    for name, array in weights.items():
        np.testing.assert_array_equal(model.weight(name), array)


def test_a_program_that_trains_is_not_trained_by_it() -> None:
    program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    paddle.enable_static()
    with paddle.static.program_guard(program, startup):
        image = paddle.static.data("image", list(OPEN), "float32")
        loss = paddle.mean(F.dropout(nn.BatchNorm2D(6)(nn.Conv2D(4, 6, 3)(image)), 0.5))
        paddle.optimizer.Adam(0.1).minimize(loss)
        with paddle.static.scope_guard(scope):
            paddle.static.Executor(paddle.CPUPlace()).run(startup)
    model = Model.of(program, {"loss": loss}, scope)
    before = model.weights()
    paddle.disable_static()
    paddle.seed(3)
    view = shaped(model, {"image": (2, 4, 8, 8)})
    drawn = paddle.rand([4]).numpy()
    paddle.seed(3)
    np.testing.assert_array_equal(drawn, paddle.rand([4]).numpy())  # nothing was drawn in between
    assert view.value("dropout_0.out").shape == (2, 6, 6, 6)
    for name, array in before.items():
        np.testing.assert_array_equal(model.weight(name), array)


def test_a_model_without_its_numbers_has_shapes_all_the_same() -> None:
    model = open_model()
    bare = Model.of(model.program, {"out": model.target("out")}, paddle.static.Scope())
    assert shaped(bare, {"image": (1, 4, 9, 9)}).value("conv2d_0.out").shape == (1, 6, 4, 4)
    assert not bare.holds("conv2d_0.w_0")


def test_an_input_of_fixed_shape_need_not_be_named_and_may_be_given_another() -> None:
    def fixed(x: Any) -> Any:
        return nn.Conv2D(4, 6, 3)(paddle.concat([x, x], 0))

    model = _fixed(fixed)
    assert shaped(model, {}).value("conv2d_0.out").shape == (4, 6, 6, 6)
    assert shaped(model, {"image": [1, 4, 16, 5]}).value("conv2d_0.out").shape == (2, 6, 14, 3)


def _fixed(build: Callable[[Any], Any]) -> Model:
    program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    paddle.enable_static()
    with paddle.static.program_guard(program, startup), unique_name.guard():
        out = build(paddle.static.data("image", [2, 4, 8, 8], "float32"))
    paddle.disable_static()
    return Model.of(program, {"out": out}, scope)


def test_a_name_that_no_input_has_is_refused() -> None:
    with pytest.raises(InputUnknown, match="image"):
        shaped(open_model(), {"imgae": (1, 4, 8, 8)})


def test_an_open_input_without_a_shape_is_refused() -> None:
    with pytest.raises(InputShapeMissing, match=r"'image' takes float32 \[any, 4, any, any\], and no shape"):
        shaped(open_model(), {})


@pytest.mark.parametrize("shape", [(4, 8, 8), (1, 4, 8, 0), (1, 4, 8, -1), (1, 4, 8, 8.0), (True, 4, 8, 8)])
def test_a_shape_of_another_rank_or_without_lengths_is_refused(shape: Any) -> None:
    with pytest.raises(InputShapeWrong, match=r"'image' takes float32 \[any, 4, any, any\], not the shape"):
        shaped(open_model(), {"image": shape})


def test_a_shape_that_the_net_cannot_work_on_is_an_error_and_no_crash() -> None:
    with pytest.raises(RunFailed):
        shaped(open_model(), {"image": (1, 5, 8, 8)})


def test_branches_and_loops_in_the_net_are_run_and_keep_their_own_lengths(saved: Any) -> None:
    model = load(saved("branching"))
    view = shaped(model, {"x": (5, 4)})
    assert [view.value(value).shape for _, value in view.outputs] == [(5, 4), ()]


def test_a_folded_net_costs_the_same_multiplications_and_fewer_parameters() -> None:
    model = built(net)
    before, after = (cost(shaped(m, {"image": (1, 4, 9, 9)})) for m in (model, _folded(model)))
    assert before.macs == after.macs == 4 * 4 * 6 * 36
    assert (before.parameters, before.buffers) == (6 * 36 + 6 + 12, 12)
    assert (after.parameters, after.buffers) == (6 * 36 + 6, 0)
    assert ran(model)


def _folded(model: Model) -> Model:
    return rewrite(model, PASSES["fold-batch-norm"]).model


PUBLISHED = {
    "mobilenet_v1": (4.23e6, 569e6),
    "mobilenet_v2": (3.50e6, 301e6),
    "resnet34": (21.8e6, 3.66e9),
    "resnet50": (25.6e6, 4.09e9),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_costs_are_the_published_ones_for_open_nets_folded_or_not(name: str) -> None:
    model = _vision(name)
    for one in (model, _folded(model)):
        total = cost(shaped(one, {"image": (1, 3, 224, 224)}))
        assert (total.parameters, total.macs) == pytest.approx(PUBLISHED[name], rel=0.01)


def _vision(name: str) -> Model:
    layer = getattr(paddle.vision.models, name)()
    layer.eval()
    with tempfile.TemporaryDirectory() as folder:
        spec = paddle.static.InputSpec([None, 3, None, None], "float32", "image")
        paddle.jit.save(layer, f"{folder}/model", [spec])
        return load(folder)


def test_a_net_whose_lengths_are_all_open_costs_nothing_like_it_until_they_are_given() -> None:
    model = open_model()
    assert cost(model.view).macs == 6 * 36
    assert cost(shaped(model, {"image": (1, 4, 33, 33)})).macs == 16 * 16 * 6 * 36


class Sentences(nn.Layer):  # type: ignore[misc]
    """Embeddings, a mask made of the ids, attention, a classifier at the first place."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(100, 32), nn.Embedding(64, 32)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64), 2)
        self.head = nn.Linear(32, 3)

    def forward(self, ids: Any) -> Any:
        places = paddle.arange(ids.shape[1]).unsqueeze(0)
        mask = (ids == 0).astype("float32").unsqueeze([1, 2]) * -1e4
        return self.head(self.body(self.words(ids) + self.places(places), mask)[:, 0])


def test_a_net_of_sentences_costs_what_one_counts_by_hand_for_any_length() -> None:
    layer = Sentences()
    layer.eval()
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(layer, f"{folder}/m", [paddle.static.InputSpec([None, None], "int64", "ids")])
        model = load(folder)
    for batch, length in ((1, 5), (2, 17)):
        total = cost(shaped(model, {"ids": (batch, length)}))
        block = length * (4 * 32 * 32 + 2 * 32 * 64) + 2 * length * length * 32
        assert total.macs == batch * (2 * block + 32 * 3)
    assert total.parameters == sum(p.size for p in layer.parameters())
