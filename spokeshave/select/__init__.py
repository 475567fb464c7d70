"""Choosing nodes and weights: one syntax for every verb that takes or leaves some."""

from spokeshave.select.choosing import Choice, choose

__all__ = ["Choice", "choose"]
