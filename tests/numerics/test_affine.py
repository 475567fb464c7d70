"""What scales and zero points do to numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spokeshave.errors.numerics import (
    AffineLengthsDiffer,
    AxisOutOfRange,
    ChannelsDiffer,
    ScaleNotUsable,
    ValuesNotFinite,
    ZeroOutsideGrid,
)
from spokeshave.numerics import INT8, INT8_NARROW, UINT8, Affine, Grid, decode, encode, snap

TINY = float(np.finfo(np.float32).tiny)
MOST = float(np.finfo(np.float32).max)
DENORMAL = float(np.float32(1e-40))

Draw = Callable[[st.SearchStrategy[Any]], Any]

grids = st.builds(Grid, st.integers(2, 16), st.just(True), st.booleans()) | st.builds(
    Grid, st.integers(2, 16), st.just(False)
)
# Above this a code times its scale leaves float32, and decodes to infinity.
scales = st.floats(TINY, MOST / 2**17, width=32)
values = hnp.arrays(
    np.float32, hnp.array_shapes(max_dims=3, max_side=6), elements=st.floats(width=32, allow_nan=False)
)


@st.composite
def affines(draw: Draw) -> Affine:
    grid: Grid = draw(grids)
    return Affine((draw(scales),), (draw(st.integers(grid.low, grid.high)),), grid)


@st.composite
def cases(draw: Draw) -> tuple[npt.NDArray[np.float32], Affine]:
    """Values of any size beside an affine, many of them near its grid, per tensor or per channel."""
    x, one = draw(values), draw(affines())
    near = draw(hnp.arrays(np.float32, x.shape, elements=st.floats(-300, 300, width=32)))
    with np.errstate(over="ignore", under="ignore"):
        x = np.where(draw(hnp.arrays(np.bool_, x.shape)), x, near * np.float32(one.scale[0]))
    if draw(st.booleans()):
        return x, one
    axis = draw(st.integers(0, x.ndim - 1))
    count = x.shape[axis]
    many = tuple(draw(st.lists(scales, min_size=count, max_size=count)))
    zeros = draw(st.lists(st.integers(one.grid.low, one.grid.high), min_size=count, max_size=count))
    return x, Affine(many, tuple(zeros), one.grid, axis)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0.5, 0),
        (1.5, 2),
        (2.5, 2),
        (3.5, 4),
        (-0.5, 0),
        (-1.5, -2),
        (-2.5, -2),
        (0.49, 0),
        (0.51, 1),
        (126.5, 126),
        (127.5, 127),
        (-128.5, -128),
        (-0.0, 0),
    ],
)
def test_ties_go_to_the_even_code(value: float, code: int) -> None:
    assert encode(value, Affine((1.0,), (0,), INT8)) == code


def test_ties_are_even_before_the_zero_point_is_added() -> None:
    # As in ONNX: rint(0.5) + 3 is 3; rint(0.5 + 3) would be 4.
    assert encode([0.5, 1.5, 2.5], Affine((1.0,), (3,), UINT8)).tolist() == [3, 5, 5]


def test_a_scale_divides_and_is_not_multiplied_by_its_reciprocal() -> None:
    scale = np.float32(0.3)
    x = np.arange(1, 4000, dtype=np.float32) / 2 * scale
    codes = encode(x, Affine((float(scale),), (0,), Grid(16, signed=True)))
    assert (codes == np.rint(x / scale)).all()
    assert (codes != np.rint(x * (1 / scale))).any(), "the two never differ here: the test shows nothing"


@pytest.mark.parametrize(
    ("grid", "low", "high"), [(INT8, -128, 127), (INT8_NARROW, -127, 127), (UINT8, 0, 255)]
)
def test_what_lies_beyond_takes_the_outermost_code(grid: Grid, low: int, high: int) -> None:
    beyond = np.array([-np.inf, -MOST, -1e6, 1e6, MOST, np.inf], np.float32)
    codes = encode(beyond, Affine((1e-3,), (0,), grid))
    assert codes.tolist() == [low] * 3 + [high] * 3
    assert codes.dtype == grid.dtype


def test_a_number_beyond_float32_is_beyond_the_grid() -> None:
    assert encode(np.array([1e300, -1e300]), Affine((1.0,), (0,), INT8)).tolist() == [127, -128]


def test_denormal_values_are_zero() -> None:
    assert encode([DENORMAL, -DENORMAL], Affine((TINY,), (5,), UINT8)).tolist() == [5, 5]


def test_nan_has_no_code() -> None:
    with pytest.raises(ValuesNotFinite) as caught:
        encode([0.0, np.nan, np.inf, np.nan], Affine((1.0,), (0,), INT8))
    assert caught.value.facts == {"count": 2}


def test_codes_decode_by_hand() -> None:
    decoded = decode(np.array([0, 3, 255], np.uint8), Affine((0.5,), (3,), UINT8))
    assert decoded.tolist() == [-1.5, 0.0, 126.0]
    assert decoded.dtype == np.float32


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_channel_has_its_own_scale_and_zero_point(axis: int) -> None:
    x = np.arange(-12, 12, dtype=np.float32).reshape(2, 3, 4)
    count = x.shape[axis]
    affine = Affine(tuple(0.5 * 2**i for i in range(count)), tuple(range(count)), INT8, axis)
    snapped, codes = snap(x, affine), encode(x, affine)
    for i in range(count):
        alone = Affine((affine.scale[i],), (affine.zero[i],), INT8)
        np.testing.assert_array_equal(codes.take(i, axis), encode(x.take(i, axis), alone))
        np.testing.assert_array_equal(snapped.take(i, axis), snap(x.take(i, axis), alone))


def test_the_array_that_went_in_stays_as_it_was() -> None:
    x = np.array([0.3, 0.6], np.float32)
    snap(x, Affine((1.0,), (0,), INT8))
    assert x.tolist() == np.array([0.3, 0.6], np.float32).tolist()


@pytest.mark.parametrize("x", [np.float32(2.2), np.zeros((0, 3), np.float32), [[1, 2], [3, 4]]])
def test_scalars_lists_and_empty_arrays_keep_their_shape(x: npt.ArrayLike) -> None:
    affine = Affine((1.0,), (0,), INT8)
    codes, snapped = encode(x, affine), snap(x, affine)
    assert isinstance(codes, np.ndarray)
    assert isinstance(snapped, np.ndarray)
    assert codes.shape == snapped.shape == np.shape(x)


@given(cases())
def test_encoding_what_was_decoded_gives_the_same_codes(case: tuple[npt.NDArray[np.float32], Affine]) -> None:
    x, affine = case
    codes = encode(x, affine)
    np.testing.assert_array_equal(encode(decode(codes, affine), affine), codes)


@given(affines())
def test_every_code_survives_decoding_and_encoding(affine: Affine) -> None:
    codes = np.arange(affine.grid.low, affine.grid.high + 1).astype(affine.grid.dtype)
    np.testing.assert_array_equal(encode(decode(codes, affine), affine), codes)


@given(cases())
def test_snapping_twice_is_snapping_once(case: tuple[npt.NDArray[np.float32], Affine]) -> None:
    x, affine = case
    once = snap(x, affine)
    np.testing.assert_array_equal(snap(once, affine), once)


@given(affines(), st.floats(0, 1))
def test_inside_the_range_the_error_is_at_most_half_a_step(affine: Affine, where: float) -> None:
    ends = decode([affine.grid.low, affine.grid.high], affine)
    x = np.float32(float(ends[0]) + (float(ends[1]) - float(ends[0])) * where)
    error = abs(Fraction(float(x)) - Fraction(float(snap(x, affine))))
    # Float32 rounds the quotient and the product once each: 2 ** -24 of the value, twice.
    rounding = 2 * Fraction(1, 2**24) * max(abs(Fraction(float(end))) for end in ends)
    # Below the normal range its steps are 2 ** -149 whatever the value.
    assert error <= Fraction(affine.scale[0]) / 2 + rounding + Fraction(1, 2**148)


@given(affines())
def test_zero_is_exact_and_positive(affine: Affine) -> None:
    snapped = snap([0.0, -0.0], affine)
    assert snapped.tolist() == [0.0, 0.0]
    assert not np.signbit(snapped).any()


@given(affines(), st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=20))
def test_larger_values_never_get_smaller_codes(affine: Affine, seen: list[float]) -> None:
    codes = encode(sorted(seen), affine).astype(np.int64)
    assert (np.diff(codes) >= 0).all()


@given(cases())
def test_codes_lie_on_the_grid_in_its_type(case: tuple[npt.NDArray[np.float32], Affine]) -> None:
    x, affine = case
    codes = encode(x, affine)
    assert codes.dtype == affine.grid.dtype
    assert codes.min() >= affine.grid.low
    assert codes.max() <= affine.grid.high


@given(cases())
def test_json_gives_back_the_same_affine(case: tuple[npt.NDArray[np.float32], Affine]) -> None:
    _, affine = case
    read = msgspec.json.decode(msgspec.json.encode(affine), type=Affine)
    assert read == affine
    assert hash(read) == hash(affine)
    assert [np.float32(s).tobytes() for s in read.scale] == [np.float32(s).tobytes() for s in affine.scale]


def test_a_scale_is_held_as_the_nearest_float32() -> None:
    affine = Affine((0.1,), (0,), INT8)
    assert affine.scale == (float(np.float32(0.1)),)
    assert affine == Affine((float(np.float32(0.1)),), (0,), INT8)


def test_numbers_of_numpy_become_plain_ones() -> None:
    affine = Affine(tuple(np.array([0.5], np.float32)), tuple(np.array([3])), INT8)
    assert type(affine.scale[0]) is float
    assert type(affine.zero[0]) is int


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, DENORMAL, 1e-300, 1e39])
def test_a_scale_that_float32_cannot_use_is_refused(scale: float) -> None:
    with pytest.raises(ScaleNotUsable):
        Affine((1.0, scale), (0, 0), INT8, axis=0)


@pytest.mark.parametrize("scale", [TINY, MOST])
def test_the_outermost_normal_scales_are_taken(scale: float) -> None:
    assert Affine((scale,), (0,), INT8).scale == (scale,)


@pytest.mark.parametrize(("zero", "grid"), [(128, INT8), (-128, INT8_NARROW), (-1, UINT8), (256, UINT8)])
def test_a_zero_point_off_the_grid_is_refused(zero: int, grid: Grid) -> None:
    with pytest.raises(ZeroOutsideGrid):
        Affine((1.0,), (zero,), grid)


@pytest.mark.parametrize(
    ("scale", "zero", "axis"),
    [((1.0, 1.0), (0,), 0), ((1.0,), (0, 0), 0), ((1.0, 1.0), (0, 0), None), ((), (), None), ((), (), 0)],
)
def test_lengths_must_match(scale: tuple[float, ...], zero: tuple[int, ...], axis: int | None) -> None:
    with pytest.raises(AffineLengthsDiffer):
        Affine(scale, zero, INT8, axis)


def test_an_axis_from_the_end_is_refused() -> None:
    with pytest.raises(AxisOutOfRange):
        Affine((1.0,), (0,), INT8, axis=-1)


@pytest.mark.parametrize("verb", [encode, decode])
def test_an_axis_that_the_array_does_not_have_is_refused(verb: Callable[..., Any]) -> None:
    with pytest.raises(AxisOutOfRange, match="no axis 2 in 2"):
        verb(np.zeros((2, 2), np.int8), Affine((1.0, 1.0), (0, 0), INT8, axis=2))


@pytest.mark.parametrize("verb", [encode, decode])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_another_number_of_channels_is_refused(verb: Callable[..., Any], count: int) -> None:
    with pytest.raises(ChannelsDiffer):
        verb(np.zeros((2, 3), np.int8), Affine((1.0,) * count, (0,) * count, INT8, axis=1))
