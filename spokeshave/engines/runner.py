"""What every engine offers once it has opened a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from spokeshave.graph.feeding import Array, InputSpec, check_feed

__all__ = ["Array", "InputSpec", "Runner", "check_feed"]


class Runner(Protocol):
    """A model opened in an engine. `inputs` and `outputs` are the names it is fed and gives."""

    engine: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for one batch, by name."""
        ...

    def fetch(self, feed: Mapping[str, Array], values: Sequence[str]) -> dict[str, Array]:
        """Inner values for one batch, by the ids of the view. Opens the model a second time."""
        ...

    def close(self) -> None:
        """Gives the engine's memory back; the runner is of no use afterwards."""
        ...
