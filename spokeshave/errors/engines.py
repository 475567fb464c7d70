"""Errors of engines: what ONNX cannot hold as it is, files that do not open, feeds that do not fit."""

from __future__ import annotations

from spokeshave.errors._base import InternalError, UserError


class OpNotExportable(UserError, NotImplementedError):
    """The model has operators that the ONNX writer does not know.

    ## Why
    Each operator is written by its own emitter. All operators without one are named at once, with some
    of the nodes that use them, before anything is written. `divide`, `round`, `clip` and `multiply` stand
    here when they look like a quantizer but are not one: another scale at its end, bounds that are not
    constants, a step inside it that something else reads.

    ## What to do
    See `spokeshave list` for the operators that have an emitter. Replace the operator in the model,
    fold it before the export, or add an emitter: one file in `engines/onnx/`.
    """

    code = "op-not-exportable"
    says = "No ONNX form is known for {ops}."
    next_step = "Nearest operators that have one: {nearest}. Replace these, or add an emitter for them."
    ops: str
    nearest: str


class LayoutNotExportable(UserError, NotImplementedError):
    """An operator keeps its channels in an axis where ONNX cannot have them.

    ## Why
    Convolution, pooling and batch normalisation of ONNX have their channels in axis 1.

    ## What to do
    Build the model with `data_format="NCHW"`.
    """

    code = "layout-not-exportable"
    says = "Node {node!r} ({op}) has the layout {layout}; ONNX knows NCHW only."
    next_step = 'Build the model with data_format="NCHW".'
    node: str
    op: str
    layout: str


class WindowNotExportable(UserError, NotImplementedError):
    """A convolution or pooling slides its window in a way that ONNX would compute differently.

    ## Why
    Paddle and ONNX count padding differently in some corners: averages over one-sided padding, windows
    that start behind the input in ceil mode, adaptive pooling of a picture of open size. Numbers
    would differ silently.

    ## What to do
    Choose padding, stride or window so that the corner does not occur; the error names it.
    """

    code = "window-not-exportable"
    says = "Node {node!r} ({op}): {why}."
    next_step = "Change its window, stride or padding in the model."
    node: str
    op: str
    why: str


class TrainingNotExportable(UserError, ValueError):
    """A node behaves as in training.

    ## Why
    Batch normalisation and dropout act differently in training and in test mode; a model that is written
    for an engine is in test mode.

    ## What to do
    Call `eval()` on the Layer before it is captured, or set the program to test mode.
    """

    code = "training-not-exportable"
    says = "Node {node!r} ({op}) is in training mode."
    next_step = "Put the model in test mode (`layer.eval()`) before it is exported."
    node: str
    op: str


class ResultNotExportable(UserError, NotImplementedError):
    """A result is read that the ONNX form of its node does not have.

    ## Why
    Some operators have side results (running statistics, a dropout mask); ONNX has the main one only.

    ## What to do
    Remove what reads the side result; it is of use in training only.
    """

    code = "result-not-exportable"
    says = "Result {result!r} of node {node!r} ({op}) is read, but ONNX has its main result only."
    next_step = "Remove what reads it."
    node: str
    op: str
    result: str


class OperandNotConstant(UserError, ValueError):
    """An operand that ONNX wants as a constant is computed while the model runs.

    ## Why
    The shape of a reshape, the window of a pool, the axis of a concat are read when the model is written.

    ## What to do
    Give the operand as plain numbers; in a shape, 0 keeps a dimension and -1 infers one.
    """

    code = "operand-not-constant"
    says = "Operand {operand!r} of node {node!r} ({op}) is not a constant."
    next_step = "Give it as plain numbers (in a shape, 0 keeps a dimension and -1 infers one)."
    node: str
    op: str
    operand: str


