"""A model run by Paddle itself, which is the reference for every other engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spokeshave.engines.runner import Array, check_feed
from spokeshave.program import Model


class PaddleRunner:
    """Runs a model in Paddle's own executor, with the numbers of its scope as they are at each run.

    >>> runner = PaddleRunner(spokeshave.load("lenet"))  # doctest: +SKIP
    """

    engine = "paddle"

    def __init__(self, model: Model) -> None:
        self._model = model
        self.inputs = model.view.inputs
        self.outputs = tuple(name for name, _ in model.view.outputs)
        self._specs = model.input_specs

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for one batch, by name."""
        return self.fetch(feed, self.outputs)

    def fetch(self, feed: Mapping[str, Array], values: Sequence[str]) -> dict[str, Array]:
        """Inner values for one batch, by the ids of the view, in one run."""
        check_feed(self._specs, feed)
        return self._model.run(feed, values)

    def close(self) -> None:
        """Nothing is held beyond the model."""
