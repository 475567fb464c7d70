"""Matrix products."""

from __future__ import annotations

from typing import Any

from spokeshave.engines.onnx._bias import put_bias
from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.graph import Bias, Node, block_of
from spokeshave.ops import linear


def _matmul(draft: Draft, node: Node) -> None:
    bias = block_of(draft.view, node).bias
    if _is_gemm(draft, node, bias):
        _gemm(draft, node, bias)
    else:
        draft.put("MatMul", node, [_side(draft, node, "x"), _side(draft, node, "y")])


def _is_gemm(draft: Draft, node: Node, bias: Bias | None) -> bool:
    """Whether Gemm says more than MatMul: two dimensions, a stored weight, and a bias or a transpose."""
    x, y = at(node, "x"), at(node, "y")
    is_flat = all(len(draft.view.value(side).shape) == 2 for side in (x, y))
    return is_flat and draft.is_stored(y) and (bias is not None or _swaps(node, "x") or _swaps(node, "y"))


def _gemm(draft: Draft, node: Node, bias: Bias | None) -> None:
    x, y = at(node, "x"), at(node, "y")
    # The weight keeps its layout: transB costs an engine nothing, a stored transpose would be another weight.
    attrs: dict[str, Any] = {"transA": int(_swaps(node, "x")), "transB": int(_swaps(node, "y"))}
    inputs = [draft.read(x), draft.read(y)]
    if bias is None:
        draft.put("Gemm", node, inputs, **attrs)
        return
    inputs.append(put_bias(draft, bias, x, y))
    draft.put("Gemm", node, inputs, out=bias.add.out, **attrs)


def _side(draft: Draft, node: Node, operand: str) -> str:
    """The name of an operand of MatMul, its last two axes swapped where the node says so."""
    value_id = at(node, operand)
    rank = len(draft.view.value(value_id).shape)
    if not _swaps(node, operand) or rank < 2:  # transposing a vector changes nothing
        return draft.read(value_id)
    perm = (*range(rank - 2), rank - 1, rank - 2)
    stored = draft.read_swapped(value_id)
    return stored or draft.put_step(
        "Transpose", node, f"transpose_{operand}", [draft.read(value_id)], perm=perm
    )


def _swaps(node: Node, operand: str) -> bool:
    return bool(node.attrs.get(f"transpose_{operand}"))


MATMUL = Emitter(
    linear.MATMUL.name,
    "Gemm where a stored weight of two dimensions has a bias or a transpose, else MatMul.",
    _matmul,
)
