"""Errors of programs that train: optimizers that cannot be found, made again or used twice."""

from spokeshave.errors._base import UserError


class OptimizerUsed(UserError, ValueError):
    """An optimizer that serves one program already was given for another.

    ## Why
    An optimizer makes what it remembers (velocities, moments) once. Minimizing in a second program, it would
    hand out that of the first, which the second does not hold.

    ## What to do
    Make a new optimizer, or let `optimizer_like(training_of(model))` make one with the same settings.
    """

    code = "optimizer-used"
    says = "The optimizer {optimizer} serves another program already."
    next_step = "Make a new one, or take `optimizer_like(training_of(model), model)`."
    optimizer: str


class OptimizerUnknown(UserError, ValueError):
    """An optimizer cannot be made again from the program that it serves.

    ## Why
    A program holds what an optimizer does, not the object. It is known how to read the common ones back; this
    one, or what it does to gradients on their way, is not among them.

    ## What to do
    Make the optimizer by hand and give it to `append_training`; what it remembers is carried over all the
    same where the names of its parts agree.
    """

    code = "optimizer-unknown"
    says = "The optimizer of this program cannot be made again: {found}."
    next_step = "Make it by hand and give it to `append_training`. Known are: {known}."
    found: str
    known: str


class LossUnknown(UserError, ValueError):
    """A value was given as the loss that cannot be one.

    ## Why
    A loss is a single number that depends on parameters which may be trained.

    ## What to do
    Give the mean or the sum of the losses of the examples, computed in the same program.
    """

    code = "loss-unknown"
    says = "{value!r} cannot be the loss: {found}."
    next_step = "Give the mean of the losses of the examples, computed in the same program."
    value: str
    found: str
