"""From what was seen to scales and zero points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spokeshave.errors.numerics import AffineLengthsDiffer, AxisOutOfRange, BoundNotUsable, RangeNotUsable
from spokeshave.numerics import INT8, INT8_NARROW, UINT8, Grid, asymmetric, encode, magnitude, snap, symmetric

TINY = float(np.finfo(np.float32).tiny)
MOST = float(np.finfo(np.float32).max)

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
arrays = hnp.arrays(np.float32, hnp.array_shapes(max_dims=4, max_side=4), elements=finite)
any_grid = st.sampled_from([INT8, INT8_NARROW, UINT8, Grid(2, True), Grid(4, True, True), Grid(16, False)])


def test_magnitude_by_hand() -> None:
    x = np.array([[1.0, -5.0, 2.0], [-3.0, 4.0, 0.0]], np.float32)
    assert magnitude(x).tolist() == 5.0
    assert magnitude(x, axis=0).tolist() == [5.0, 4.0]
    assert magnitude(x, axis=1).tolist() == [3.0, 5.0, 2.0]


@given(arrays, st.data())
def test_magnitude_is_that_of_each_channel_alone(x: npt.NDArray[np.float32], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    wanted = [np.abs(x.take(i, axis)).max() for i in range(x.shape[axis])]
    found = magnitude(x, axis)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(magnitude(x), np.abs(x).max())
    assert not np.signbit(found).any()


def test_magnitude_of_nothing_is_zero() -> None:
    assert magnitude(np.zeros((0, 3))).tolist() == 0.0
    assert magnitude(np.zeros((0, 3)), axis=1).tolist() == [0.0, 0.0, 0.0]


def test_magnitude_hides_neither_nan_nor_infinity() -> None:
    assert np.isnan(magnitude([1.0, np.nan, 2.0]))
    assert magnitude([1.0, -np.inf]) == np.inf


def test_magnitude_of_the_lowest_integer_is_positive() -> None:
    assert magnitude(np.array([-128, 5], np.int8)) == 128


@pytest.mark.parametrize("axis", [2, -3])
def test_magnitude_refuses_an_axis_that_is_not_there(axis: int) -> None:
    with pytest.raises(AxisOutOfRange):
        magnitude(np.zeros((2, 2)), axis)


@pytest.mark.parametrize(
    ("grid", "steps"), [(INT8, 127), (INT8_NARROW, 127), (UINT8, 255), (Grid(4, True), 7)]
)
def test_the_bound_has_the_highest_code(grid: Grid, steps: int) -> None:
    affine, without_range = symmetric(3.0, grid)
    assert affine.scale == (float(np.float32(3.0) / np.float32(steps)),)
    assert affine.zero == (0,)
    assert without_range == ()
    assert encode(3.0, affine) == grid.high


def test_channels_without_a_range_get_the_scale_one_and_are_named() -> None:
    affine, without_range = symmetric(np.array([0.0, 127.0, 1e-40, TINY, -0.0]), INT8, axis=1)
    assert affine.scale == (1.0,) * 5
    assert affine.axis == 1
    assert without_range == (0, 2, 3, 4)


def test_the_smallest_bound_that_has_a_normal_scale_is_used() -> None:
    affine, without_range = symmetric(TINY * 127, INT8)
    assert affine.scale == (TINY,)
    assert without_range == ()


@given(arrays, any_grid, st.data())
def test_a_symmetric_grid_covers_what_was_seen(
    x: npt.NDArray[np.float32], grid: Grid, data: st.DataObject
) -> None:
    axis = data.draw(st.none() | st.integers(0, x.ndim - 1))
    seen = x if grid.signed else np.abs(x)
    affine, without_range = symmetric(magnitude(seen, axis), grid, axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)] if axis is not None else []
    scale = np.array(affine.scale).reshape(shape)
    error = np.abs(snap(seen, affine).astype(np.float64) - seen)
    # Half a step, and the roundings of scale, quotient and product: 2 ** -24 each of at most `high` steps.
    allowed = scale * (0.5 + 4 * grid.high * 2.0**-24)
    assert (error <= allowed).all()
    assert all(affine.scale[i] == 1.0 for i in without_range)


@pytest.mark.parametrize("bound", [-1.0, np.nan, np.inf, -np.inf, 1e300])
def test_a_bound_that_is_no_magnitude_is_refused(bound: float) -> None:
    with pytest.raises(BoundNotUsable, match="channel 1"):
        symmetric(np.array([1.0, bound]), INT8, axis=0)


def test_the_largest_bound_is_taken() -> None:
    for grid in (INT8, INT8_NARROW, Grid(4, True), Grid(16, True)):
        affine, _ = symmetric(MOST, grid)
        assert encode([MOST, -MOST], affine).tolist() == [grid.high, -grid.high]
        assert np.isfinite(snap([MOST, -MOST], affine)).all()


def test_several_bounds_need_an_axis_and_one_dimension() -> None:
    with pytest.raises(AffineLengthsDiffer):
        symmetric(np.ones(3), INT8)
    with pytest.raises(AxisOutOfRange):
        symmetric(np.ones((3, 1)), INT8, axis=0)
    with pytest.raises(AxisOutOfRange):
        symmetric(np.ones(3), INT8, axis=-1)


@pytest.mark.parametrize(
    ("low", "high", "grid", "scale", "zero"),
    [
        (0.0, 255.0, UINT8, 1.0, 0),
        (-128.0, 127.0, INT8, 1.0, 0),
        (-1.0, 3.0, Grid(2, False), 4 / 3, 1),
        (2.0, 255.0, UINT8, 1.0, 0),  # widened to 0
        (-255.0, -2.0, UINT8, 1.0, 255),
        (-255.0, -2.0, INT8, 1.0, 127),
        (-127.5, 127.5, UINT8, 1.0, 128),
        (0.0, 0.0, UINT8, 1.0, 0),
        (0.0, 0.0, INT8, 1.0, 0),
        (0.0, 1e-40, UINT8, 1.0, 0),
    ],
)
def test_asymmetric_by_hand(low: float, high: float, grid: Grid, scale: float, zero: int) -> None:
    affine = asymmetric(low, high, grid)
    assert affine.scale == (float(np.float32(scale)),)
    assert affine.zero == (zero,)


@given(st.lists(finite, min_size=2, max_size=8), any_grid)
def test_an_asymmetric_grid_covers_what_was_seen(seen: list[float], grid: Grid) -> None:
    x = np.array(seen, np.float32)
    affine = asymmetric(float(x.min()), float(x.max()), grid)
    # Halved, as the outermost codes of a range near float32's ends may decode to infinity.
    error = np.abs(snap(x / 2, affine).astype(np.float64) - x / 2)
    # Half a step, and the roundings of scale, quotient and product: 2 ** -24 each of at most all steps.
    assert (error <= affine.scale[0] * (0.5 + 4 * grid.levels * 2.0**-24)).all()
    assert snap(0.0, affine) == 0.0


@given(st.floats(-1e6, 1e6, width=32), st.floats(-1e6, 1e6, width=32), any_grid)
def test_the_ends_of_a_range_are_within_half_a_step(one: float, other: float, grid: Grid) -> None:
    low, high = sorted((one, other))
    affine = asymmetric(low, high, grid)
    for end in (low, high):
        error = abs(float(snap(end, affine)) - end)
        assert error <= affine.scale[0] * (0.5 + 4 * grid.levels * 2.0**-24)


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 0.0), (np.nan, 1.0), (0.0, np.inf), (-np.inf, 0.0), (0.0, 1e300)]
)
def test_a_range_that_is_none_is_refused(low: float, high: float) -> None:
    with pytest.raises(RangeNotUsable):
        asymmetric(low, high, UINT8)


def test_the_widest_range_has_a_scale() -> None:
    assert np.isfinite(asymmetric(-MOST, MOST, UINT8).scale[0])