class OperandMissing(InternalError, ValueError):
    """A node of a view lacks an operand that its operator always has.

    ## Why
    The view was not read from the program as it stands, or was built by hand with another operand name.

    ## What to do
    Report it with the text of the error.
    """

    code = "operand-missing"
    says = "Node {node!r} ({op}) has no operand {operand!r}."
    next_step = "This is a fault of Spokeshave; please report it."
    node: str
    op: str
    operand: str


class PaddingNotExportable(UserError, NotImplementedError):
    """A padding fills in values in a way that this version of ONNX does not have.

    ## Why
    Constants, a reflected picture and what stands at the edge are written. Padding that goes on from the
    other side (circular) is known to ONNX only after the version that engines in use all read.

    ## What to do
    Use another mode, or concatenate the slices that circular padding stands for.
    """

    code = "padding-not-exportable"
    says = "Node {node!r} ({op}) pads in the mode {mode!r}, which is not written to ONNX."
    next_step = "Use the mode 'constant', 'reflect' or 'replicate'."
    node: str
    op: str
    mode: str


class DimensionsUnknown(UserError, ValueError):
    """Too many dimensions are open to say the shape of a result with numbers.

    ## Why
    A shape can hold one inferred dimension, besides those that keep their place.

    ## What to do
    Fix one of the open dimensions when the model is captured.
    """

    code = "dimensions-unknown"
    says = "Node {node!r} ({op}) of shape {shape}: its result has more than one open dimension that moves."
    next_step = "Fix a dimension in the input spec."
    node: str
    op: str
    shape: str


class DtypeNotExportable(UserError, TypeError):
    """A value has a type that the ONNX writer does not know.

    ## Why
    Types are written as NumPy has them; bfloat16, complex and strings are not among those written.

    ## What to do
    Convert the model to float32 before it is exported.
    """

    code = "dtype-not-exportable"
    says = "Value {value!r} has the type {dtype}, which is not written to ONNX."
    next_step = "Convert it to float32."
    value: str
    dtype: str


class GridNotExportable(UserError, NotImplementedError):
    """A quantizer has a grid that no 8-bit type of ONNX holds.

    ## Why
    A grid of 256 steps that contains zero is stored as uint8, and so is the grid from -127 to 127.
    Others (4 bits, 16 bits, a grid without zero) have no storage that engines run.

    ## What to do
    Plan the site with 8 bits, or leave it in float.
    """

    code = "grid-not-exportable"
    says = "The quantizer at {node!r} has the grid [{lo:g}, {hi:g}], which is not an 8-bit grid around zero."
    next_step = "Quantize this site with 8 bits, or leave it in float."
    node: str
    lo: float
    hi: float


class ScaleNotExportable(UserError, ValueError):
    """The scales of a quantizer cannot be written: they vary along several axes, or are no proper numbers.

    ## Why
    ONNX has one scale for a tensor, or one for each index of one axis; all must be finite and above zero.

    ## What to do
    Quantize with one scale per tensor or per channel, and look at the site's range: a scale of zero
    or infinity comes from a range that is.
    """

    code = "scale-not-exportable"
    says = "The scales of the quantizer at {node!r} {why}."
    next_step = "Use one scale per tensor or per channel, finite and above zero."
    node: str
    why: str


class WeightMismatch(UserError, ValueError):
    """The weights given do not belong to the model given.

    ## Why
    A parameter is missing among the arrays, or its array has another shape or type than the model says.

    ## What to do
    Pass the arrays of the same model, by parameter name, as they are stored.
    """

    code = "weight-mismatch"
    says = "Parameter {parameter!r} wants {wanted}, was given {given}."
    next_step = "Pass the weights that belong to this model."
    parameter: str
    wanted: str
    given: str


class OutputNameTaken(UserError, ValueError):
    """Two inputs or outputs of a model bear one name.

    ## Why
    In ONNX a name stands for one value; an output may neither repeat another nor an input.

    ## What to do
    Rename the output.
    """

    code = "output-name-taken"
    says = "The output name {output!r} is already the name of another input or output."
    next_step = "Rename the output."
    output: str


