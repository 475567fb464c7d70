"""Layers as models: the same numbers, the layer untouched, and clear words where it cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn
from paddle.static import InputSpec
from paddle.utils import unique_name

from spokeshave.errors.capturing import LayerNotCapturable, NotALayer, SpecNotUnderstood
from spokeshave.program import as_layer, capture, load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

FOUR = np.random.RandomState(0).standard_normal((3, 4)).astype(np.float32)
IMAGES = np.random.RandomState(0).standard_normal((3, 1, 8, 8)).astype(np.float32)


class Small(nn.Layer):  # type: ignore[misc]
    """A convolution, a batch norm, dropout and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2D(1, 3, 3), nn.BatchNorm2D(3)
        self.drop, self.head = nn.Dropout(0.4), nn.Linear(108, 5)

    def forward(self, image: Any) -> Any:
        return self.head(self.drop(paddle.flatten(F.relu(self.norm(self.conv(image))), 1)))


class Nested(nn.Layer):  # type: ignore[misc]
    """Containers in and out, and what is no tensor among them."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, batch: Any, factor: float = 2.0) -> Any:
        scores = self.head(batch["x"]) * factor
        return {"scores": scores, "pair": [batch["y"] + 1, 3], "alone": (scores.sum(),)}


class Several(nn.Layer):  # type: ignore[misc]
    """Takes any number of tensors and calls itself by another name."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(me, *parts: Any) -> Any:  # noqa: N805 (Paddle drops only an argument called self)
        return me.head(sum(parts))


class Same(nn.Layer):  # type: ignore[misc]
    """Two layers whose parameters bear the same names."""

    def __init__(self) -> None:
        super().__init__()
        with unique_name.guard():
            self.one = nn.Linear(4, 4)
        with unique_name.guard():
            self.other = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.other(self.one(x))


class Silent(nn.Layer):  # type: ignore[misc]
    """Gives no tensor."""

    def forward(self, x: Any) -> Any:
        return 3


class Raising(nn.Layer):  # type: ignore[misc]
    """Fails by itself."""

    def forward(self, x: Any) -> Any:
        raise KeyError("out of order")


