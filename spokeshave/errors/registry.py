"""Errors of the shelves."""

from spokeshave.errors._base import InternalError, UserError


class UnknownName(UserError, KeyError):
    """A plug-in, model or setting was asked for by a name that does not exist.

    ## Why
    The name is misspelt, or the file that would define it is not in its folder.

    ## What to do
    Take one of the nearest names, or see them all with `spokeshave list`.
    """

    code = "unknown-name"
    says = "There is no {what} named {name!r}."
    next_step = "Nearest: {nearest}."
    what: str
    name: str
    nearest: str


class NameTaken(InternalError, ValueError):
    """Two files of one folder define a plug-in of the same name.

    ## Why
    A plug-in is found by its `name`; a second one would hide the first.

    ## What to do
    Rename one of the two.
    """

    code = "name-taken"
    says = "The {what} {name!r} in {module} exists already."
    next_step = "Give it a name of its own."
    what: str
    name: str
    module: str
