"""The scale of what is there now."""

from __future__ import annotations

import paddle

from spokeshave.quant.kernels import scale_of
from spokeshave.quant.quantizers._quantizer import Quantizer, Remember, Scale
from spokeshave.quant.sites import Site
from spokeshave.seams import Value


class AbsMaxScale(Quantizer):
    """The largest magnitude of the tensor as it is, one per channel where the site has an axis.

    ## When to use it
    Weights: the scale follows them while they are trained, and nothing has to be stored.

    ## Cost
    One reduction per step.
    """

    name = "abs-max"

    def training_scale(self, value: Value, site: Site, remember: Remember) -> Scale:
        if site.axis is None:
            return Scale(scale_of(paddle.max(paddle.abs(value)).reshape([1]), site.grid.high))
        others = [i for i in range(len(value.shape)) if i != site.axis]
        bound = paddle.max(paddle.abs(value), axis=others, keepdim=True)
        return Scale(scale_of(bound, site.grid.high))

    def test_scale(self, value: Value, site: Site, remember: Remember) -> Scale:
        return self.training_scale(value, site, remember)

    def steps_of(self, scale: str) -> str:
        return ""
