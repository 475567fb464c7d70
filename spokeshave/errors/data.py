"""Errors of data: files that cannot be read, readers that fail, batches that do not fit the model."""

from __future__ import annotations

from spokeshave.errors._base import UserError


class DataNotReadable(UserError, OSError):
    """A source of data could not be opened.

    ## Why
    The file does not exist, is damaged, is no NumPy file, or holds Python objects in place of numbers
    (reading those would run whatever code the file brings). Or what was given is no source of batches.

    ## What to do
    Save arrays of numbers with `np.save` or `np.savez`, or give arrays, a list of batches, or a
    function that makes an iterator of batches.
    """

    code = "data-not-readable"
    says = "{source} cannot be read as data: {found}."
    next_step = "{advice}"
    source: str
    found: str
    advice: str


class NoData(UserError, ValueError):
    """There was nothing to run the model on.

    ## Why
    The source yielded no batch, or a batch without a sample. A function that hands out the same
    generator each time is empty the second time.

    ## What to do
    Look at what the source yields; a function given as source must make a fresh iterator at each call.
    """

    code = "no-data"
    says = "{source} gave nothing to run the model on: {found}."
    next_step = "Check what it yields; a function must make a fresh iterator at each call."
    source: str
    found: str


class ReaderFailed(UserError, RuntimeError):
    """The code that reads the data raised an error.

    ## Why
    A generator, an iterable or a function that was given as source failed by itself. Its own error,
    with its traceback, is the cause of this one.

    ## What to do
    Mend the reader; the cause names the line.
    """

    code = "reader-failed"
    says = "The reader of {source} raised {kind} where batch {batch} was due: {text}"
    next_step = "(The traceback above is the reader's own.)"
    source: str
    batch: int
    kind: str
    text: str


class BatchLacksInput(UserError, KeyError):
    """A batch has no array for one of the model's inputs.

    ## Why
    The array has another name than the input, or the batch has fewer arrays than the model has inputs.

    ## What to do
    Name the arrays as the model's inputs are named (`spokeshave inspect MODEL` shows them), or give
    them in the order of the inputs.
    """

    code = "batch-lacks-input"
    says = "Batch {batch} has no array for the input {input!r}; the model takes {takes}."
    next_step = "Nearest of what the batch has besides: {nearest}."
    batch: int
    input: str
    takes: str
    nearest: str


class InputUnexpected(UserError, KeyError):
    """A batch names an array that the model does not take.

    ## Why
    The name is misspelt, or the file holds more than the model's inputs.

    ## What to do
    Rename the array or leave it out. Labels are recognised by the names `label` and `labels`.
    """

    code = "input-unexpected"
    says = "Batch {batch} holds an array {name!r}, which the model does not take."
    next_step = "Nearest input: {nearest}. Labels go by the name 'label'."
    batch: int
    name: str
    nearest: str


class BatchDoesNotFit(UserError, ValueError):
    """The arrays of a batch do not have the shapes that the model takes.

    ## Why
    The batch has more arrays than the model has inputs, an array has another number of dimensions
    than its input, or another length where the model has a fixed one.

    ## What to do
    Reshape, transpose or resize the array as the text says. Dimensions shown as `any` may have any length.
    """

    code = "batch-does-not-fit"
    says = "In batch {batch}, {found}, but {wanted}."
    next_step = "{advice}"
    batch: int
    found: str
    wanted: str
    advice: str


class DtypeDoesNotFit(UserError, TypeError):
    """An array has another type than the model's input.

    ## Why
    NumPy makes float64 by itself, pictures come as uint8. Converting them unasked could hide a
    forgotten division by 255. Only a wider type of the same kind (int32 to int64) is taken as it is.

    ## What to do
    Convert where the data is made, scaled as it was when the model was trained.
    """

    code = "dtype-does-not-fit"
    says = "In batch {batch}, the input {input!r} is {found}, but the model takes {wanted}."
    next_step = "Convert it{first}: `array.astype({wanted!r})`."
    batch: int
    input: str
    found: str
    wanted: str
    first: str


class BatchNotFinite(UserError, ValueError):
    """A batch holds NaN or infinite numbers.

    ## Why
    A division by zero in the preprocessing, a damaged sample, or an overflow. One such number spoils
    every range that is measured with it.

    ## What to do
    Look at the named sample; leave it out or mend it.
    """

    code = "batch-not-finite"
    says = "Batch {batch}: {count} numbers of {input!r} are not finite, the first ({first}) at {index}."
    next_step = "The first index is the sample: leave it out or mend it."
    batch: int
    input: str
    count: int
    first: str
    index: str


class LabelsMissing(UserError, ValueError):
    """Labels are needed, and a batch has none.

    ## Why
    Accuracy needs to know the right answers. The batches hold the model's inputs only.

    ## What to do
    Let the labels follow the inputs in each batch, or name them `label` in a dict or a `.npz` file.
    """

    code = "labels-missing"
    says = "Batch {batch} of {source} has no labels."
    next_step = "Yield them behind the inputs, or name them 'label'."
    batch: int
    source: str


class NotPositive(UserError, ValueError):
    """A count of samples or pixels is zero or less.

    ## Why
    Batch size, limit and side are counts; with none there is nothing to run.

    ## What to do
    Give 1 or more; leave `limit` out to take everything.
    """

    code = "not-positive"
    says = "{name} is {value}; it must be 1 or more."
    next_step = "Give a positive number or leave it out."
    name: str
    value: int
