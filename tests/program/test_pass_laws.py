"""What holds for every pass on the shelf: same outputs, the model left alone, gradients never made wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from program_nets import SAVERS, dynamic_mode, pictures, save_layer

from spokeshave.graph import diff, problems
from spokeshave.ops.effects import BATCH_NORMS
from spokeshave.program import PASSES, Model, PassResult, load, rewrite, save
from spokeshave.program.roles import training_ops

pytest_plugins = ["program_nets"]

# The passes that multiply before they add in place of after; every other one is exact to the bit.
ROUNDING = {"fold-batch-norm": 1e-5, "untranspose-weight": 1e-5}
ZOO = {
    "mobilenet_v1": {"scale": 0.25},
    "mobilenet_v2": {"scale": 0.25},
    "mobilenet_v3_small": {"scale": 0.5},
    "mobilenet_v3_large": {"scale": 0.35},
    "resnet18": {},
    "resnet34": {},
    "resnet50": {},
}
every_pass = pytest.mark.parametrize("name", PASSES.names())


@pytest.fixture(autouse=True)
def _in_dynamic_mode() -> Iterator[None]:
    with dynamic_mode():
        yield


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Model]:
    """A net of Paddle's own, loaded from files, with statistics that differ everywhere."""
    folder = tmp_path_factory.mktemp("zoo")

    @cache
    def loaded(name: str) -> Model:
        with dynamic_mode():
            paddle.seed(0)
            net = getattr(paddle.vision.models, name)(num_classes=10, **ZOO[name])
            return load(save_layer(net, folder / name, (3, 64, 64)))

    return loaded


def image_for(model: Model) -> dict[str, Any]:
    [value] = model.inputs
    shape = [n if n > 0 else 2 for n in value.shape]
    return {value.id: np.random.RandomState(0).standard_normal(shape).astype(np.float32)}


def check_same(result: PassResult, model: Model, feed: dict[str, Any]) -> None:
    assert problems(result.model.view) == ()
    assert [n for n, _ in result.model.view.outputs] == [n for n, _ in model.view.outputs]
    found, wanted = result.model.run(feed), model.run(feed)
    for name, array in wanted.items():
        assert found[name].shape == array.shape
        scale = ROUNDING.get(result.name, 0.0) * np.abs(array).max()
        np.testing.assert_allclose(found[name], array, rtol=ROUNDING.get(result.name, 0.0), atol=scale)


@pytest.mark.parametrize("net", ZOO)
def test_every_pass_leaves_a_net_of_the_zoo_its_outputs(net: str, zoo: Callable[[str], Model]) -> None:
    model = zoo(net)
    feed = image_for(model)
    for rule in PASSES:
        check_same(rewrite(model, rule), model, feed)


@pytest.mark.parametrize("net", ZOO)
def test_no_batch_norm_is_left_in_a_net_of_the_zoo(net: str, zoo: Callable[[str], Model]) -> None:
    model = zoo(net)
    result = rewrite(model, PASSES["fold-batch-norm"])
    assert result.declined == ()
    assert len(result.changed) == sum(n.op in BATCH_NORMS for n in model.view.nodes) > 0
    assert not [n for n in result.model.view.nodes if n.op in BATCH_NORMS]


def test_a_net_that_others_shipped_keeps_its_outputs_and_loses_its_norms(shared: Path) -> None:
    model = load(shared / "models/paddle/PP-LCNet_x0_25_textline_ori")
    for rule in PASSES:
        check_same(rewrite(model, rule), model, image_for(model))
    folded = rewrite(model, PASSES["fold-batch-norm"])
    assert (len(folded.changed), folded.declined) == (27, ())