class Decorated(nn.Layer):  # type: ignore[misc]
    """Made static where it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    @paddle.jit.to_static  # type: ignore[untyped-decorator]
    def forward(self, x: Any) -> Any:
        return self.head(x)


def ran(net: Any, *arrays: Any) -> Any:
    """What a layer gives in test mode."""
    net.eval()
    return net(*map(paddle.to_tensor, arrays)).numpy()


@pytest.mark.parametrize("training", [True, False])
def test_a_captured_layer_gives_the_same_numbers_in_either_form(training: bool) -> None:
    net = Small()
    (net.train if training else net.eval)()
    model = capture(net, [[None, 1, 8, 8]])
    paddle.seed(5)
    expected = net(paddle.to_tensor(IMAGES)).numpy()
    paddle.seed(5)
    np.testing.assert_array_equal(model.run({"image": IMAGES})["output"], expected)


def test_the_form_that_is_asked_for_wins_over_the_modes_which_stay() -> None:
    net = Small()
    net.train()
    net.norm.eval()
    model = capture(net, [[None, 1, 8, 8]], training=False)
    assert [node.attrs["is_test"] for node in model.view.nodes if "is_test" in node.attrs] == [True, True]
    assert [net.training, net.norm.training, net.drop.training] == [True, False, True]
    mixed = capture(net, [[None, 1, 8, 8]])
    assert [n.attrs["is_test"] for n in mixed.view.nodes if "is_test" in n.attrs] == [True, False]


def test_the_layer_stays_as_it_is_and_shares_nothing_with_the_model() -> None:
    net = Small()
    before = {name: array.numpy().copy() for name, array in net.state_dict().items()}
    attributes = set(vars(net))
    model = capture(net, [[None, 1, 8, 8]])
    expected = model.run({"image": IMAGES})["output"]
    assert set(vars(net)) == attributes
    assert "forward" not in vars(net)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array.numpy(), before[name])
        array.set_value(array.numpy() + 1)
    model.weight(next(iter(model.parameters)))
    assert paddle.in_dynamic_mode()
    again = capture(net, [[None, 1, 8, 8]]).run({"image": IMAGES})["output"]
    assert not np.array_equal(again, expected)


def test_capturing_works_from_static_mode_and_leaves_it_on() -> None:
    net = Small()
    paddle.enable_static()
    model = capture(net, [[None, 1, 8, 8]], training=False)
    assert not paddle.in_dynamic_mode()
    paddle.disable_static()
    np.testing.assert_array_equal(model.run({"image": IMAGES})["output"], ran(net, IMAGES))


def test_containers_go_in_and_every_tensor_that_comes_out_has_a_name() -> None:
    net = Nested()
    spec = {"x": InputSpec([None, 4], "float32"), "y": InputSpec([None], "int64", "shift")}
    model = capture(net, [spec])
    assert model.view.inputs == ("x", "shift")
    found = model.run({"x": FOUR, "shift": np.arange(3)})
    expected = net({"x": paddle.to_tensor(FOUR), "y": paddle.arange(3)})
    assert list(found) == ["scores", "pair_0", "alone_0"]
    np.testing.assert_array_equal(found["scores"], expected["scores"].numpy())
    np.testing.assert_array_equal(found["pair_0"], [1, 2, 3])


def test_what_is_no_tensor_is_passed_as_it_is() -> None:
    net = Nested()
    spec = {"x": FOUR, "y": paddle.arange(3)}
    once, thrice = (capture(net, [spec, factor]) for factor in (1.0, 3.0))
    feed: dict[str, Any] = {"x": FOUR, "y": np.arange(3)}
    np.testing.assert_allclose(
        thrice.run(feed)["scores"],
        3 * once.run(feed)["scores"],
        rtol=1e-6,  # one product in float32
    )


def test_specs_go_by_name_and_inputs_are_called_as_the_arguments() -> None:
    model = capture(Small(), {"image": (None, 1, 8, 8)})
    assert [(v.id, v.shape, v.dtype) for v in model.inputs] == [("image", (-1, 1, 8, 8), "float32")]


def test_any_number_of_inputs_and_another_word_for_self_are_understood() -> None:
    net = Several()
    model = capture(net, [[None, 4], [None, 4]])
    found = model.run(dict(zip(model.view.inputs, [FOUR, 2 * FOUR])))["output"]
    np.testing.assert_array_equal(found, ran(net, FOUR, 2 * FOUR))


def test_parameters_of_one_name_keep_their_own_numbers() -> None:
    net = Same()
    assert net.one.weight.name == net.other.weight.name
    model = capture(net, [[None, 4]])
    assert len(model.parameters) == 4
    np.testing.assert_array_equal(model.run({"x": FOUR})["output"], ran(net, FOUR))


def test_layers_that_are_static_already_are_captured_too() -> None:
    decorated = Decorated()
    found = capture(decorated, [[None, 4]]).run({"x": FOUR})["output"]
    np.testing.assert_array_equal(found, ran(decorated, FOUR))
    turned = paddle.jit.to_static(nn.Linear(4, 2), full_graph=True)
    forward = turned.forward
    found = capture(turned, [[None, 4]]).run({"input": FOUR})["output"]
    np.testing.assert_array_equal(found, ran(turned, FOUR))
    assert turned.forward is forward


def test_hooks_of_the_layer_take_part() -> None:
    net = nn.Linear(4, 2)
    net.register_forward_post_hook(lambda layer, inputs, output: output * 2)
    found = capture(net, [[None, 4]]).run({"input": FOUR})["output"]
    np.testing.assert_array_equal(found, ran(net, FOUR))


def test_a_captured_layer_is_saved_and_loads(tmp_path: Any) -> None:
    net = Small()
    save(capture(net, [[None, 1, 8, 8]], training=True), tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path).run({"image": IMAGES})["output"], ran(net, IMAGES))


def test_a_layer_made_of_a_program_is_captured_as_that_program() -> None:
    layer = as_layer(capture(Small(), [[None, 1, 8, 8]]))
    layer.eval()
    model = capture(layer)
    assert [node.attrs["is_test"] for node in model.view.nodes if "is_test" in node.attrs] == [True, True]
    np.testing.assert_array_equal(model.run({"image": IMAGES})["output"], ran(layer, IMAGES))


@pytest.mark.parametrize(
    ("net", "specs", "words"),
    [
        (Raising(), [[None, 4]], "KeyError: .*out of order"),
        (nn.Linear(7, 2), [[None, 4]], r"Linear cannot be captured.*receiving the \[1\]dimension"),
        (Small(), [], "requires `image` arguments"),
        (Small(), {"picture": [None, 1, 8, 8]}, "no argument 'picture'; it has image"),
        (Silent(), [[None, 4]], "its forward gives no tensor"),
        (nn.Bilinear(4, 4, 2), {"x2": [None, 4]}, "no spec for its argument 'x1'"),
    ],
)
def test_a_layer_that_cannot_be_captured_says_why(net: Any, specs: Any, words: str) -> None:
    with pytest.raises(LayerNotCapturable, match=words):
        capture(net, specs)
    assert paddle.in_dynamic_mode()


def test_only_layers_are_captured_and_only_tensors_described() -> None:
    with pytest.raises(NotALayer, match="function is none"):
        capture(lambda x: x, [[None, 4]])
    with pytest.raises(SpecNotUnderstood, match="input 'image' is <object"):
        capture(Small(), [object()])
