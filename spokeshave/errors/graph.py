"""Errors of views: ids that do not exist, graphs that do not hold together."""

from spokeshave.errors._base import InternalError, UserError


class NoSuchNode(UserError, KeyError):
    """A node was named that the model does not have.

    ## Why
    The id is misspelt, or a pass has removed or renamed the node since the id was read.

    ## What to do
    See the ids of this model with `spokeshave inspect MODEL`.
    """

    code = "no-such-node"
    says = "The model has no node {node!r}."
    next_step = "Nearest: {nearest}."
    node: str
    nearest: str


class NoSuchValue(UserError, KeyError):
    """A value was named that the model does not have.

    ## Why
    The id is misspelt, or a pass has removed the value since the id was read.

    ## What to do
    See the ids of this model with `spokeshave inspect MODEL`.
    """

    code = "no-such-value"
    says = "The model has no value {value!r}."
    next_step = "Nearest: {nearest}."
    value: str
    nearest: str


class GraphBroken(InternalError, ValueError):
    """A rewrite left a graph that does not hold together.

    ## Why
    Every pass is followed by a check: each operand is made before it is read, weights have the shape
    that their operator needs, outputs exist. This one failed, so the pass has a fault.

    ## What to do
    Report it with the text of the error. The model that went in is unchanged.
    """

    code = "graph-broken"
    says = "After {after}: {count} broken places, the first: {first}"
    next_step = "This is a fault of Spokeshave; please report it."
    after: str
    count: int
    first: str
