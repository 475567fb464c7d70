"""What every observer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spokeshave.errors.quant import ObserverSawNaN, ObserverSawNothing


class Observer(ABC):
    """Watches the values of one site, batch by batch, and gives the magnitude that its grid must reach.

    Laws, tested for every observer: how the values are cut into batches does not matter, the bound lies
    within what was seen, and having seen nothing is an error, as is a value that is no number.
    """

    name: ClassVar[str]

    def __init__(self, site: str) -> None:
        self.site = site
        self._batches = 0
        self._values_seen = 0

    def watch(self, values: npt.NDArray[Any]) -> None:
        """Takes one batch of values; it is not kept."""
        self._batches += 1
        self._values_seen += values.size
        if values.size:
            magnitudes = np.abs(values, dtype=np.float32)
            self._refuse_unfinite(magnitudes)
            self._take(magnitudes)

    def bound(self) -> float:
        """The magnitude that the outermost code of a symmetric grid should stand for."""
        if not self._values_seen:
            raise ObserverSawNothing(site=self.site, batches=self._batches)
        return self._bound()

    @abstractmethod
    def _take(self, magnitudes: npt.NDArray[np.float32]) -> None:
        """Takes the magnitudes of one batch, all finite, at least one."""

    @abstractmethod
    def _bound(self) -> float:
        """The bound, after at least one value was taken."""

    def _refuse_unfinite(self, magnitudes: npt.NDArray[np.float32]) -> None:
        # The sum of finite magnitudes may overflow, so that only a suspicious sum is looked into.
        with np.errstate(over="ignore"):
            is_suspicious = not np.isfinite(magnitudes.sum(dtype=np.float32))
        count = int(np.count_nonzero(~np.isfinite(magnitudes))) if is_suspicious else 0
        if count:
            raise ObserverSawNaN(site=self.site, count=count)