@pytest.mark.parametrize("net", SAVERS)
def test_every_pass_leaves_a_saved_net_its_outputs_also_after_saving(
    net: str, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    model = load(saved(net))
    feed = image_for(model) if net == "branching" else pictures(net)
    for rule in PASSES:
        result = rewrite(model, rule)
        check_same(result, model, feed)
        save(result.model, tmp_path / rule.name)
        again = load(tmp_path / rule.name).run(feed)
        for one, other in zip(again.values(), result.model.run(feed).values()):
            np.testing.assert_array_equal(one, other)


@every_pass
def test_a_second_time_a_pass_finds_nothing_that_it_would_change(
    name: str, zoo: Callable[[str], Model]
) -> None:
    once = rewrite(zoo("mobilenet_v3_small"), PASSES[name])
    twice = rewrite(once.model, PASSES[name])
    assert twice.changed == ()
    assert diff(once.model.view, twice.model.view) == ""


def everything(x: Any) -> Any:
    """Something for each pass to do."""
    y = nn.BatchNorm2D(4)(nn.Conv2D(4, 4, 3, padding=1)(x))
    y = F.dropout(paddle.assign(F.relu(y)), 0.5)
    paddle.tanh(y)
    y = paddle.reshape(y * 1.0, [paddle.shape(y)[0], -1])
    return paddle.matmul(y, paddle.t(paddle.create_parameter([3, 256], "float32")))


class Trained:
    """A net that trains, with everything in it that a pass looks for, in test mode or not."""

    def __init__(self, *, is_test: bool, with_backward: bool) -> None:
        self.program, self.startup, self.scope = static.Program(), static.Program(), static.Scope()
        paddle.enable_static()
        with static.program_guard(self.program, self.startup), paddle.utils.unique_name.guard():
            self.loss = paddle.mean(everything(static.data("image", [None, 4, 8, 8], "float32")) ** 2)
            if is_test:
                self.program.set_is_test_attr()
            if with_backward:
                paddle.optimizer.Momentum(0.1, 0.9).minimize(self.loss)
            paddle.seed(0)
            with static.scope_guard(self.scope):
                static.Executor(paddle.CPUPlace()).run(self.startup)
        paddle.disable_static()

    @property
    def model(self) -> Model:
        return Model.of(self.program, {"loss": self.loss}, self.scope)


@every_pass
@pytest.mark.parametrize("is_test", [True, False])
def test_a_program_with_its_gradients_stays_as_it_is_and_each_place_says_why(
    name: str, is_test: bool
) -> None:
    model = Trained(is_test=is_test, with_backward=True).model
    assert training_ops(model.program)
    result = rewrite(model, PASSES[name])
    assert result.model is model
    assert result.changed == ()
    assert {reason.code for reason in result.declined} == {"has-backward"}


@every_pass
def test_a_pass_finds_work_where_there_is_some(name: str) -> None:
    model = Trained(is_test=True, with_backward=False).model.owned()
    result = rewrite(model, PASSES[name])
    assert result.changed
    check_same(result, model, image_for(model))


@every_pass
def test_the_model_that_went_in_is_left_alone_borrowed_or_not(name: str) -> None:
    borrowed = Trained(is_test=True, with_backward=False).model
    for model in (borrowed, borrowed.owned()):
        text, weights = str(model.program), model.weights()
        result = rewrite(model, PASSES[name])
        check_same(result, model, image_for(model))
        assert str(model.program) == text
        for parameter, array in weights.items():
            np.testing.assert_array_equal(model.weight(parameter), array)


def test_a_program_that_is_to_be_trained_learns_the_same_after_the_passes() -> None:
    losses = {rule: _trained_after(rule) for rule in (None, "fold-constants", "drop-identities")}
    assert losses["fold-constants"] == losses[None] == losses["drop-identities"]
    assert losses[None][0] != losses[None][-1]


def _trained_after(name: str | None) -> list[float]:
    built = Trained(is_test=False, with_backward=False)
    model = built.model if name is None else rewrite(built.model, PASSES[name]).model
    assert name is None or model is not built.model
    loss, losses = model.target("loss"), []
    paddle.enable_static()
    with static.program_guard(model.program, startup := static.Program()), static.scope_guard(built.scope):
        paddle.optimizer.SGD(0.01).minimize(loss)
        executor = static.Executor(paddle.CPUPlace())
        executor.run(startup)
        paddle.seed(1)
        for _ in range(3):
            [found] = executor.run(model.program, feed=image_for(built.model), fetch_list=[loss])
            losses.append(float(found))
    paddle.disable_static()
    return losses
