"""The scale of what has been there lately."""

from __future__ import annotations

import numpy as np
import paddle

from spokeshave.quant.kernels import scale_of
from spokeshave.quant.quantizers._quantizer import Quantizer, Remember, Scale
from spokeshave.quant.sites import Site
from spokeshave.seams import Value

RATE = 0.9
STEPS = "steps"


class MovingAverageAbsMax(Quantizer):
    """The mean of each batch's largest magnitude, older batches counting less.

    With rate 0.9, `sum = 0.9 * sum + bound`, `steps = 0.9 * steps + 1`, and the bound is `sum / steps`, so
    that the first batches are not drawn towards a made-up start.

    ## When to use it
    Activations in quantization-aware training.

    ## Cost
    Two reductions per step, three numbers of memory per site.
    """

    name = "moving-average-abs-max"

    def training_scale(self, value: Value, site: Site, remember: Remember) -> Scale:
        total, steps, scale = self._state(remember)
        # Of the largest and the least, not of a tensor of magnitudes: no copy of the activation is made.
        largest = paddle.maximum(paddle.max(value), -paddle.min(value)).reshape([1])
        new_total = paddle.add(paddle.scale(total, RATE), largest)
        new_steps = paddle.scale(steps, RATE, bias=1.0)
        new_scale = scale_of(paddle.divide(new_total, new_steps), site.grid.high)
        return Scale(new_scale, ((new_total, total), (new_steps, steps), (new_scale, scale)))

    def test_scale(self, value: Value, site: Site, remember: Remember) -> Scale:
        return Scale(self._state(remember)[2])

    def steps_of(self, scale: str) -> str:
        return scale.rsplit(".", 1)[0] + f".{STEPS}"

    def _state(self, remember: Remember) -> tuple[Value, Value, Value]:
        start = np.zeros(1, np.float32)
        return remember("total", start), remember(STEPS, start), remember("scale", np.ones(1, np.float32))
