"""Errors of rewriting a model and of asking it for its shapes."""

from spokeshave.errors._base import UserError


class InputShapeMissing(UserError, ValueError):
    """A shape was wanted for an input whose lengths the model leaves open.

    ## Why
    What a model costs hangs on the shapes of all its inputs; for this one none was given.

    ## What to do
    Name the input with a shape, such as `{"x": (1, 3, 640, 640)}`.
    """

    code = "input-shape-missing"
    says = "The input {input!r} takes {wanted}, and no shape was given for it."
    next_step = "Give it a shape with a length for each axis."
    input: str
    wanted: str


class InputShapeWrong(UserError, ValueError):
    """A shape was given for an input that takes no such shape.

    ## Why
    It has another number of axes, or a length that is not a whole number above zero.

    ## What to do
    Give as many lengths as the input has axes.
    """

    code = "input-shape-wrong"
    says = "The input {input!r} takes {wanted}, not the shape {given}."
    next_step = "Give a whole number above zero for each axis."
    input: str
    wanted: str
    given: list[int]
