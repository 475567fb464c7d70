"""Errors of models: files that are not what they seem, rewrites that cannot be."""

from spokeshave.errors._base import InternalError, UserError


class ModelNotFound(UserError, FileNotFoundError):
    """There is no model where one was looked for.

    ## Why
    The path is wrong, or the folder holds no file that is a program of Paddle 3 (`NAME.json`), of Paddle 2
    (`NAME.pdmodel`) or of fluid (`__model__`), whatever the name.

    ## What to do
    Give the folder, the prefix (`folder/NAME`) or the program file of a saved inference model.
    """

    code = "model-not-found"
    says = "No Paddle model at {path}: {found}."
    next_step = "Give a folder, a prefix or a file that paddle.jit.save or save_inference_model wrote."
    path: str
    found: str


class SeveralModels(UserError, ValueError):
    """A folder holds more than one model, so naming the folder does not say which.

    ## Why
    Several files in it are Paddle programs.

    ## What to do
    Name one: `folder/NAME`, or with `model_filename=`.
    """

    code = "several-models"
    says = "{path} holds several models: {models}."
    next_step = "Name one of them."
    path: str
    models: str


class NotAModel(UserError, ValueError):
    """A file that should be a Paddle model is something else.

    ## Why
    It is empty, text, other JSON, cut short or damaged, a program that was saved for training, or one with
    an operator that Paddle does not know.

    ## What to do
    Copy it again from its source, or save the model again with `paddle.static.save_inference_model` or
    `paddle.jit.save`.
    """

    code = "not-a-model"
    says = "{path} is not a Paddle model: {found}."
    next_step = "Copy the file again from its source, or save the model again with Paddle."
    path: str
    found: str


class ProgramNotWritable(UserError, ValueError):
    """Paddle cannot write the program of a model.

    ## Why
    It holds something that Paddle runs, or reads from a file, and has no form for in a file that it writes,
    such as an attribute of an unusual kind.

    ## What to do
    Read Paddle's words. Leave that part out with `outputs=`, or build the model without it.
    """

    code = "program-not-writable"
    says = "Paddle cannot write the program to {path}: {detail}"
    next_step = "Nothing was written; leave that part out with `outputs=`, or build the model without it."
    path: str
    detail: str


class WeightsMissing(UserError, FileNotFoundError):
    """A model file is there and the file with its weights is not.

    ## Why
    Only the program was copied, or the weights have another name.

    ## What to do
    Put the `.pdiparams` file of the same name beside the program, or name the file: `params_filename=`.
    """

    code = "weights-missing"
    says = "The model {model} needs its weights in {path}, which does not exist."
    next_step = "Copy the file beside the program, or name it with `params_filename=`."
    model: str
    path: str


class WeightsTruncated(UserError, ValueError):
    """A weights file ends, or goes astray, in the middle of a tensor.

    ## Why
    A copy or a download was cut short, the disk was full, or the file is no weights file at all.

    ## What to do
    Copy the file again from its source, or save the model again.
    """

    code = "weights-truncated"
    says = "{path} breaks off at tensor {tensor!r} (number {number} of {count}): {found}."
    next_step = "Copy the file again from its source, or save the model again."
    path: str
    tensor: str
    number: int
    count: int
    found: str


class WeightsDoNotFit(UserError, ValueError):
    """A weights file belongs to another model.

    ## Why
    A `.pdiparams` file has no names, only an order. The tensors in this one differ in number, type or
    shape from those that the program declares. Paddle itself may load such a file without a word.

    ## What to do
    Take the `.pdiparams` that was saved together with this program.
    """

    code = "weights-do-not-fit"
    says = "{path} does not belong to {model}: {found}."
    next_step = "Take the .pdiparams file that was saved together with this program."
    path: str
    model: str
    found: str


class TensorMissing(UserError, KeyError):
    """A scope lacks a tensor that a program needs.

    ## Why
    The startup program was not run in this scope, or the model was built in another one.

    ## What to do
    Run the startup program first, or give the scope in which the model lives (`scope=`).
    """

    code = "tensor-missing"
    says = "The scope holds no tensor {name!r}."
    next_step = "Run the startup program in this scope, or pass the scope that the model lives in."
    name: str


class TensorNotAsDeclared(UserError, ValueError):
    """A tensor in a scope has another shape or element type than the program says.

    ## Why
    It was set by hand, or belongs to another program that lives in the same scope. What was written so could
    not be loaded again.

    ## What to do
    Give the scope in which this program lives, or set the tensor to what the program declares.
    """

    code = "tensor-not-as-declared"
    says = "The tensor {name!r} is {found}, and the program says {wanted}."
    next_step = "Give the scope that the program lives in, or set the tensor to what it declares."
    name: str
    found: str
    wanted: str


class ErasedInUse(InternalError, ValueError):
    """A rewrite tried to remove an operator whose result is still read.

    ## Why
    A fault in a pass: uses must be rewired before their maker goes. Paddle would end the process here.

    ## What to do
    Report it with the text of the error. The model that went in is unchanged.
    """

    code = "erased-in-use"
    says = "The operator {op} cannot be removed: {reader} reads it."
    next_step = "This is a fault of Spokeshave; please report it."
    op: str
    reader: str


class FetchUnknown(UserError, KeyError):
    """An output was asked for that the model does not have.

    ## Why
    The name is misspelt, or the value belongs to another program: Paddle drops such a fetch silently.

    ## What to do
    Take one of the nearest names; `spokeshave inspect MODEL` lists them.
    """

    code = "fetch-unknown"
    says = "The model has no value {name!r} to fetch."
    next_step = "Nearest: {nearest}."
    name: str
    nearest: str


class InputNotChosen(UserError, ValueError):
    """Outputs need an input that was left out when the inputs of a model were chosen.

    ## Why
    `inputs=` names where the model is to begin, and a way from another input still leads to an output.

    ## What to do
    Name that input too, name the inner value at which to cut the way off, or choose other outputs.
    """

    code = "input-not-chosen"
    says = "The outputs need the input {input!r}, which is not among those chosen: {chosen}."
    next_step = "Name it too, cut at an inner value behind it, or choose other outputs."
    input: str
    chosen: str
