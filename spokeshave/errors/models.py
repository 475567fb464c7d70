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


class NoWeights(UserError, FileNotFoundError):
    """There are no weights where they were looked for.

    ## Why
    The path is wrong, or the folder holds no file of a parameter.

    ## What to do
    Give a `.pdparams` or `.safetensors` file, or a folder in which each parameter has a file of its name.
    """

    code = "no-weights"
    says = "No weights at {path}: {found}."
    next_step = "Give a .pdparams or .safetensors file, or a folder with one file for each parameter."
    path: str
    found: str


class WeightsUnreadable(UserError, ValueError):
    """A file of weights is damaged, cut short, or something else.

    ## Why
    A copy or a download was cut short, or the file is of a kind that is not read.

    ## What to do
    Copy the file again from its source. Of a checkpoint that holds more than weights, save the weights alone.
    """

    code = "weights-unreadable"
    says = "{path} cannot be read as weights: {found}."
    next_step = "Copy the file again from its source, or save the bare state dict."
    path: str
    found: str


class CodeInWeights(UserError, ValueError):
    """A file of weights asks for something to be called that is no array.

    ## Why
    A `.pdparams` file is a pickle, and a pickle can call anything, such as a shell. This one names a function
    or class that weights have no use for. Nothing was called; `paddle.load` would have.

    ## What to do
    If you trust the file, load it in a process of its own and save the bare state dict. Else throw it away.
    """

    code = "code-in-weights"
    says = "{path} asks for {name} to be called, which weights have no use for; nothing was."
    next_step = "Save the bare state dict again, of arrays alone, or do not use this file."
    path: str
    name: str


class WeightsOfAnotherNet(UserError, ValueError):
    """A file of weights does not fit a net; nothing was loaded.

    ## Why
    Names or shapes differ: it is another net, another number of classes or channels, another scale, or the
    file was made with other names.

    ## What to do
    Build the net as the weights need it. Leave out what is to differ, such as the classifier, with `ignore`.
    Weights that PyTorch stored have their matrices the other way round: `made_by="torch"`. The error holds
    all names: `missing`, `unexpected` and `misshaped`.
    """

    code = "weights-of-another-net"
    says = "{path} does not fit the net, and nothing was loaded. {differences}"
    next_step = "Build the net as the weights need it, or leave names out with `ignore`."
    path: str
    differences: str
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    misshaped: tuple[str, ...]
