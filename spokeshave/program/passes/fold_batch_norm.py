"""Batch norm into the weights before it."""

from __future__ import annotations

import numpy as np
import paddle

from spokeshave.graph import Node, Step
from spokeshave.graph.blocks import bias_of
from spokeshave.ops import OPS
from spokeshave.program.rewriting import Editor, Found, Rewrite
from spokeshave.report import Reason

# bfloat16 is not among them: NumPy has no arithmetic for it.
FLOATS = ("float16", "float32", "float64")
CONVS = ("pd_op.conv2d", "pd_op.depthwise_conv2d")


class FoldBatchNorm(Rewrite):
    """`bn(conv(x, w) + b)` becomes `conv(x, w') + b'`. Exact up to float rounding; refused in training mode.

    ## What is left alone
    A batch norm in training mode, one whose convolution is read elsewhere as well, one on a weight that
    several ops share, and one with nothing before it that could take it up.
    """

    name = "fold-batch-norm"
    steps = (
        Step("conv", CONVS, operand="x", optional=True),
        Step("bias", ("pd_op.add",), operand="x", optional=True),
        Step("bn", ("pd_op.batch_norm_",)),
    )

    def check(self, found: Found) -> Reason | None:
        view, conv, bn = found.view, found.match.get("conv"), found.match["bn"]
        if not (bn.attrs.get("is_test") or bn.attrs.get("use_global_stats")):
            return found.declined("bn-in-training", bn, "it works with the statistics of the batch")
        bias = found.match.get("bias")
        if conv is None or (bias is not None and bias_of(view, conv) is None):
            return found.declined("no-conv-before", bn, "no convolution of constant weight stands before it")
        weight = conv.operand("filter") or ""
        if not view.is_parameter(weight):
            return found.declined("weight-not-constant", bn, "the weight before it is computed")
        if view.value(weight).dtype not in FLOATS:
            return found.declined("weight-type", bn, f"its weight is stored as {view.value(weight).dtype}")
        if len(view.value(weight).readers) != 1:
            return found.declined("weight-shared", bn, "another op reads the same weight")
        steps = ("conv",) if bias is None else ("conv", "bias")
        if any(found.match.read_elsewhere(view, step) for step in steps):
            return found.declined("conv-read-twice", bn, "folding would change what another op reads")
        return None

    def apply(self, found: Found, editor: Editor) -> None:
        conv, bn = found.match["conv"], found.match["bn"]
        gain, shift = _gain_and_shift(bn, editor)
        weight = conv.operand("filter") or ""
        axis = OPS[conv.op].out_axis(conv.attrs)
        factors = gain.reshape([-1 if i == axis else 1 for i in range(4)])
        numbers = editor.weight(weight)
        editor.set_weight(weight, (numbers.astype(np.float64) * factors).astype(numbers.dtype))
        self._fold_bias(found, editor, gain, shift)

    def _fold_bias(self, found: Found, editor: Editor, gain: np.ndarray, shift: np.ndarray) -> None:
        """A new bias takes up gain and shift, and the old one where there is one."""
        conv, bn = found.match["conv"], found.match["bn"]
        bias = bias_of(found.view, conv)
        old = editor.weight(bias.parameter).reshape(-1).astype(np.float64) if bias else 0.0
        axis = OPS[conv.op].channel_axis(conv.attrs, 4)
        kind = editor.weight(conv.operand("filter") or "").dtype
        folded = (old * gain + shift).astype(kind).reshape([-1 if i == axis else 1 for i in range(4)])
        term = editor.parameter(f"{conv.operand('filter')}.folded_bias", folded)
        source = editor.value(conv.out)
        total = editor.before(bn, lambda: paddle.add(source, term))
        editor.rewire(bn.out, total)
        editor.erase(bn)
        if bias is not None:
            editor.erase(bias.add)


def _gain_and_shift(bn: Node, editor: Editor) -> tuple[np.ndarray, np.ndarray]:
    """What a batch norm in test mode multiplies each channel by, and what it adds."""
    operands = ("scale", "bias", "mean", "variance")
    scale, bias, mean, var = (editor.weight(bn.operand(n) or "").astype(np.float64) for n in operands)
    gain = scale / np.sqrt(var + bn.attrs["epsilon"])
    return gain, bias - mean * gain
