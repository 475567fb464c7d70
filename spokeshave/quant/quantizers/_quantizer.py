"""What every quantizer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spokeshave.quant.sites import Site
from spokeshave.seams import Value

# Gives the parameter of that name of the site, made with these numbers where the scope has none yet.
Remember = Callable[[str, np.ndarray], Value]


@dataclass(frozen=True)
class Scale:
    """A scale in a program being built, and the new state to be stored after each training step."""

    value: Value
    updates: tuple[tuple[Value, Value], ...] = ()


class Quantizer(ABC):
    """Builds the scale of a site into a program. The rounding itself is the same for all.

    Laws: what it rounds equals `numerics.snap` with the scale that it shows, and the gradient passes
    unchanged.
    """

    name: ClassVar[str]

    @abstractmethod
    def training_scale(self, value: Value, site: Site, remember: Remember) -> Scale:
        """The scale in a training program, which learns from the batch."""

    @abstractmethod
    def test_scale(self, value: Value, site: Site, remember: Remember) -> Scale:
        """The scale in a test program, which only reads what training has stored."""

    @abstractmethod
    def steps_of(self, scale: str) -> str:
        """The parameter that counts the training steps behind a stored scale; empty if nothing is stored."""
