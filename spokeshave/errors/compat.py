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
    Under the name of a parameter, or of what an optimizer remembers, a scope keeps its numbers; with another
    name they would not be found. An argument of a loop has no operator that could carry a name.

    ## What to do
    Name a parameter where it is made (`name=`). In a loop, name what its operators make.
    """

    code = "value-not-nameable"
    says = "The value {value} cannot be called {name!r}."
    next_step = "Name parameters where they are made."
    value: str
    name: str


class ValueOfAnotherProgram(UserError, ValueError):
    """A value was given that has no counterpart in the program that is run or saved.

    ## Why
    It belongs to a program that this one was not made from, to one that exists no more, or to a part that
    was taken away: a clone for test has no gradients. Paddle drops such a value from the results silently.

    ## What to do
    Take a value of the program itself, or of the one that it was cloned, quantized or converted from;
    `program.global_block().var(name)` gives it by name.
    """

    code = "value-of-another-program"
    says = "{place} is no value of this program, nor of one that it was made from."
    next_step = "Take it from the program itself: `program.global_block().var(name)`."
    place: str


class NoSuchVar(UserError, ValueError):
    """A block was asked for a value by a name that no value in it has.

    ## Why
    The name is misspelt, or belongs to another program.

    ## What to do
    Take one of the nearest names; `program.list_vars()` gives all values, each with its `.name`.
    """

    code = "no-such-var"
    says = "The block has no value {name!r}."
    next_step = "Nearest: {nearest}."
    name: str
    nearest: str


class StrategyNotServed(UserError, ValueError):
    """A way of building or running a program was asked for that one device does not give.

    ## Why
    Most settings of `BuildStrategy` and `ExecutionStrategy` make a run quicker and change no result: they
    are taken and mean nothing. This one would change what a run does or leaves behind.

    ## What to do
    Leave it as it is by default. For several devices use Paddle's own `paddle.distributed`.
    """

    code = "strategy-not-served"
    says = "{setting} = {value} is not served."
    next_step = "Leave it out; the program runs as it is, on one device."
    setting: str
    value: str


class NotAProgram(UserError, TypeError):
    """Something else was given where a static program of Paddle 3 is wanted.

    ## Why
    It is None, a Layer, a path, or a program in the format of Paddle 2, as they are built under
    `paddle.pir_utils.OldIrGuard`.

    ## What to do
    Pass a `paddle.static.Program`, or a `CompiledProgram` of one. A Layer is captured first
    (`spokeshave.program.capture`), a saved model is loaded (`spokeshave.load(path).program`).
    """

    code = "not-a-program"
    says = "A {found} was given in place of a static program."
    next_step = "Pass a paddle.static.Program; a saved model has one as spokeshave.load(path).program."
    found: str
