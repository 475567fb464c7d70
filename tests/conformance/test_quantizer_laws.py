"""What holds for every quantizer on the shelf, in real programs of Paddle's."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import paddle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spokeshave.graph import Rounding, roundings
from spokeshave.numerics import INT8, INT8_NARROW, Affine, Grid, snap
from spokeshave.program import Model
from spokeshave.quant import QUANTIZERS, QuantPlan, Site, transform
from spokeshave.seams import write_tensor

INTO, OUT = 3, 2
STORING = [name for name in QUANTIZERS.names() if QUANTIZERS[name].steps_of("x")]
HIGHEST = 2.0**100
NUMBERS = st.floats(-HIGHEST, HIGHEST, width=32, allow_subnormal=False)

every_quantizer = pytest.mark.parametrize("name", QUANTIZERS.names())
every_activation_quantizer = pytest.mark.parametrize("name", STORING)
few = settings(max_examples=30)


def matrices(rows: int, columns: int) -> st.SearchStrategy[Any]:
    cells = st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns)
    return cells.map(lambda found: np.array(found, np.float32).reshape(rows, columns))


@pytest.fixture(autouse=True)
def _static() -> Iterator[None]:
    was_dynamic = paddle.in_dynamic_mode()
    paddle.enable_static()
    yield
    if was_dynamic:
        paddle.disable_static()


@dataclass(frozen=True)
class Product:
    """`x @ w` with quantizers on both, for training and for testing, in one scope."""

    training: Model
    testing: Model
    axis: int | None
    starts: dict[str, Any]

    def put(self, weight: Any) -> None:
        """Gives the weight other numbers, and takes from the quantizers what they remember."""
        for name, array in {**self.starts, "w": weight}.items():
            write_tensor(self.training.scope, name, array)

    def seen(self, model: Model, value: str, x: Any) -> tuple[Any, Any, Any]:
        """A value, its scale, and what it was rounded to."""
        found = rounding_of(model, value)
        results = model.run({"x": x}, [found.scale, found.out])
        raw = model.weight("w") if value == "w" else x
        return raw, results[found.scale], results[found.out]


def rounding_of(model: Model, value: str) -> Rounding:
    return next(r for r in roundings(model.view) if r.value == value)


def grid_of(value: str) -> Grid:
    return INT8_NARROW if value == "w" else INT8


@cache
def product(weight: str, activation: str, axis: int | None) -> Product:
    program, scope = paddle.static.Program(), paddle.static.Scope()
    with paddle.static.program_guard(program, paddle.static.Program()), paddle.utils.unique_name.guard():
        x = paddle.static.data("x", [None, INTO], "float32")
        x.stop_gradient = False
        y = paddle.matmul(x, paddle.create_parameter([INTO, OUT], "float32", name="w"))
    write_tensor(scope, "w", np.ones((INTO, OUT), np.float32))
    model = Model.of(program, {"y": y}, scope)
    node = model.view.nodes[0].id
    sites = (
        Site("x", node, "x", INT8, (node,)),
        Site("w", node, "y", INT8_NARROW, (node,), is_weight=True, axis=axis),
    )
    drawn = QuantPlan("own", sites)

    def made(is_training: bool) -> Model:
        return transform(model, drawn, is_training=is_training, weight=weight, activation=activation)

    training, testing = made(True), made(False)
    return Product(training, testing, axis, training.weights())


def affine_of(scale: Any, axis: int | None, grid: Grid) -> Affine:
    scales = tuple(float(s) for s in np.ravel(scale))
    return Affine(scales, (0,) * len(scales), grid, axis if len(scales) > 1 else None)


def check_rounds(trial: Product, model: Model, value: str, x: Any) -> None:
    raw, scale, out = trial.seen(model, value, x)
    np.testing.assert_array_equal(out, snap(raw, affine_of(scale, trial.axis, grid_of(value))))


@every_quantizer
@pytest.mark.parametrize("axis", [None, 0, 1])
@few
@given(weight=matrices(INTO, OUT))
@example(weight=np.zeros((INTO, OUT), np.float32))
@example(weight=np.array([[0.5, 127.0], [1.5, -127.0], [2.5, 0.0]], np.float32))
def test_a_rounded_weight_is_the_snap_by_the_scale_it_shows(name: str, axis: int | None, weight: Any) -> None:
    trial = product(name, STORING[0], axis)
    trial.put(weight)
    x = np.ones((1, INTO), np.float32)
    check_rounds(trial, trial.training, "w", x)
    check_rounds(trial, trial.testing, "w", x)


@every_activation_quantizer
@few
@given(x=matrices(4, INTO))
@example(x=np.zeros((4, INTO), np.float32))
@example(x=np.full((4, INTO), 1e-42, np.float32))
def test_a_rounded_activation_is_the_snap_by_the_scale_it_shows(name: str, x: Any) -> None:
    trial = product("abs-max", name, None)
    trial.put(np.ones((INTO, OUT), np.float32))
    check_rounds(trial, trial.training, "x", x)
    check_rounds(trial, trial.testing, "x", x)


@every_quantizer
@few
@given(weight=matrices(INTO, OUT), x=matrices(4, INTO))
def test_a_scale_is_always_one_that_engines_take(name: str, weight: Any, x: Any) -> None:
    trial = product(name, STORING[0], None)
    trial.put(weight)
    for value in ("w", "x"):
        _, scale, _ = trial.seen(trial.training, value, x)
        assert np.isfinite(scale).all()
        assert (scale >= np.finfo(np.float32).tiny).all()


@every_quantizer
@pytest.mark.parametrize("axis", [None, 1])
@few
@given(weight=matrices(INTO, OUT), xs=st.lists(matrices(4, INTO), min_size=1, max_size=3))
def test_testing_agrees_with_the_last_step_of_training(
    name: str, axis: int | None, weight: Any, xs: list[Any]
) -> None:
    for activation in STORING:
        trial = product(name, activation, axis)
        trial.put(weight)
        for x in xs:
            trained = trial.training.run({"x": x})["y"]
        tested = trial.testing.run({"x": xs[-1]})["y"]
        np.testing.assert_array_equal(tested, trained)
        np.testing.assert_array_equal(trial.testing.run({"x": xs[-1]})["y"], tested)


@every_quantizer
def test_the_gradient_passes_as_if_nothing_were_rounded(name: str) -> None:
    trial = product(name, STORING[0], 1)
    model = trial.training.copy()
    rng = np.random.RandomState(0)
    weight, x, pull = (rng.standard_normal(s).astype(np.float32) for s in ((INTO, OUT), (4, INTO), (4, OUT)))
    trial.put(weight)
    with paddle.static.program_guard(model.program, paddle.static.Program()):
        aim = paddle.sum(paddle.multiply(model.target("y"), paddle.assign(pull)))
        wanted = paddle.static.gradients(aim, [model.target("x"), model.target("w")])
    outs = [model.target(rounding_of(model, value).out) for value in ("x", "w")]
    with paddle.static.scope_guard(model.scope):
        executor = paddle.static.Executor(paddle.CPUPlace())
        got = executor.run(model.program, feed={"x": x}, fetch_list=[*wanted, *outs])
    of_x, of_w, rounded_x, rounded_w = got
    # The products of a matrix of 3 are summed in an order that is the kernel's own.
    np.testing.assert_allclose(of_x, pull @ rounded_w.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_w, rounded_x.T @ pull, rtol=1e-5, atol=1e-6)


@every_quantizer
def test_it_has_a_page(name: str) -> None:
    page = (inspect.getdoc(type(QUANTIZERS[name])) or "").splitlines()
    assert {"## When to use it", "## Cost"} <= set(page)


def test_there_are_quantizers_for_both_kinds_of_sites() -> None:
    assert "abs-max" in QUANTIZERS.names()
    assert "moving-average-abs-max" in STORING
