"""Errors of the command line."""

from spokeshave.errors._base import UserError


class NotAQuantizedFolder(UserError, FileNotFoundError):
    """A folder was given to `verify` that `quantize` did not write, or not this version of it.

    ## Why
    The path names another folder, such as the one above or one of the folders in it, or files were
    taken away from it.

    ## What to do
    Give the folder that was the `--output` of `spokeshave quantize`.
    """

    code = "not-a-quantized-folder"
    says = "{path} is not a folder that `spokeshave quantize` wrote: it has no {missing}."
    next_step = "Give the folder that was its --output."
    path: str
    missing: str
