"""Errors of the arithmetic: grids, scales and values that cannot be used."""

from spokeshave.errors._base import UserError


class BitsOutOfRange(UserError, ValueError):
    """A grid was asked for with a number of bits that no code has.

    ## Why
    Codes have 2 to 16 bits. One bit leaves a symmetric grid nothing but zero; above 16 a code is no
    smaller than half-precision floats.

    ## What to do
    Ask for 8, or another number from 2 to 16.
    """

    code = "bits-out-of-range"
    says = "A grid of {bits} bits was asked for; it has 2 to 16."
    next_step = "Ask for 8 bits."
    bits: int


class NarrowNeedsSign(UserError, ValueError):
    """A narrow grid was asked for that has no sign.

    ## Why
    Narrow means to leave out the lowest code so that the grid is the same on both sides of zero. An
    unsigned grid has one side only.

    ## What to do
    Take the full unsigned grid, or a signed one.
    """

    code = "narrow-needs-sign"
    says = "An unsigned grid of {bits} bits cannot be narrow."
    next_step = "Take the full unsigned grid, or a signed one."
    bits: int


class ScaleNotUsable(UserError, ValueError):
    """A scale is zero, negative, not finite, or too small for float32.

    ## Why
    Engines divide by the scale, in float32; many read the tiny numbers below float32's normal range as
    zero.

    ## What to do
    Take a scale between 1.2e-38 and 3.4e38. A channel that is all zero takes 1.0.
    """

    code = "scale-not-usable"
    says = "The scale {scale!r} is not a positive, normal float32."
    next_step = "A channel that is all zero takes 1.0."
    scale: float


class ZeroOutsideGrid(UserError, ValueError):
    """A zero point is not one of the grid's codes.

    ## Why
    The real number 0 must have a code, or padding and ReLU would be wrong.

    ## What to do
    Take a zero point within the grid; 0 for a symmetric one.
    """

    code = "zero-outside-grid"
    says = "The zero point {zero} is not a code of {grid}."
    next_step = "Take one within the grid."
    zero: int
    grid: str


class AffineLengthsDiffer(UserError, ValueError):
    """Scales and zero points do not go together.

    ## Why
    Each channel of the axis has one scale and one zero point; without an axis there is one of each.

    ## What to do
    Give as many zero points as scales, and name the axis if there is more than one.
    """

    code = "affine-lengths-differ"
    says = "{scales} scales and {zeros} zero points do not fit the axis {axis}."
    next_step = "Give one of each per channel, or one of each and no axis."
    scales: int
    zeros: int
    axis: str


class AxisOutOfRange(UserError, ValueError):
    """An axis was named that the array does not have, or a negative one where the rank is not known.

    ## Why
    Axes are stored counted from the front, as -1 would be another axis for another rank.

    ## What to do
    Name an axis from 0 to the rank less one.
    """

    code = "axis-out-of-range"
    says = "There is no axis {axis} in {rank} dimensions."
    next_step = "Axes count from 0."
    axis: int
    rank: str


class ChannelsDiffer(UserError, ValueError):
    """An array has another number of channels along the axis than there are scales.

    ## Why
    The axis is the wrong one, or the scales belong to another tensor.

    ## What to do
    Check the axis: filters of convolutions have their output channels first, weights of linear layers
    last.
    """

    code = "channels-differ"
    says = "Axis {axis} of an array of shape {shape} does not have {channels} channels."
    next_step = "Check the axis."
    axis: int
    shape: str
    channels: int


class ValuesNotFinite(UserError, ValueError):
    """Values to be encoded are not numbers.

    ## Why
    NaN has no code. It comes from a training that diverged, or from a division by zero in the model.

    ## What to do
    Run the float model on the same data and look where the first one appears: `Model.run` gives inner values.
    """

    code = "values-not-finite"
    says = "{count} of the values are NaN, which no code stands for."
    next_step = "Find out where the model makes them."
    count: int


class BoundNotUsable(UserError, ValueError):
    """A bound to take a scale from is negative, infinite or NaN.

    ## Why
    The values that were seen hold infinity or NaN, or exceed float32.

    ## What to do
    Find out where the model makes them, or leave the tensor in float.
    """

    code = "bound-not-usable"
    says = "The bound {bound!r} of channel {channel} is not a finite magnitude."
    next_step = "Find out where the model makes such values, or leave the tensor in float."
    bound: float
    channel: int


class RangeNotUsable(UserError, ValueError):
    """A range to take a scale from is not two finite numbers in order.

    ## Why
    The values that were seen hold infinity or NaN, or exceed float32, or the ends were given the wrong
    way round.

    ## What to do
    Give the lower end first; find out where the model makes values that are not finite.
    """

    code = "range-not-usable"
    says = "From {low!r} to {high!r} is not a finite range."
    next_step = "Give two finite numbers, the lower one first."
    low: float
    high: float
