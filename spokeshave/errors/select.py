"""Errors of choosing."""

from spokeshave.errors._base import UserError


class RuleMatchedNothing(UserError, ValueError):
    """A rule of `include` or `exclude` names nothing in the model.

    ## Why
    The name is misspelt, the glob is too narrow, or the model was changed since the name was read. A rule
    that is passed over in silence would leave in what was meant to be left out.

    ## What to do
    Take one of the nearest names; `spokeshave inspect MODEL` lists nodes, layer paths and weights.
    """

    code = "rule-matched-nothing"
    says = "The rule {rule!r} matches nothing in this model."
    next_step = "Nearest: {nearest}."
    rule: str
    nearest: str
