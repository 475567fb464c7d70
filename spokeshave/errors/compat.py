"""What can go wrong where old scripts are served."""

from __future__ import annotations

from spokeshave.errors._base import UserError


class ValueNameTaken(UserError, ValueError):
    """A value was to get a name that another value of its program has.

    ## Why
    Names tell values apart when they are fetched, so that within one program each is given once. A net that
    is built twice into one program must number its names, as Paddle numbers those of its layers.

    ## What to do
    Take another name, or rename the other value first.
    """

    code = "value-name-taken"
    says = "The name {name!r} is taken by a result of {op} in this program."
    next_step = "Take another name, or rename that value first."
    name: str
    op: str


class ValueNotNameable(UserError, ValueError):
    """A value cannot bear the name that it was to get.

    ## Why
    Parameters and inputs are named by Paddle: under that name a scope keeps their numbers, or a feed brings
    them. An argument of a loop has no operator that could carry a name.

    ## What to do
    Name a parameter or an input where it is made (`name=`). In a loop, name what its operators make.
    """

    code = "value-not-nameable"
    says = "The value {value} cannot be called {name!r}."
    next_step = "Name parameters and inputs where they are made."
    value: str
    name: str
