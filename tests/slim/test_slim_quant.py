"""Quantization-aware training on programs, in the user's own scope, with the user's own Executor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as fn
import pytest

from spokeshave import compat, models, slim
from spokeshave.compress import freeze
from spokeshave.data import digits
from spokeshave.errors.compat import NotAProgram
from spokeshave.errors.quant import (
    AlreadyQuantized,
    HasBackward,
    NothingToQuantize,
    NotQuantized,
    SettingNotServed,
    SiteNotTrained,
)
from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.graph import roundings, unpackings
from spokeshave.program import Model

quant = slim.quant
BATCH = 32


@pytest.fixture(autouse=True)
def _old_ways() -> Iterator[None]:
    """Static mode and what old scripts count on, for each test."""
    compat.enable()
    paddle.enable_static()
    yield
    paddle.disable_static()
    compat.disable()


@dataclass
class Script:
    """What a training script has: programs, an Executor, a scope of its own if any, values to fetch."""

    train: Any
    test: Any
    image: Any
    out: Any
    loss: Any
    executor: Any
    scope: Any

    def run(self, program: Any, feed: dict[str, Any], *values: Any) -> list[Any]:
        with paddle.static.scope_guard(self.scope or paddle.static.global_scope()):
            return [np.asarray(r) for r in self.executor.run(program, feed=feed, fetch_list=list(values))]

    def steps(self, program: Any, count: int, start: int = 0) -> list[float]:
        """Trains; gives the loss of each step."""
        return [float(self.run(program, batch(start + i), self.loss)[0]) for i in range(count)]

    def weight(self, name: str) -> Any:
        return np.array((self.scope or paddle.static.global_scope()).find_var(name).get_tensor())

    def weights(self) -> dict[str, Any]:
        ops = [op for op in self.train.global_block().ops if op.name() == "builtin.parameter"]
        return {name: self.weight(name) for name in (op.attrs()["parameter_name"] for op in ops)}

    def aware(self, program: Any, **options: Any) -> Any:
        return quant.quant_aware(program, self.executor.place, scope=self.scope, **options)

    def convert(self, program: Any, **options: Any) -> Any:
        return quant.convert(program, self.executor.place, scope=self.scope, **options)


def batch(seed: int) -> dict[str, Any]:
    images, labels = digits("train")
    chosen = np.random.RandomState(seed).permutation(len(images))[:BATCH]
    return {"image": images[chosen], "label": labels[chosen]}


def held_out(count: int = 64) -> dict[str, Any]:
    images, labels = digits("test")
    return {"image": images[:count], "label": labels[:count]}


def net(*, has_label_op: bool = False) -> tuple[Any, Any, Any]:
    image = paddle.static.data("image", [None, 1, 28, 28], "float32")
    label = paddle.static.data("label", [None, 1], "int64")
    if has_label_op:
        label = paddle.reshape(paddle.reshape(label, [-1]), [-1, 1])
    out = models.create("lenet", num_classes=10, in_channels=1)(image)
    return image, out, paddle.mean(fn.cross_entropy(out, label))


def script(*, has_scope: bool = True, has_optimizer: bool = True, prefix: str = "") -> Script:
    """A LeNet with its loss, Momentum and a cloned test program, in a fresh scope or the global one."""
    train, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(train, startup), paddle.utils.unique_name.guard(prefix):
        image, out, loss = net()
        if has_optimizer:
            paddle.optimizer.Momentum(0.02, 0.9, weight_decay=1e-4).minimize(loss)
    scope = paddle.static.Scope() if has_scope else None
    executor = paddle.static.Executor(paddle.CPUPlace())
    made = Script(train, train.clone(for_test=True), image, out, loss, executor, scope)
    paddle.seed(0)
    made.run(startup, {})
    return made


@dataclass
class Trained:
    """A script whose quantized programs have been trained."""

    script: Script
    train: Any
    test: Any
    losses: list[float]
    before: dict[str, Any]


def trained(**options: Any) -> Trained:
    made = script(**options)
    before = made.weights()
    training, testing = made.aware(made.train), made.aware(made.test, for_test=True)
    return Trained(made, training, testing, made.steps(training, 20), before)


@pytest.fixture(params=[True, False], ids=["own scope", "global scope"])
def done(request: pytest.FixtureRequest) -> Trained:
    return trained(has_scope=request.param, prefix="" if request.param else "shared_")


def test_training_with_rounding_learns(done: Trained) -> None:
    assert np.mean(done.losses[-5:]) < np.mean(done.losses[:5]) - 0.2
    changed = [
        name for name, array in done.script.weights().items() if not np.array_equal(array, done.before[name])
    ]
    assert set(changed) == set(done.before)


def test_all_forms_give_the_same_bits(done: Trained) -> None:
    made = done.script
    frozen, packed = made.convert(done.test, save_int8=True)
    feed = held_out()
    expected = made.run(done.test, feed, made.out, made.loss)
    for program in (frozen, packed):
        for ours, theirs in zip(made.run(program, feed, made.out, made.loss), expected):
            np.testing.assert_array_equal(ours, theirs)
    plain = made.run(made.test, feed, made.out)[0]
    assert not np.array_equal(plain, expected[0])


def test_one_form_keeps_its_weights_as_float_and_the_other_as_int8() -> None:
    done = trained()
    made = done.script
    frozen, packed = (Model(p, made.scope) for p in made.convert(done.test, save_int8=True))
    assert [frozen.weight(f"linear_{i}.w_0.frozen").dtype for i in range(3)] == [np.float32] * 3
    assert not unpackings(frozen.view)
    assert len(unpackings(packed.view)) == 5
    assert {packed.weight(u.integers).dtype.name for u in unpackings(packed.view)} == {"int8"}


def test_the_users_programs_stay_as_they_were(done: Trained) -> None:
    made, fresh = done.script, script(has_scope=True, prefix="" if done.script.scope else "shared_")
    made.convert(done.test)
    for ours, theirs in ((made.train, fresh.train), (made.test, fresh.test)):
        names = [[op.name() for op in p.global_block().ops] for p in (ours, theirs)]
        assert names[0] == names[1]
    feed = batch(77)
    for name, array in made.weights().items():
        fresh.scope.find_var(name).get_tensor().set(array, paddle.CPUPlace())
    np.testing.assert_array_equal(
        made.run(made.test, feed, made.out)[0], fresh.run(fresh.test, feed, fresh.out)[0]
    )
    assert np.isfinite(made.steps(made.train, 1)[0])


def test_training_goes_on_after_convert(done: Trained) -> None:
    made = done.script
    before = made.weights()
    frozen, packed = made.convert(done.test, save_int8=True)
    for name, array in made.weights().items():
        np.testing.assert_array_equal(array, before[name])
    feed = held_out()
    result = made.run(frozen, feed, made.out)[0]
    further = made.steps(done.train, 5, start=100)
    assert np.isfinite(further).all()
    assert not np.array_equal(made.run(done.test, feed, made.out)[0], result)
    for program in (frozen, packed):
        np.testing.assert_array_equal(made.run(program, feed, made.out)[0], result)


def test_training_gives_the_same_with_and_without_a_convert_in_between() -> None:
    one, two = trained(), trained()
    one.script.convert(one.test)
    assert one.script.steps(one.train, 3, start=50) == two.script.steps(two.train, 3, start=50)


def test_converting_again_gives_the_new_numbers() -> None:
    done = trained()
    done.script.convert(done.test)
    done.script.steps(done.train, 3, start=50)
    again = done.script.convert(done.test)
    feed = held_out()
    ours, expected = (done.script.run(p, feed, done.script.out)[0] for p in (again, done.test))
    np.testing.assert_array_equal(ours, expected)


def test_a_test_program_built_on_its_own_shares_the_scales() -> None:
    done = trained()
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()), paddle.utils.unique_name.guard():
        _, out, loss = net(has_label_op=True)
    apart = done.script.aware(program, for_test=True)
    feed = held_out()
    ours = done.script.run(apart, feed, out, loss)
    theirs = done.script.run(done.test, feed, done.script.out, done.script.loss)
    for one, other in zip(ours, theirs):
        np.testing.assert_array_equal(one, other)
    frozen = done.script.convert(apart)
    np.testing.assert_array_equal(done.script.run(frozen, feed, out)[0], ours[0])


def test_quantizers_may_come_before_the_optimizer() -> None:
    first, last = script(has_optimizer=False), script()
    program = first.aware(first.train)
    loss = Model.of(program, {"loss": first.loss}, first.scope).target("loss")
    startup = paddle.static.Program()
    with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
        paddle.optimizer.Momentum(0.02, 0.9, weight_decay=1e-4).minimize(loss)
    first.run(startup, {})
    before = first.weights()
    feed = batch(0)
    first.run(program, feed, loss)
    last.run(last.aware(last.train), feed, last.loss)
    for name, array in last.weights().items():
        # Gradients of both ways are sums of the same numbers, in an order that Paddle chooses.
        np.testing.assert_allclose(first.weight(name), array, rtol=1e-5, atol=1e-7)
        assert not np.array_equal(before[name], array)


def test_only_inputs_and_weights_of_the_ops_asked_for_are_rounded() -> None:
    made = script()
    linear = made.aware(made.test, for_test=True, config={"quantize_op_types": ["mul"]})
    weights = {r.value for r in roundings(Model(linear, made.scope).view) if r.value.endswith("w_0")}
    assert weights == {"linear_0.w_0", "linear_1.w_0", "linear_2.w_0"}


@pytest.mark.parametrize("pattern", ["Linear", ["Linear"], ["skip_quant", "/Linear/"], ["Sequential_1"]])
def test_layers_can_be_left_out_by_their_path(pattern: Any) -> None:
    made = script()
    program = made.aware(made.test, for_test=True, config={"not_quant_pattern": pattern})
    weights = {r.value for r in roundings(Model(program, made.scope).view) if r.value.endswith("w_0")}
    assert "linear_0.w_0" not in weights
    assert "conv2d_0.w_0" in weights


@pytest.mark.parametrize("pattern", [None, "", "skip_quant", []])
def test_leaving_nothing_out_quantizes_all(pattern: Any) -> None:
    made = script()
    program = made.aware(made.test, for_test=True, config={"not_quant_pattern": pattern})
    assert len([r for r in roundings(Model(program, made.scope).view) if r.value.endswith("w_0")]) == 5


def test_a_pattern_that_matches_nothing_names_the_nearest_layer() -> None:
    made = script()
    with pytest.raises(RuleMatchedNothing, match="Linear"):
        made.aware(made.train, config={"not_quant_pattern": ["Linaer"]})


def test_excluding_everything_is_an_error() -> None:
    made = script()
    with pytest.raises(NothingToQuantize, match="5 x excluded"):
        made.aware(made.train, config={"not_quant_pattern": ["*"]})


def test_a_program_without_an_op_to_quantize_is_refused() -> None:
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        paddle.nn.functional.softmax(paddle.static.data("x", [None, 4], "float32"))
    with pytest.raises(NothingToQuantize, match="op-runs-in-float"):
        quant.quant_aware(program, scope=paddle.static.Scope())


def test_quantizers_are_not_inserted_twice() -> None:
    made = script()
    with pytest.raises(AlreadyQuantized):
        made.aware(made.aware(made.train))
    with pytest.raises(AlreadyQuantized):
        made.aware(made.aware(made.test, for_test=True), for_test=True)


def test_a_frozen_program_is_not_quantized_again() -> None:
    done = trained()
    for program in done.script.convert(done.test, save_int8=True):
        with pytest.raises(AlreadyQuantized):
            done.script.aware(program)


def test_converting_before_a_step_is_refused() -> None:
    made = script()
    with pytest.raises(SiteNotTrained, match="'image'"):
        made.convert(made.aware(made.test, for_test=True))


def test_converting_a_float_program_is_refused() -> None:
    made = script()
    with pytest.raises(NotQuantized):
        made.convert(made.test)


def test_a_training_program_is_no_test_program() -> None:
    made = script()
    with pytest.raises(HasBackward, match="for_test=True"):
        made.aware(made.train, for_test=True)
    with pytest.raises(HasBackward, match="freeze"):
        made.convert(made.aware(made.train))


@pytest.mark.parametrize(
    ("config", "near"),
    [
        ({"weight_bit": 8}, "weight_bits"),
        ({"activation_quantise_type": "abs_max"}, "activation_quantize_type"),
        ({"activation_quantize_type": "range_abs_max"}, "'moving_average_abs_max'"),
        ({"weight_bits": 4}, "Served: 8"),
        ({"moving_rate": 0.99}, "Served: 0.9"),
        ({"for_tensorrt": True}, "Served: False"),
        ({"quantize_op_types": ["conv2d", "lstm"]}, "depthwise_conv2d"),
        ({"quantize_op_types": [["conv2d"]]}, "a list of names"),
        ({"quantize_op_types": 5}, "a list of names"),
        ({"not_quant_pattern": [3]}, "a list of names"),
        ({"weight_bits": np.array([8, 8])}, "Served: 8"),
        ({8: "weight_bits"}, "'8'"),
        ("quant.yaml", "a mapping"),
        (["conv2d"], "a mapping"),
    ],
)
def test_what_is_not_served_is_refused_with_what_is(config: Any, near: str) -> None:
    made = script()
    for call in (made.aware, made.convert):
        with pytest.raises(SettingNotServed, match=near):
            call(made.train, config=config)


@pytest.mark.parametrize("given", [None, "model.pdmodel", paddle.nn.ReLU()], ids=lambda g: type(g).__name__)
def test_what_is_no_program_is_refused(given: Any) -> None:
    for call in (quant.quant_aware, quant.convert):
        with pytest.raises(NotAProgram, match=f"A {type(given).__name__} was given"):
            call(given)


def test_one_op_type_may_stand_without_a_list() -> None:
    made = script()
    one, same = (made.aware(made.test, config={"quantize_op_types": t}) for t in ("conv2d", ["conv2d"]))
    counts = [len(roundings(Model(p, made.scope, borrows=True).view)) for p in (one, same)]
    assert counts == [4, 4]


def test_the_settings_of_old_scripts_are_taken_at_their_defaults() -> None:
    made = script()
    config = {
        "weight_quantize_type": "channel_wise_abs_max",
        "activation_quantize_type": "moving_average_abs_max",
        "weight_bits": 8,
        "activation_bits": 8,
        "not_quant_pattern": ["skip_quant"],
        "quantize_op_types": ["conv2d", "depthwise_conv2d", "mul"],
        "dtype": "int8",
        "window_size": 10000,
        "moving_rate": 0.9,
        "for_tensorrt": False,
        "is_full_quantize": False,
        "onnx_format": True,
    }
    plain, told = (made.aware(made.train, config=c) for c in (None, config))
    assert [o.name() for o in plain.global_block().ops] == [o.name() for o in told.global_block().ops]


def test_what_was_trained_goes_to_an_engine(tmp_path: Any) -> None:
    done = trained()
    made = done.script
    before = made.weights()
    result = freeze(Model.of(done.test, {"score": made.out}, made.scope), "digits:test", tmp_path / "out")
    assert result.verdict.holds
    agreement = result.verdict.to_simulation["score"].top1_agreement
    assert agreement is not None
    assert agreement >= 0.995
    feed = held_out()
    expected = made.run(done.test, feed, made.out)[0]
    for form in (result.simulation, result.packed):
        np.testing.assert_array_equal(form.run({"image": feed["image"]})["score"], expected)
    for name, array in made.weights().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_models_frozen_forms_are_saved_by_paddle_itself(tmp_path: Any) -> None:
    done = trained()
    made = done.script
    frozen, _ = made.convert(done.test, save_int8=True)
    model = Model.of(frozen, {"score": made.out}, made.scope)
    feed = held_out()
    with paddle.static.scope_guard(made.scope):
        place = str(tmp_path / "frozen")
        image = next(o.result(0) for o in frozen.global_block().ops if o.attrs().get("name") == "image")
        paddle.static.save_inference_model(
            place, [image], [model.target("score")], made.executor, program=frozen
        )
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, _, outputs = paddle.static.load_inference_model(str(tmp_path / "frozen"), made.executor)
        again = made.executor.run(program, feed={"image": feed["image"]}, fetch_list=outputs)[0]
    np.testing.assert_array_equal(again, made.run(done.test, feed, made.out)[0])
