"""Cover every value that was seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spokeshave.quant.observers._observer import Observer


class AbsMax(Observer):
    """The largest magnitude seen.

    ## When to use it
    Weights, and activations bounded by design (ReLU6, sigmoid). On activations with rare spikes it spends
    most codes on values that almost never occur.

    ## Cost
    One number of memory, one reduction per batch.

    >>> import numpy as np
    >>> observer = AbsMax("conv2d_0.out")
    >>> observer.watch(np.array([1.0, -3.0]))
    >>> observer.bound()
    3.0
    """

    name = "abs-max"

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self._largest = 0.0

    def _take(self, magnitudes: npt.NDArray[np.float32]) -> None:
        self._largest = max(self._largest, float(magnitudes.max()))

    def _bound(self) -> float:
        return self._largest
