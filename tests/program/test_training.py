"""What trains a program is found, and appended anew it goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn, static
from paddle.optimizer import SGD, Adagrad, Adam, AdamW, Momentum, RMSProp, lr
from paddle.regularizer import L1Decay, L2Decay
from paddle.utils import unique_name

from spokeshave.errors.training import LossUnknown, OptimizerUnknown, OptimizerUsed
from spokeshave.program import Model, append_training, for_training, optimizer_like, training_of
from spokeshave.program.training import Regularizer
from spokeshave.seams import static_mode

pytestmark = pytest.mark.usefixtures("in_dynamic_mode")
pytest_plugins = ["program_nets"]

FEED = {
    "x": np.random.RandomState(0).standard_normal((8, 4)).astype(np.float32),
    "y": np.random.RandomState(1).randint(0, 3, (8, 1)),
}
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "momentum on a schedule": lambda: Momentum(
        lr.PiecewiseDecay([4], [0.1, 0.02]), 0.9, weight_decay=L2Decay(1e-2)
    ),
    "nesterov": lambda: Momentum(0.05, 0.9, use_nesterov=True),
    "sgd with decay": lambda: SGD(0.05, weight_decay=1e-2),
    "adam, clipped as a whole, l1": lambda: Adam(
        0.01, 0.8, 0.99, grad_clip=nn.ClipGradByGlobalNorm(0.1), weight_decay=L1Decay(1e-2)
    ),
    "adam, clipped one by one": lambda: Adam(0.01, grad_clip=nn.ClipGradByNorm(0.1)),
    "adamw": lambda: AdamW(0.01, weight_decay=0.2),
    "rmsprop": lambda: RMSProp(0.01, 0.9, momentum=0.5, centered=True),
}


@dataclass(frozen=True, eq=False)
class Run:
    """A program that has been trained for some steps."""

    model: Model
    loss: Any
    optimizer: Any

    def losses(self, steps: int) -> list[float]:
        return losses(self.model, self.loss, steps)


def losses(model: Model, loss: Any, steps: int) -> list[float]:
    """The losses of some more steps; the schedule goes on with them."""
    found, schedule = [], getattr(model.program, "lr_scheduler", None)
    with static_mode(), static.scope_guard(model.scope):
        executor = static.Executor(paddle.CPUPlace())
        for _ in range(steps):
            found.append(float(executor.run(model.program, feed=FEED, fetch_list=[loss])[0]))
            if schedule is not None:
                schedule.step()
    return found


def begun(make: Callable[[], Any], steps: int = 3, *, attr: Any = None) -> Run:
    """A small net, trained for some steps by an optimizer."""
    program, startup, scope = static.Program(), static.Program(), static.Scope()
    with static_mode(), static.program_guard(program, startup), unique_name.guard():
        x, y = static.data("x", [None, 4]), static.data("y", [None, 1], "int64")
        hidden = F.relu(nn.Linear(4, 5, weight_attr=attr)(x))
        loss = F.cross_entropy(nn.Linear(5, 3, bias_attr=False)(hidden), y)
        optimizer = make()
        optimizer.minimize(loss)
        paddle.seed(0)
        with static.scope_guard(scope):
            static.Executor(paddle.CPUPlace()).run(startup)
    run = Run(Model.of(program, {"loss": loss}, scope), loss, optimizer)
    run.losses(steps)
    return run


def static_one(make: Callable[[], Any]) -> Any:
    """An optimizer made in static mode: in dynamic mode it would have to be told its parameters."""
    with static_mode():
        return make()


def found_in(run: Run) -> Any:
    found = training_of(run.model)
    assert found is not None
    return found


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_stripped_and_appended_anew_training_goes_on_as_it_was(name: str) -> None:
    run = begun(OPTIMIZERS[name])
    training = found_in(run)
    own = run.model.owned()
    schedule = training.scheduler
    at = schedule.last_epoch if schedule else 0
    expected = run.losses(4)
    if schedule:
        schedule.step(at)
    again = append_training(for_training(own), "loss", optimizer_like(training, own), carry=training)
    assert losses(again, dict(again.fetches)["loss"], 4) == expected


def test_without_carrying_what_it_remembers_an_optimizer_goes_another_way() -> None:
    run = begun(OPTIMIZERS["nesterov"])
    own = run.model.owned()
    again = append_training(for_training(own), "loss", optimizer_like(found_in(run), own))
    assert losses(again, dict(again.fetches)["loss"], 4) != run.losses(4)


def test_loss_kind_rate_schedule_and_states_are_found() -> None:
    run = begun(OPTIMIZERS["momentum on a schedule"])
    training = found_in(run)
    assert training.losses == (dict(run.model.view.outputs)["loss"],)
    assert training.optimizer == "momentum"
    assert training.scheduler is run.model.program.lr_scheduler
    assert sorted(u.parameter for u in training.updates) == ["linear_0.b_0", "linear_0.w_0", "linear_1.w_0"]
    update = training.update("linear_0.w_0")
    assert update is not None
    assert update.state == {"velocity": "linear_0.w_0_velocity_0"}
    assert update.settings["mu"] == pytest.approx(0.9)
    assert update.regularizer is not None
    assert update.regularizer.coefficient == pytest.approx(1e-2)
    assert run.model.holds(update.learning_rate)
    assert training.update("x") is None


@pytest.mark.parametrize(
    ("name", "regularizer", "clip"),
    [
        ("nesterov", None, None),
        ("sgd with decay", Regularizer("l2", 1e-2), None),
        ("adam, clipped as a whole, l1", Regularizer("l1", 1e-2), ("global norm", 0.1)),
        ("adam, clipped one by one", None, ("norm", 0.1)),
        ("adamw", Regularizer("l2", 0.2), None),
    ],
)
def test_regularizers_and_clipping_are_found(name: str, regularizer: Any, clip: Any) -> None:
    training = found_in(begun(OPTIMIZERS[name], steps=0))
    for update in training.updates:
        if regularizer is None:
            assert update.regularizer is None
        else:
            assert update.regularizer is not None
            assert update.regularizer.kind == regularizer.kind
            assert update.regularizer.coefficient == pytest.approx(regularizer.coefficient)
    assert (training.clip is None) == (clip is None)
    if clip is not None:
        assert training.clip is not None
        assert training.clip == (clip[0], pytest.approx(clip[1]))


def test_a_rate_of_its_own_is_seen_and_cannot_be_made_again() -> None:
    run = begun(lambda: SGD(0.1), attr=paddle.ParamAttr(learning_rate=0.25))
    training = found_in(run)
    factors = {u.parameter: u.rate_factor for u in training.updates}
    assert factors == {"linear_0.w_0": 0.25, "linear_0.b_0": 1.0, "linear_1.w_0": 1.0}
    with pytest.raises(OptimizerUnknown, match=r"'linear_0.w_0' has settings of its own"):
        optimizer_like(training, run.model)


def test_gradients_alone_are_a_training_without_an_optimizer() -> None:
    program = static.Program()
    with static_mode(), static.program_guard(program, static.Program()), unique_name.guard():
        loss = nn.Linear(4, 1)(static.data("x", [None, 4])).mean()
        static.append_backward(loss)
    model = Model.of(program, {"loss": loss}, static.Scope())
    training = found_in(Run(model, loss, None))
    assert (training.losses, training.optimizer, training.updates) == (("mean_0.out",), "", ())
    with pytest.raises(OptimizerUnknown, match="its kind is 'none'"):
        optimizer_like(training, model)


def test_a_program_that_does_not_train_has_no_training() -> None:
    assert training_of(for_training(begun(lambda: SGD(0.1), steps=0).model)) is None


def test_the_old_program_trains_on_beside_the_new_one() -> None:
    run, twin = (begun(OPTIMIZERS["nesterov"]) for _ in range(2))
    own = run.model.owned()
    training = found_in(run)
    again = append_training(for_training(own), "loss", optimizer_like(training, own), carry=training)
    losses(again, dict(again.fetches)["loss"], 2)
    assert run.losses(3) == twin.losses(3)


def test_an_optimizer_that_serves_a_program_is_refused_for_another() -> None:
    run = begun(lambda: Momentum(0.1, 0.9))
    with pytest.raises(OptimizerUsed, match="Momentum serves another program"):
        append_training(for_training(run.model), "loss", run.optimizer)


def test_an_optimizer_that_cannot_be_read_back_says_what_can() -> None:
    run = begun(lambda: Adagrad(0.1))
    training = found_in(run)
    assert training.optimizer == "adagrad"
    with pytest.raises(OptimizerUnknown, match=r"its kind is 'adagrad'.*adam, adamw, momentum"):
        optimizer_like(training, run.model)
    again = append_training(
        for_training(run.model.owned()), "loss", static_one(lambda: Adagrad(0.1)), carry=training
    )
    assert losses(again, dict(again.fetches)["loss"], 3) == run.losses(3)


def test_what_cannot_be_a_loss_is_refused() -> None:
    model = for_training(begun(lambda: SGD(0.1)).model)
    with pytest.raises(LossUnknown, match=r"'relu_0.out' cannot be the loss: it has the shape \[-1, 5\]"):
        append_training(model, "relu_0.out", static_one(lambda: SGD(0.1)))
    program = static.Program()
    with static_mode(), static.program_guard(program, static.Program()):
        alone = static.data("x", [None, 4]).mean()
    with pytest.raises(LossUnknown, match="no parameter"):
        append_training(Model.of(program, {"m": alone}, static.Scope()), "m", static_one(lambda: SGD(0.1)))
