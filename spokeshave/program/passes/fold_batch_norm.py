"""Batch norm into the weights before it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import paddle

from spokeshave.graph import GraphView, Node, Step, chain_to
from spokeshave.graph.blocks import ADD, bias_of
from spokeshave.ops import OPS, Shape
from spokeshave.ops.conv import CONV, CONV_TRANSPOSE, DEPTHWISE_CONV, DEPTHWISE_CONV_TRANSPOSE
from spokeshave.ops.effects import BATCH_NORMS
from spokeshave.ops.linear import MATMUL
from spokeshave.ops.norm import BATCH_NORM
from spokeshave.program.rewriting import Editor, Found, Pass
from spokeshave.report import Reason

# bfloat16 is not among them: NumPy has no arithmetic for it.
FLOATS = ("float16", "float32", "float64")
TRANSPOSED = (CONV_TRANSPOSE.name, DEPTHWISE_CONV_TRANSPOSE.name)
# Each with the number of axes that its weight has.
LINEAR = {MATMUL.name: 2, **dict.fromkeys((CONV.name, DEPTHWISE_CONV.name, *TRANSPOSED), 4)}
VECTORS = ("scale", "bias", "mean", "variance")


class FoldBatchNorm(Pass):
    """`bn(conv(x, w) + b)` becomes `conv(x, w') + b'`. Exact up to float rounding; refused in training mode.

    Convolutions, grouped, depthwise or transposed, and products with a matrix (a Linear layer).

    ## What is left alone
    A batch norm in training mode or in a program that has its gradients; one whose convolution is read
    elsewhere as well, or has its channels on another axis; one on a weight that several ops share, that is
    computed, or of a type that NumPy cannot multiply; one whose numbers are computed or missing; and one with
    nothing before it that could take it up, also where something behind it could.
    """

    name = "fold-batch-norm"
    steps = (
        Step("linear", tuple(LINEAR), operand="x", optional=True),
        Step("bias", (ADD,), operand="x", optional=True),
        Step("bn", BATCH_NORMS),
    )

    def places(self, view: GraphView) -> Iterable[Found]:
        # Two norms that read one convolution are two places, each with its reason.
        chains = (chain_to(view, self.steps, node) for node in view.nodes if node.op in BATCH_NORMS)
        return [Found(view, chain) for chain in chains if chain is not None]

    def check(self, found: Found) -> Reason | None:
        view, linear, bn = found.view, found.match.get("linear"), found.match["bn"]
        if not (bn.attrs.get("is_test") or bn.attrs.get("use_global_stats")):
            return found.declined("bn-in-training", bn, "it works with the statistics of the batch")
        if any(view.value(v).readers or view.is_output(v) for _, v in bn.outputs[1:]):
            return found.declined("statistics-read", bn, "another op reads the statistics that it gives out")
        if linear is None or ("bias" in found.match and bias_of(view, linear) is None):
            return _nothing_before(found)
        if _axis(view, linear, linear.out) != _axis(view, bn, bn.out):
            return found.declined(
                "another-axis", bn, "the channels before it lie on another axis than its own"
            )
        return _of_weight(found, linear) or _of_numbers(found, linear) or _of_readers(found)

    def apply(self, found: Found, editor: Editor) -> None:
        linear, bn = found.match["linear"], found.match["bn"]
        gain, shift = _gain_and_shift(bn, editor)
        weight = _weight_of(linear)
        self._fold_bias(found, editor, gain, shift)
        editor.scale_weight(weight, factors_of(linear, gain, found.view.value(weight).shape))

    def _fold_bias(self, found: Found, editor: Editor, gain: np.ndarray, shift: np.ndarray) -> None:
        """A new bias takes up gain and shift, and the old one where there is one."""
        view, linear, bn = found.view, found.match["linear"], found.match["bn"]
        bias = bias_of(view, linear) if "bias" in found.match else None
        old = editor.weight(bias.parameter).reshape(-1).astype(np.float64) if bias else 0.0
        kind = view.value(_weight_of(linear)).dtype
        folded = (old * gain + shift).astype(kind).reshape(_bias_shape(view, linear))
        term = editor.parameter(f"{_weight_of(linear)}.folded_bias", folded)
        source = editor.value(linear.out)
        total = editor.before(bn, lambda: paddle.add(source, term), like=linear)
        editor.rewire(bn.out, total)
        editor.erase(bn)
        if bias is not None:
            editor.erase(bias.add)


def factors_of(node: Node, gain: np.ndarray, shape: Shape) -> np.ndarray:
    """The gain of each output channel, where that lies in the weight."""
    if node.op in TRANSPOSED:
        # [in, out / groups, height, width]: each input channel has the outputs of its own group.
        groups = node.attrs.get("groups", 1)
        of_groups = gain.reshape(groups, shape[1])
        return np.repeat(of_groups, shape[0] // groups, axis=0)[:, :, None, None]
    axis = OPS[node.op].out_axis(node.attrs)
    return gain.reshape([-1 if i == axis else 1 for i in range(len(shape))])


def _nothing_before(found: Found) -> Reason:
    view, bn = found.view, found.match["bn"]
    behind = [n for n in view.readers(bn.out) if n.op in LINEAR]
    if behind:
        text = f"nothing before it can take it up; {behind[0].op} behind it could, which is not done"
        return found.declined("only-linear-behind", bn, text)
    return found.declined(
        "no-conv-before", bn, "no convolution or product of constant weight stands before it"
    )


def _of_weight(found: Found, linear: Node) -> Reason | None:
    """Why the weight before a batch norm cannot take it up."""
    view, bn = found.view, found.match["bn"]
    weight = linear.operand(OPS[linear.op].weight or "")
    if weight is None or not view.is_parameter(weight):
        return found.declined("weight-not-constant", bn, "the weight before it is computed")
    value = view.value(weight)
    if len(value.shape) != LINEAR[linear.op]:
        return found.declined("weight-not-a-matrix", bn, f"its weight has {len(value.shape)} axes")
    if value.dtype not in FLOATS:
        return found.declined("weight-type", bn, f"its weight is stored as {value.dtype}")
    if len(value.readers) != 1 or view.is_output(weight):
        return found.declined("weight-shared", bn, "another op reads the same weight")
    return None


def _of_numbers(found: Found, linear: Node) -> Reason | None:
    """Why the numbers of a batch norm cannot be taken up."""
    view, bn = found.view, found.match["bn"]
    bias = bias_of(view, linear) if "bias" in found.match else None
    vectors = [value for name in VECTORS if (value := bn.operand(name)) is not None]
    if bn.operand("mean") is None or not all(map(view.is_parameter, vectors)):
        return found.declined("norm-not-constant", bn, "its scale, shift or statistics are computed")
    needed = [*vectors, _weight_of(linear), *([bias.parameter] if bias else [])]
    missing = [name for name in needed if not found.holds(name)]
    if missing:
        return found.declined("numbers-missing", bn, f"the scope holds no tensor {missing[0]}")
    return None


def _of_readers(found: Found) -> Reason | None:
    before = [name for name in ("linear", "bias") if name in found.match]
    if any(found.match.read_elsewhere(found.view, name) for name in before):
        text = "folding would change what another op reads"
        return found.declined("conv-read-twice", found.match["bn"], text)
    return None


def _weight_of(linear: Node) -> str:
    return linear.operand(OPS[linear.op].weight or "") or ""


def _axis(view: GraphView, node: Node, value_id: str) -> int:
    """The axis on which the channels of a result lie."""
    rank = len(view.value(value_id).shape)
    facts = OPS.get(node.op) or BATCH_NORM
    # Paddle takes the second of two axes for the channels in either layout.
    return 1 if rank == 2 else facts.channel_axis(node.attrs, rank)


def _bias_shape(view: GraphView, linear: Node) -> list[int]:
    rank, axis = len(view.value(linear.out).shape), _axis(view, linear, linear.out)
    return (
        [-1]
        if axis == rank - 1 and linear.op == MATMUL.name
        else [-1 if i == axis else 1 for i in range(rank)]
    )


def _gain_and_shift(bn: Node, editor: Editor) -> tuple[np.ndarray, np.ndarray]:
    """What a batch norm in test mode multiplies each channel by, and what it adds."""
    mean, var = (editor.weight(bn.operand(n) or "").astype(np.float64) for n in ("mean", "variance"))
    scale, bias = (_or(bn.operand(n), neutral, editor) for n, neutral in (("scale", 1.0), ("bias", 0.0)))
    gain = scale / np.sqrt(var + bn.attrs["epsilon"])
    return gain, bias - mean * gain


def _or(name: str | None, neutral: float, editor: Editor) -> np.ndarray:
    return np.array(neutral) if name is None else editor.weight(name).astype(np.float64)
