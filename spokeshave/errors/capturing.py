"""Errors of layers on their way to programs and back."""

from spokeshave.errors._base import UserError


class LayerNotCapturable(UserError, ValueError):
    """A layer cannot be written down as a program.

    ## Why
    To capture a layer, its `forward` is run once on tensors without numbers. It failed: it wants other
    inputs than the specs say, reads numbers that are not there yet (`.numpy()`, `.item()`), gives no tensor,
    or calls something that Paddle can trace only eagerly.

    ## What to do
    Read what Paddle says. Give a spec for every argument of `forward`, and keep Python that needs numbers
    out of it.
    """

    code = "layer-not-capturable"
    says = "The layer {layer} cannot be captured as a program: {detail}."
    next_step = "Give a spec for each argument of `forward`, and keep what needs numbers out of it."
    layer: str
    detail: str


class NotALayer(UserError, TypeError):
    """Something that should be a layer is none.

    ## Why
    Capturing takes a `paddle.nn.Layer`, as its parameters go into the program.

    ## What to do
    Wrap a plain function in a layer, or give the model itself where it is one already.
    """

    code = "not-a-layer"
    says = "A paddle.nn.Layer was wanted to be captured; {given} is none."
    next_step = "Wrap a function in a layer; a program needs no capturing, see `Model.of`."
    given: str


class SpecNotUnderstood(UserError, TypeError):
    """What should describe an input of a layer describes none.

    ## Why
    A spec is a `paddle.static.InputSpec`, a shape (with None where any size fits), a tensor or array that
    looks like the input, or containers of these.

    ## What to do
    Write `paddle.static.InputSpec([None, 3, 224, 224], "float32", "image")`.
    """

    code = "spec-not-understood"
    says = "The spec of the input {input!r} is {given}, which describes no tensor."
    next_step = 'Write InputSpec([None, 3, 224, 224], "float32", "image"), or a shape alone.'
    input: str
    given: str


class NothingToCompute(UserError, ValueError):
    """A model has no outputs, so there is nothing that a layer or a file could give.

    ## Why
    The program marks no output and none was named when the model was made, or none was asked for.

    ## What to do
    Name them: `Model.of(program, {"scores": value})`.
    """

    code = "nothing-to-compute"
    says = "The model has no outputs."
    next_step = 'Name them: Model.of(program, {{"scores": value}}).'


class CannotRunHere(UserError, RuntimeError):
    """A layer made of a program was called while a static program was being built.

    ## Why
    Its numbers lie in tensors, which a static program cannot read.

    ## What to do
    Call it in dynamic mode. To go on with it as a program, take `layer.model()`.
    """

    code = "cannot-run-here"
    says = "A layer made of a program was called in static mode."
    next_step = "Call it in dynamic mode, or go on with the program that `layer.model()` gives."


class InputsTooMany(UserError, TypeError):
    """A layer made of a program was given more tensors than it has inputs, or one of them twice.

    ## Why
    An input that no output needs is not in the files of a model, so that its layer has fewer arguments than
    the one that was saved. Those behind it would land in the wrong places.

    ## What to do
    Give each input once: in the order of `layer.model().inputs`, or by name.
    """

    code = "inputs-too-many"
    says = "The layer takes the inputs {wanted}, and was given {given}."
    next_step = "Give each of them once, in this order or by name."
    wanted: str
    given: int


class NotDifferentiable(UserError, ValueError):
    """A program cannot be trained, as Paddle finds no gradient for a part of it.

    ## Why
    It holds an operator without a gradient, or a form of control flow that Paddle cannot differentiate in
    a program, though it may do so layer by layer.

    ## What to do
    Train the layer that it came from, or leave the part out: `for_inference(model, outputs)` cuts it off.
    To run it without gradients, call `eval()` on the layer.
    """

    code = "not-differentiable"
    says = "The program cannot be differentiated: {detail}."
    next_step = "Train the layer that it came from, or cut the part off that has no gradient."
    detail: str
