"""Errors of nets by name and of the weights that go into them."""

from spokeshave.errors._base import UserError


class NeedsStaticMode(UserError, RuntimeError):
    """A static net was built outside static mode.

    ## Why
    `slim.models.MobileNet().net(...)` puts layers into the program being built, and dynamic mode has none.

    ## What to do
    Call `paddle.enable_static()` and build inside `paddle.static.program_guard`, or take the layer of that
    name from `spokeshave.models.create`.
    """

    code = "needs-static-mode"
    says = "{net} builds into a static program, and Paddle is in dynamic mode."
    next_step = "Call paddle.enable_static() first, or use spokeshave.models.create for a layer."
    net: str


class NotPictures(UserError, ValueError):
    """A net was given something else than pictures.

    ## Why
    It takes values of the shape [N, channels, height, width], and has to know how many channels there are.

    ## What to do
    Declare the input so: `paddle.static.data("image", [None, 3, 224, 224])`. Height and width may be None.
    """

    code = "not-pictures"
    says = "A net needs pictures of the shape [N, channels, height, width] and was given {found}."
    next_step = "Declare the input with four sizes, the number of channels among them."
    found: str


class ParameterTaken(UserError, ValueError):
    """A net needs a parameter of a name that the program has already, with another shape.

    ## Why
    Nets of one kind name their parameters alike. Two in one program share them, which they can only when
    they are built alike.

    ## What to do
    Give one of them a `prefix_name`, or build it in a program and scope of its own.
    """

    code = "parameter-taken"
    says = "The program has a parameter {name!r} of shape {found}; this net needs it as {wanted}."
    next_step = "Give the net a prefix_name, or build it in a program of its own."
    name: str
    found: str
    wanted: str