class OnnxNotValid(InternalError, ValueError):
    """What was written did not pass the check of ONNX.

    ## Why
    Every model is checked, with its shapes, before it is handed out. Either the writer has a fault, or
    the view's shapes contradict one another.

    ## What to do
    Report it with the text of the error.
    """

    code = "onnx-not-valid"
    says = "The written ONNX model is not valid: {detail}"
    next_step = "This is a fault of Spokeshave; please report it."
    detail: str


class EngineFileMissing(UserError, FileNotFoundError):
    """The file that an engine was to run is not there.

    ## Why
    The path is misspelt, or it names a folder.

    ## What to do
    Give the path of the model file itself.
    """

    code = "engine-file-missing"
    says = "There is no file {path}."
    next_step = "Give the path of the model file itself."
    path: str


class NotAnOnnxFile(UserError, ValueError):
    """ONNX Runtime could not open a model.

    ## Why
    The file is not ONNX, was cut off while it was copied, or uses operators that this version of the
    engine does not have. The detail is what the engine said.

    ## What to do
    Export the model again, or compare its size with the original's.
    """

    code = "not-an-onnx-file"
    says = "ONNX Runtime cannot open {file}: {detail}"
    next_step = "Export it again; it may be cut off or of another format."
    file: str
    detail: str


class InputMissing(UserError, KeyError):
    """The feed lacks an input of the model.

    ## Why
    Every input must be fed, by its name.

    ## What to do
    Add the array under the name that the error gives.
    """

    code = "input-missing"
    says = "Input {input!r} ({wanted}) was not fed."
    next_step = "Feed it by this name; given were: {given}."
    input: str
    wanted: str
    given: str


class InputUnknown(UserError, KeyError):
    """The feed has a name that is not an input of the model.

    ## Why
    The name is misspelt, or belongs to a label that the exported model does not take.

    ## What to do
    Feed the names that the error gives, and no other.
    """

    code = "input-unknown"
    says = "The model has no input {input!r}."
    next_step = "Nearest: {nearest}."
    input: str
    nearest: str


class InputMismatch(UserError, ValueError):
    """An array of the feed has another shape or type than its input.

    ## Why
    Engines convert nothing: NumPy makes float64 where models take float32, and images come without
    their batch dimension.

    ## What to do
    Convert with `astype`, add the batch dimension with `array[None]`.
    """

    code = "input-mismatch"
    says = "Input {input!r} wants {wanted}, was given {given}."
    next_step = "Convert or reshape the array."
    input: str
    wanted: str
    given: str


class ValueNotInEngine(UserError, KeyError):
    """A value was asked for that the engine's model does not have.

    ## Why
    The id is misspelt, or the value went into its neighbour when the model was written: a convolution
    before its bias, the steps inside a quantizer.

    ## What to do
    Ask for one of the nearest, or for the value after the bias.
    """

    code = "value-not-in-engine"
    says = "The engine's model has no value {value!r}."
    next_step = "Nearest: {nearest}."
    value: str
    nearest: str


class RunFailed(UserError, RuntimeError):
    """An engine gave up while it ran the model.

    ## Why
    The feed had the right names, types and shapes as far as the model says; a shape inside did not fit.
    Often a reshape has the batch size of the capture written into it.

    ## What to do
    Read the engine's words; try the batch size that the model was captured with.
    """

    code = "run-failed"
    says = "{engine} failed: {detail}"
    next_step = (
        "If another batch size works, a shape inside the model is fixed: capture it with an open batch."
    )
    engine: str
    detail: str


class RunnerClosed(UserError, RuntimeError):
    """A runner was used after it was closed.

    ## Why
    `close()` gives the engine's memory back; what it ran is gone.

    ## What to do
    Open a new runner.
    """

    code = "runner-closed"
    says = "This {engine} runner is closed."
    next_step = "Open a new one."
    engine: str
