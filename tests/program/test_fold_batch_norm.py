"""Batch norm into the convolution before it: the same numbers, none left, and refusals by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paddle import nn
from program_nets import built, pictures, ran

from spokeshave.graph import GraphView, Node, ViewBuilder, diff, problems
from spokeshave.ops.effects import BATCH_NORMS
from spokeshave.program import PASSES, Model, PassResult, load, rewrite, save
from spokeshave.program.passes.fold_batch_norm import factors_of
from spokeshave.seams import erase_tensors, write_tensor

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

FOLD = PASSES["fold-batch-norm"]
BATCH_NORM = "pd_op.batch_norm_"
Net = Callable[[Any], Any]


def folded(model: Model) -> PassResult:
    return rewrite(model, FOLD)


def norms(model: Model) -> int:
    return sum(node.op == BATCH_NORM for node in model.view.nodes)


def check_close(found: Any, wanted: Any) -> None:
    # Folding multiplies float32 weights before the sums in place of after them.
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max())


def conv_bn(**options: Any) -> Net:
    return lambda x: F.relu(nn.BatchNorm2D(8)(nn.Conv2D(4, 8, 3, padding=1, **options)(x)))


FOLDABLE: dict[str, Net] = {
    "with a bias": conv_bn(),
    "without a bias": conv_bn(bias_attr=False),
    "grouped": conv_bn(groups=2),
    "grouped without a bias": conv_bn(groups=2, bias_attr=False),
    "depthwise, two filters a channel": conv_bn(groups=4),
    "depthwise": lambda x: nn.BatchNorm2D(4)(nn.Conv2D(4, 4, 3, groups=4, bias_attr=False)(x)),
    "two in a row": lambda x: conv_bn()(nn.Conv2D(8, 4, 1)(conv_bn()(x))),
    "as the output": lambda x: nn.BatchNorm2D(8)(nn.Conv2D(4, 8, 3)(x)),
    "with global statistics": lambda x: nn.BatchNorm2D(8, use_global_stats=True)(nn.Conv2D(4, 8, 3)(x)),
    "another epsilon": lambda x: nn.BatchNorm2D(8, epsilon=0.3)(nn.Conv2D(4, 8, 3)(x)),
    "transposed": lambda x: nn.BatchNorm2D(6)(nn.Conv2DTranspose(4, 6, 3)(x)),
    "transposed, without a bias": lambda x: nn.BatchNorm2D(6)(
        nn.Conv2DTranspose(4, 6, 3, bias_attr=False)(x)
    ),
    "transposed, in groups": lambda x: nn.BatchNorm2D(6)(nn.Conv2DTranspose(4, 6, 3, groups=2)(x)),
    "transposed, two filters a channel": lambda x: nn.BatchNorm2D(8)(
        nn.Conv2DTranspose(4, 8, 3, groups=4, stride=2)(x)
    ),
    "transposed, depthwise": lambda x: nn.BatchNorm2D(4)(nn.Conv2DTranspose(4, 4, 3, groups=4, stride=2)(x)),
    "transposed, depthwise, channels last": lambda x: nn.BatchNorm2D(8, data_format="NHWC")(
        nn.Conv2DTranspose(8, 8, 3, groups=8, data_format="NHWC")(x)
    ),
    "transposed, channels last, in groups": lambda x: nn.BatchNorm2D(6, data_format="NHWC")(
        nn.Conv2DTranspose(8, 6, 3, groups=2, data_format="NHWC")(x)
    ),
    "a product": lambda x: nn.BatchNorm1D(6)(nn.Linear(256, 6)(paddle.flatten(x, 1))),
    "a product without a bias": lambda x: nn.BatchNorm1D(6)(
        nn.Linear(256, 6, bias_attr=False)(paddle.flatten(x, 1))
    ),
    "a product with its weight the other way round": lambda x: nn.BatchNorm1D(6)(
        paddle.matmul(paddle.flatten(x, 1), _weight(6, 256), transpose_y=True)
    ),
    "a product of many rows": lambda x: nn.BatchNorm1D(6, data_format="NLC")(
        nn.Linear(8, 6)(paddle.flatten(x, 1, 2))
    ),
    "a product in a picture, channels last": lambda x: nn.BatchNorm2D(6, data_format="NHWC")(
        paddle.matmul(x, _weight(6, 8), transpose_y=True)
    ),
    "read by two": lambda x: _twice(nn.BatchNorm2D(8)(nn.Conv2D(4, 8, 3)(x))),
}


def _weight(*shape: int) -> Any:
    return paddle.create_parameter(list(shape), "float32")


def _twice(x: Any) -> Any:
    return [F.relu(x), x + 1]


@pytest.mark.parametrize("net", FOLDABLE.values(), ids=list(FOLDABLE))
def test_a_folded_net_gives_the_same_without_batch_norm(net: Net) -> None:
    model = built(net)
    result = folded(model)
    assert len(result.changed) == norms(model) > 0
    assert norms(result.model) == 0
    assert result.declined == ()
    assert problems(result.model.view) == ()
    check_close(ran(result.model), ran(model))


def test_channels_last_folds_too() -> None:
    def net(x: Any) -> Any:
        x = paddle.transpose(x, [0, 2, 3, 1])
        x = nn.Conv2D(4, 8, 3, data_format="NHWC")(x)
        return nn.BatchNorm2D(8, data_format="NHWC")(x)

    model = built(net)
    result = folded(model)
    assert norms(result.model) == 0
    check_close(ran(result.model), ran(model))


def test_double_precision_stays_double() -> None:
    def net(x: Any) -> Any:
        x = paddle.cast(x, "float64")
        weight = paddle.create_parameter([8, 4, 3, 3], "float64", name="weight")
        shape = {"scale": 1.5, "bias": 0.5, "mean": -0.25, "variance": 2.0}
        made = [
            paddle.create_parameter([8], "float64", name=n, default_initializer=_constant(v))
            for n, v in shape.items()
        ]
        scale, bias, mean, variance = made
        return F.batch_norm(F.conv2d(x, weight), mean, variance, scale, bias)

    model = built(net)
    result = folded(model)
    assert norms(result.model) == 0
    assert result.model.weight("weight").dtype == np.float64
    np.testing.assert_allclose(ran(result.model)[0], ran(model)[0], rtol=1e-12, atol=1e-12)


def _constant(value: float) -> Any:
    return nn.initializer.Constant(value)


def test_mobilenet_has_none_left_and_its_tensors_went_with_them(saved: Any, tmp_path: Path) -> None:
    model = load(saved("mobilenet"))
    result = folded(model)
    assert (norms(model), len(result.changed), norms(result.model)) == (27, 27, 0)
    check_close(result.model.run(pictures("mobilenet")).values(), model.run(pictures("mobilenet")).values())
    assert not [name for name in result.model.weights() if name.startswith("batch_norm")]
    assert not result.model.holds("batch_norm2d_0.w_0")
    save(result.model, tmp_path / "m")
    again = load(tmp_path / "m").run(pictures("mobilenet"))
    np.testing.assert_array_equal(
        next(iter(again.values())), next(iter(result.model.run(pictures("mobilenet")).values()))
    )


def test_the_model_that_went_in_is_unchanged() -> None:
    model = built(conv_bn())
    text, weights, before = str(model.program), model.weights(), ran(model)
    folded(model)
    assert str(model.program) == text
    for name, array in model.weights().items():
        np.testing.assert_array_equal(array, weights[name])
    np.testing.assert_array_equal(ran(model)[0], before[0])


def test_in_a_borrowed_scope_the_users_tensors_stay() -> None:
    owned = built(conv_bn())
    program, outputs = owned.program, {name: owned.target(name) for name, _ in owned.view.outputs}
    model = Model.of(program, outputs, owned.scope)
    weights = {name: array.copy() for name, array in model.weights().items()}
    result = folded(model)
    assert result.model.scope is model.scope
    assert norms(result.model) == 0
    check_close(ran(result.model), ran(model))
    for name, array in weights.items():
        np.testing.assert_array_equal(model.weight(name), array)


def _conv_read_twice(x: Any) -> Any:
    y = nn.Conv2D(4, 8, 3, bias_attr=False)(x)
    return [nn.BatchNorm2D(8)(y), F.relu(y)]


def _conv_is_output(x: Any) -> Any:
    y = nn.Conv2D(4, 8, 3, bias_attr=False)(x)
    return [nn.BatchNorm2D(8)(y), y]


def _bias_read_twice(x: Any) -> Any:
    y = nn.Conv2D(4, 8, 3)(x)
    return [nn.BatchNorm2D(8)(y), F.relu(y)]


def _weight_shared(x: Any) -> Any:
    conv = nn.Conv2D(4, 4, 3, padding=1, bias_attr=False)
    return nn.BatchNorm2D(4)(conv(x)) + conv(x)


def _weight_computed(x: Any) -> Any:
    weight = paddle.create_parameter([8, 4, 3, 3], "float32")
    return nn.BatchNorm2D(8)(F.conv2d(x, paddle.tanh(weight)))


def _after_a_pool(x: Any) -> Any:
    return nn.BatchNorm2D(4)(F.max_pool2d(nn.Conv2D(4, 4, 3)(x), 2))


def _after_a_residual(x: Any) -> Any:
    return nn.BatchNorm2D(4)(nn.Conv2D(4, 4, 3, padding=1, bias_attr=False)(x) + x)


def _after_a_map(x: Any) -> Any:
    added = paddle.create_parameter([1, 8, 6, 6], "float32")
    return nn.BatchNorm2D(8)(nn.Conv2D(4, 8, 3, bias_attr=False)(x) + added)


def _two_norms(x: Any) -> Any:
    y = nn.Conv2D(4, 4, 3, bias_attr=False)(x)
    return [nn.BatchNorm2D(4)(y), F.relu(y)]


def _along_rows(x: Any) -> Any:
    return nn.BatchNorm2D(4)(nn.Linear(8, 6)(x))


def _of_other_layout(x: Any) -> Any:
    return nn.BatchNorm2D(6, data_format="NHWC")(nn.Conv2D(4, 8, 3)(x))


def _of_three_axes(x: Any) -> Any:
    return nn.BatchNorm2D(8, data_format="NHWC")(paddle.matmul(x, _weight(4, 8, 8)))


def _before_a_conv(x: Any) -> Any:
    return nn.Conv2D(4, 4, 3)(nn.BatchNorm2D(4)(x))


def _weight_is_output(x: Any) -> Any:
    conv = nn.Conv2D(4, 4, 3, bias_attr=False)
    return [nn.BatchNorm2D(4)(conv(x)), conv.weight]


def _numbers_computed(x: Any) -> Any:
    norm, shift = nn.BatchNorm2D(4), _weight(4)
    y = nn.Conv2D(4, 4, 3)(x)
    return F.batch_norm(y, norm._mean, norm._variance, norm.weight, paddle.tanh(shift))


def _first(x: Any) -> Any:
    return nn.BatchNorm2D(4)(x)


DECLINED: list[tuple[Net, str]] = [
    (_conv_read_twice, "conv-read-twice"),
    (_conv_is_output, "conv-read-twice"),
    (_bias_read_twice, "conv-read-twice"),
    (_weight_shared, "weight-shared"),
    (_weight_computed, "weight-not-constant"),
    (_after_a_pool, "no-conv-before"),
    (_after_a_residual, "no-conv-before"),
    (_after_a_map, "no-conv-before"),
    (_first, "no-conv-before"),
    (_two_norms, "conv-read-twice"),
    (_along_rows, "another-axis"),
    (_of_other_layout, "another-axis"),
    (_of_three_axes, "weight-not-a-matrix"),
    (_before_a_conv, "only-linear-behind"),
    (_weight_is_output, "weight-shared"),
    (_numbers_computed, "norm-not-constant"),
]


@pytest.mark.parametrize(("net", "code"), DECLINED)
def test_what_it_must_leave_alone_stays_equal_and_has_a_reason(net: Net, code: str) -> None:
    model = built(net)
    result = folded(model)
    assert result.changed == ()
    assert [(reason.code, reason.subject) for reason in result.declined] == [(code, "batch_norm_0")]
    assert diff(model.view, result.model.view) == ""
    np.testing.assert_array_equal(ran(result.model)[0], ran(model)[0])


def test_a_weight_that_numpy_cannot_multiply_is_left_alone() -> None:
    build = ViewBuilder()
    weight = build.parameter("weight", (8, 4, 3, 3), "bfloat16")
    operands = {"input": build.input("image", (-1, 4, 8, 8), "bfloat16"), "filter": weight}
    conv = build.node("pd_op.conv2d", operands, {"out": (-1, 8, 6, 6)})
    out = build.node(BATCH_NORM, {"x": conv}, {"out": (-1, 8, 6, 6)}, {"is_test": True})
    view = build.view({"out": out})
    assert reasons(view) == [("weight-type", "batch_norm_0")]


def reasons(view: GraphView) -> list[tuple[str, str] | None]:
    found = [FOLD.check(place) for place in FOLD.places(view)]
    return [None if reason is None else (reason.code, reason.subject) for reason in found]


def test_training_mode_is_left_alone() -> None:
    model = built(conv_bn(), is_test=False)
    result = folded(model)
    assert [reason.code for reason in result.declined] == ["bn-in-training"]
    assert diff(model.view, result.model.view) == ""


def test_a_net_without_batch_norm_stays_equal(saved: Any) -> None:
    model = load(saved("hand"))
    result = folded(model)
    assert (result.changed, result.declined) == ((), ())
    assert diff(model.view, result.model.view) == ""


def test_one_is_folded_beside_one_that_is_declined() -> None:
    def net(x: Any) -> Any:
        return _first(x) + nn.BatchNorm2D(4)(nn.Conv2D(4, 4, 3, padding=1)(x))

    model = built(net)
    result = folded(model)
    assert result.changed == ("batch_norm_1",)
    assert [reason.subject for reason in result.declined] == ["batch_norm_0"]
    check_close(ran(result.model), ran(model))
    facts = result.report().facts
    assert [facts[f"fold-batch-norm {word}"] for word in ("found", "rewritten")] == [2, 1]


def test_a_bias_that_two_convolutions_share_stays_for_the_other() -> None:
    def net(x: Any) -> Any:
        bias = paddle.create_parameter([4], "float32")
        first, second = (paddle.create_parameter([4, 4, 3, 3], "float32") for _ in range(2))
        shaped = paddle.reshape(bias, [1, -1, 1, 1])
        one = F.conv2d(x, first, padding=1) + shaped
        return nn.BatchNorm2D(4)(one) + (F.conv2d(x, second, padding=1) + shaped)

    model = built(net)
    result = folded(model)
    assert norms(result.model) == 0
    check_close(ran(result.model), ran(model))


# By hand and beyond what `built` makes


def test_a_convolution_of_one_pixel_folds_to_the_numbers_worked_out_by_hand() -> None:
    model = built(lambda x: nn.BatchNorm2D(1, epsilon=1.0)(nn.Conv2D(1, 1, 1)(x)), (1, 1, 1))
    numbers = {"conv2d_0.w_0": 3.0, "conv2d_0.b_0": 0.5, "batch_norm2d_0.w_0": 4.0, "batch_norm2d_0.b_0": 1.0}
    numbers |= {"batch_norm2d_0.w_1": 2.5, "batch_norm2d_0.w_2": 3.0}  # mean and variance
    for name, number in numbers.items():
        write_tensor(model.scope, name, np.full(model.parameters[name][0], number, np.float32))
    # gain 4 / sqrt(3 + 1) = 2, so w' = 3 * 2 and b' = (0.5 - 2.5) * 2 + 1
    result = folded(model).model
    assert result.weight("conv2d_0.w_0").item() == 6.0
    assert result.weight("conv2d_0.w_0.folded_bias").item() == -3.0
    image = np.full((1, 1, 1, 1), 2.0, np.float32)
    assert result.run({"image": image})["out0"].item() == model.run({"image": image})["out0"].item() == 9.0


def test_each_output_channel_of_a_grouped_transposed_filter_gets_its_own_gain() -> None:
    node = Node("n", "pd_op.conv2d_transpose", attrs={"groups": 2})
    gain = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0])  # three of each group
    weight = np.ones((4, 3, 1, 1), np.float32)  # two inputs a group
    found = (weight * factors_of(node, gain, weight.shape))[:, :, 0, 0]
    np.testing.assert_array_equal(found, [[1, 2, 3], [1, 2, 3], [10, 20, 30], [10, 20, 30]])


@settings(max_examples=30, deadline=None)
@given(
    groups=st.integers(1, 3),
    into=st.integers(1, 3),
    out=st.integers(1, 3),
    is_transposed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_scaled_weight_makes_what_the_weight_made_times_the_gain(
    groups: int, into: int, out: int, is_transposed: bool, seed: int
) -> None:
    random = np.random.RandomState(seed)
    shape = (groups * into, out, 2, 2) if is_transposed else (groups * out, into, 2, 2)
    weight, gain = random.standard_normal(shape), random.standard_normal(groups * out)
    image = paddle.to_tensor(random.standard_normal((1, groups * into, 3, 3)))
    run = F.conv2d_transpose if is_transposed else F.conv2d
    node = Node("n", f"pd_op.{run.__name__}", attrs={"groups": groups})
    scaled = weight * factors_of(node, gain, weight.shape)
    made = run(image, paddle.to_tensor(scaled), groups=groups).numpy()
    wanted = run(image, paddle.to_tensor(weight), groups=groups).numpy() * gain[:, None, None]
    np.testing.assert_allclose(made, wanted, rtol=1e-9, atol=1e-9)  # double precision, a few sums


def test_norms_that_share_a_convolution_each_have_a_reason() -> None:
    def net(x: Any) -> Any:
        y = nn.Conv2D(4, 4, 3)(x)
        return [nn.BatchNorm2D(4)(y), nn.BatchNorm2D(4)(y)]

    result = folded(built(net))
    assert [(r.code, r.subject) for r in result.declined] == [
        ("conv-read-twice", "batch_norm_0"),
        ("conv-read-twice", "batch_norm_1"),
    ]


def test_a_norm_behind_a_norm_folds_the_second_time() -> None:
    model = built(lambda x: nn.BatchNorm2D(4)(nn.BatchNorm2D(4)(nn.Conv2D(4, 4, 3)(x))))
    once = folded(model)
    assert [r.subject for r in once.declined] == ["batch_norm_1"]
    twice = folded(once.model)
    assert norms(twice.model) == 0
    check_close(ran(twice.model), ran(model))
    assert sorted(twice.model.weights()) == ["conv2d_0.w_0", "conv2d_0.w_0.folded_bias.1"]


def test_numbers_that_the_scope_does_not_hold_are_a_reason() -> None:
    model = built(conv_bn())
    erase_tensors(model.scope, ["batch_norm2d_0.w_2"])
    [reason] = folded(model).declined
    assert (reason.code, reason.text) == ("numbers-missing", "the scope holds no tensor batch_norm2d_0.w_2")


def test_statistics_that_are_handed_out_keep_their_norm() -> None:
    build = ViewBuilder()
    weight, image = build.parameter("w", (8, 4, 3, 3)), build.input("image", (-1, 4, 8, 8))
    conv = build.node("pd_op.conv2d", {"input": image, "filter": weight}, {"out": (-1, 8, 6, 6)})
    vectors = {n: build.parameter(n, (8,)) for n in ("mean", "variance")}
    made = {"out": (-1, 8, 6, 6), "mean_out": (8,)}
    out = build.node(BATCH_NORM, {"x": conv, **vectors}, made, {"is_test": True})
    assert reasons(build.view({"out": out})) == [None]
    assert reasons(build.view({"out": out, "mean": "batch_norm_0.mean_out"})) == [
        ("statistics-read", "batch_norm_0")
    ]


@pytest.mark.parametrize("op", BATCH_NORMS)
def test_a_batch_norm_of_any_name_is_one(op: str) -> None:
    build = ViewBuilder()
    weight, image = build.parameter("w", (8, 4, 3, 3)), build.input("image", (-1, 4, 8, 8))
    conv = build.node("pd_op.conv2d", {"input": image, "filter": weight}, {"out": (-1, 8, 6, 6)})
    vectors = {n: build.parameter(n, (8,)) for n in ("mean", "variance", "scale", "bias")}
    out = build.node(op, {"x": conv, **vectors}, {"out": (-1, 8, 6, 6)}, {"is_test": True})
    assert reasons(build.view({"out": out})) == [None]


def test_a_norm_over_many_devices_folds_and_then_runs_on_one(saved: Any, tmp_path: Path) -> None:
    for file in saved("mobilenet").parent.glob("mobilenet.*"):
        text = file.read_bytes()
        (tmp_path / file.name).write_bytes(text.replace(b'"1.batch_norm_"', b'"1.sync_batch_norm_"'))
    model = load(tmp_path / "mobilenet")
    assert sum(node.op == "pd_op.sync_batch_norm_" for node in model.view.nodes) == 27
    result = folded(model)
    assert len(result.changed) == 27
    wanted = load(saved("mobilenet")).run(pictures("mobilenet"))
    check_close(result.model.run(pictures("mobilenet")).values(), wanted.values())
