"""Errors of measuring: outputs without a match, labels that do not belong to them, clocks without rounds."""

from __future__ import annotations

from spokeshave.errors._base import UserError


class OutputsDiffer(UserError, ValueError):
    """Two models were compared whose outputs do not correspond.

    ## Why
    One of them has other output names, other shapes, or was run on more batches than the other.

    ## What to do
    Run both on the same batches, and give both the same output names.
    """

    code = "outputs-differ"
    says = "In batch {batch}, the reference has {reference}, the other has {other}."
    next_step = "Compare models of the same outputs, run on the same batches."
    batch: int
    reference: str
    other: str


class OutputNotFinite(UserError, ArithmeticError):
    """A model gave NaN or an infinite number where the other did not.

    ## Why
    An overflow, a division by zero, or a damaged weight. No measure of closeness has a value then.

    ## What to do
    Run that model on that batch alone and look for the first operator whose result is not finite.
    """

    code = "output-not-finite"
    says = "In batch {batch}, {count} numbers of the output {output!r} are NaN or infinite in one model only."
    next_step = "The {side} has them: look at what it computes there."
    batch: int
    output: str
    count: int
    side: str


class NothingCompared(UserError, ValueError):
    """A comparison was asked for its result before it saw a batch.

    ## Why
    The data yielded nothing, or the outputs were empty.

    ## What to do
    Give at least one batch of outputs.
    """

    code = "nothing-compared"
    says = "No outputs were compared."
    next_step = "Give at least one batch."


class LabelsDoNotFit(UserError, ValueError):
    """Labels do not belong to these outputs.

    ## Why
    There is not one whole number for each row of scores, or a label lies outside the classes.

    ## What to do
    Give labels as whole numbers from 0, shape [N] or [N, 1], and scores as [N, classes].
    """

    code = "labels-do-not-fit"
    says = "Labels of shape {labels} do not fit scores of shape {outputs}: {found}."
    next_step = "Give one class number for each row of scores."
    labels: str
    outputs: str
    found: str


class CannotTime(UserError, ValueError):
    """A clock was asked for no rounds, or for a negative time.

    ## Why
    A median needs at least one round.

    ## What to do
    Give `rounds` of 1 or more; `chunk_ms` and `rest_ms` of 0 or more.
    """

    code = "cannot-time"
    says = "{setting} is {value}, at least {least} is needed."
    next_step = "Raise it or leave it out."
    setting: str
    value: float
    least: int
