"""Errors of model files: which of them was meant, and what in them this Paddle cannot serve."""

from spokeshave.errors._base import UserError


class UnknownOperator(UserError, NotImplementedError):
    """A model has operators that this Paddle does not know.

    ## Why
    It was saved with a custom operator, with one of another branch of Paddle, or with one that Paddle 3 no
    longer has.

    ## What to do
    Build the model from operators that Paddle has, or cut the operator off: save the model with outputs
    before it.
    """

    code = "unknown-operator"
    says = "{path} has operators that this Paddle does not know: {ops}."
    next_step = "Nearest that it knows: {nearest}. Save the model without them."
    path: str
    ops: str
    nearest: str


class OperatorNotServed(UserError, NotImplementedError):
    """A model of Paddle 2 cannot become a program of Paddle 3.

    ## Why
    Paddle translates old programs operator by operator. It has no counterpart for this one, or none for
    the way it is used here.

    ## What to do
    Read Paddle's words. Save the model again with Paddle 3, or cut the operator off: save the model with
    outputs before it.
    """

    code = "operator-not-served"
    says = "{path} cannot become a program of Paddle 3: {detail}"
    next_step = "Save the model again with Paddle 3, or without that operator."
    path: str
    detail: str


class WeightsAmbiguous(UserError, ValueError):
    """Several files beside a program could hold its weights.

    ## Why
    The weights do not have the program's name, and more than one file in the folder looks like weights.

    ## What to do
    Name the file: `params_filename=`.
    """

    code = "weights-ambiguous"
    says = "The weights of {model} may be in any of {files}."
    next_step = "Name the file with `params_filename=`."
    model: str
    files: str


class NameLeadsOut(UserError, ValueError):
    """A parameter has a name whose file would not lie in the folder of its model.

    ## Why
    Where each parameter has a file of its own, its name is the name of the file. This one is an absolute
    path, climbs out of the folder, or is no file name at all. No honest tool writes such a model.

    ## What to do
    Don't use the file, or have its maker save the weights into one file.
    """

    code = "name-leads-out"
    says = "{model} has a parameter named {name!r}, whose file would not lie in its folder."
    next_step = "Don't use the model, or have its weights saved in one file."
    model: str
    name: str


class InputShapesFixed(UserError, ValueError):
    """Other input shapes were asked for than a program of Paddle 3 has.

    ## Why
    A program of Paddle 3 holds the shape of every value, worked out from its inputs when it was built. In
    the old format they are worked out when it is read, so that `input_shapes=` can change them there.

    ## What to do
    Save the model again with the shapes that it is to have, -1 or None for any size.
    """

    code = "input-shapes-fixed"
    says = "{path} is a program of Paddle 3, whose input shapes are part of it."
    next_step = "Save the model again with the shapes wanted; leave out `input_shapes=`."
    path: str


class SequencesNotServed(UserError, NotImplementedError):
    """A model with operators on sequences was run without saying where the sequences begin.

    ## Why
    Fluid's recurrent and sequence operators take many sequences in one tensor, with a list of their
    lengths beside it. A plain array has no such list.

    ## What to do
    Run it with `spokeshave.program.run_sequences`, which takes one array for each sequence.
    """

    code = "sequences-not-served"
    says = "The operators {ops} need to know where sequences begin: {detail}"
    next_step = "Run it with `spokeshave.program.run_sequences`."
    ops: str
    detail: str
