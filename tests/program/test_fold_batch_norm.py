"""Batch norm into the convolution before it: the same numbers, none left, and refusals by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from paddle import nn
from program_nets import built, pictures, ran

from spokeshave.graph import ViewBuilder, diff, match, problems
from spokeshave.program import PASSES, Found, Model, PassResult, load, rewrite, save

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
    "read by two": lambda x: _twice(nn.BatchNorm2D(8)(nn.Conv2D(4, 8, 3)(x))),
}


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
    [found] = match(view, FOLD.steps)
    reason = FOLD.check(Found(view, found))
    assert reason is not None
    assert (reason.code, reason.subject) == ("weight-type", "batch_norm_0")


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
