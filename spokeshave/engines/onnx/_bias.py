"""The bias that a convolution or Gemm takes in: float, or int32 behind quantized operands."""

from __future__ import annotations

import numpy as np

from spokeshave.engines.onnx._constants import Array
from spokeshave.engines.onnx._draft import Draft, Stored
from spokeshave.graph import Bias
from spokeshave.report import Reason

INT32 = np.iinfo(np.int32)


def put_bias(draft: Draft, bias: Bias, data: str, weight: str) -> str:
    """Stores a bias, marks its add as written, and gives the name to read it by.

    Behind a quantized operand and an int8 weight it becomes int32 on the grid of their product, as
    engines add it; where that cannot hold it, it stays float and the draft says why.
    """
    draft.merge(bias.add)
    values = draft.constants.parameter(bias.parameter).reshape(-1)
    found = draft.survey.quantized.get(draft.survey.root(data))
    stored = draft.survey.weights.get(draft.survey.root(weight))
    if found is None or stored is None:
        return draft.initializer(bias.parameter, values)
    # Scales per channel of the input have no product that a sum over channels could be on.
    factor = np.asarray(np.nan) if found.axis is not None else found.scale.astype(np.float64)
    product = np.asarray(factor * stored.scale.astype(np.float64))
    steps = np.rint(values.astype(np.float64) / product)
    reason = _why_float(bias, steps, product)
    if reason is not None:
        draft.reasons.append(reason)
        return draft.initializer(bias.parameter, values)
    return _put_int32(draft, bias.parameter, steps, product)


def _put_int32(draft: Draft, parameter: str, steps: Array, scale: Array) -> str:
    name = draft.fresh(f"{parameter}:dequantized")
    integers = Stored(f"{parameter}:int32", steps.astype(np.int32))
    factors = Stored(f"{parameter}:scale", scale.astype(np.float32))
    return draft.put_dequantize(name, integers, factors, 0 if scale.ndim else None, name)


def _why_float(bias: Bias, steps: Array, product: Array) -> Reason | None:
    if np.any(np.isnan(product)):
        text = "The input has a scale for each channel, so sums over them have none; the bias stays float."
        return Reason("bias-without-scale", text, bias.add.id)
    if np.any(product < np.finfo(np.float32).tiny):
        text = "The product of input and weight scale is below what float32 holds; the bias stays float."
        return Reason("bias-scale-tiny", text, bias.add.id)
    if not np.all(np.abs(steps) <= INT32.max):
        return Reason("bias-overflow", "The bias is beyond int32 on its grid; it stays float.", bias.add.id)
    return None
