"""Errors of quantization."""

from spokeshave.errors._base import UserError


class NothingToQuantize(UserError, ValueError):
    """No operator of the model can be quantized for the target.

    ## Why
    The model has none of the operators that the target takes, all of them were excluded, or none of their
    weights is a constant in float32. A plan without sites would pass a float model off as INT8.

    ## What to do
    Loosen `include` and `exclude`, or look at the reasons with `spokeshave inspect MODEL`.
    """

    code = "nothing-to-quantize"
    says = "Nothing in this model can be quantized for {target}: {reasons}."
    next_step = "Loosen include and exclude, or choose another target."
    target: str
    reasons: str


class AlreadyQuantized(UserError, ValueError):
    """A model that has quantizers in it was to be given quantizers.

    ## Why
    `quant_aware` or `quantize` ran twice, or the model was quantized before it was saved. Rounding twice
    would cost accuracy and gain nothing.

    ## What to do
    Start from the float model; to freeze a trained one use `convert` (or `quant.freeze`).
    """

    code = "already-quantized"
    says = "The model has quantizers in it already (the first at {site!r})."
    next_step = "Start from the float model, or freeze this one."
    site: str


class NotQuantized(UserError, ValueError):
    """A model without quantizers was to be frozen.

    ## Why
    `convert` got the float program in place of the one that `quant_aware` returned.

    ## What to do
    Pass the program that `quant_aware(program, place, for_test=True)` returned.
    """

    code = "not-quantized"
    says = "The model has no quantizers that could be frozen."
    next_step = "Pass the program that quant_aware(program, place, for_test=True) returned."


class HasBackward(UserError, ValueError):
    """A program with its backward was given where one for evaluation is wanted.

    ## Why
    The gradients in it would train what is to be tested or frozen.

    ## What to do
    Pass the test program: the forward part without `minimize`.
    """

    code = "has-backward"
    says = "{verb} wants a program without backward; this one has gradients (the first is {op})."
    next_step = "Pass the test program, built or cloned before minimize()."
    verb: str
    op: str


class ObserverSawNothing(UserError, ValueError):
    """An observer was asked for a range before any calibration value reached it.

    ## Why
    The branch holding this site did not run on the calibration data, or the data yielded no batch.

    ## What to do
    Feed batches that reach the site, or leave the site out with `exclude`.
    """

    code = "observer-saw-nothing"
    says = "Site {site!r} saw no value in {batches} calibration batches."
    next_step = "Feed data that reaches it, or add it to exclude."
    site: str
    batches: int


class ObserverSawNaN(UserError, ValueError):
    """A value inside the model was not a number while its range was observed.

    ## Why
    The weights hold NaN or infinity, or an operator before this site overflows on the calibration data.

    ## What to do
    Run the float model on the same data and mend what gives the NaN.
    """

    code = "observer-saw-nan"
    says = "Site {site!r} saw {count} values that are not finite."
    next_step = "Run the float model on the same data and mend what makes them."
    site: str
    count: int


class SiteNotTrained(UserError, ValueError):
    """A model was to be frozen whose quantizers never saw a training step.

    ## Why
    The scales are learned while the training program runs; it has not run in this scope, or the scope is
    another one.

    ## What to do
    Run some steps of the quantized training program in the same scope, then freeze.
    """

    code = "site-not-trained"
    says = "The quantizer at {site!r} has not seen a training step."
    next_step = "Run the quantized training program in this scope first."
    site: str


class ScaleNotStored(UserError, ValueError):
    """A quantizer that keeps no scale was put on an activation.

    ## Why
    It takes its scale from each batch as it comes. Weights are there when a model is frozen, activations are
    not: an engine would have no scale to round them by.

    ## What to do
    Take `moving-average-abs-max`, or another quantizer that stores what it learns, for the activations.
    """

    code = "scale-not-stored"
    says = "The quantizer of the activation {site!r} stores no scale that could be frozen."
    next_step = "Take one that does, such as moving-average-abs-max."
    site: str


class RangeMissing(UserError, KeyError):
    """A plan was to be settled without a range for one of its sites.

    ## Why
    The ranges were observed with another plan, or a site was added by hand afterwards.

    ## What to do
    Observe again with this plan.
    """

    code = "range-missing"
    says = "There is no range for the site {site!r}."
    next_step = "Observe again with this plan."
    site: str


class PlanNotReadable(UserError, ValueError):
    """A file that should hold a quantization plan does not.

    ## Why
    It is missing, cut short, or an edit by hand left it malformed; the text says where.

    ## What to do
    Mend the place that is named, or write the plan again.
    """

    code = "plan-not-readable"
    says = "{path} is not a quantization plan: {found}."
    next_step = "Mend the place that is named, or write the plan again."
    path: str
    found: str


class PlanDoesNotFit(UserError, ValueError):
    """A plan names values that the model does not have, or has otherwise.

    ## Why
    It was made for another model, or for this one before a pass changed it.

    ## What to do
    Make the plan from the view of the model that it is applied to.
    """

    code = "plan-does-not-fit"
    says = "The plan does not fit this model at {site!r}: {found}."
    next_step = "Make the plan from this model's view."
    site: str
    found: str


class SettingNotServed(UserError, ValueError):
    """A setting has a name or a value that is not served.

    ## Why
    The name is misspelt, or the value belongs to a method that is not there. It is not passed over in
    silence, as the result would not be what was asked for.

    ## What to do
    Take one of the values that are served.
    """

    code = "setting-not-served"
    says = "The setting {name!r} with the value {value} is not served."
    next_step = "Served: {served}."
    name: str
    value: str
    served: str
