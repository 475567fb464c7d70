"""Observers: what to remember of the values that pass a site, one a file."""

from spokeshave.quant.observers._observer import Observer
from spokeshave.registry import Shelf, classes

OBSERVERS: Shelf[type[Observer]] = Shelf("observer", "spokeshave.quant.observers", classes(Observer))

__all__ = ["OBSERVERS", "Observer"]
