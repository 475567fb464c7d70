"""Dropout that does nothing, or nothing but scale."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import paddle

from spokeshave.graph import GraphView, Node
from spokeshave.ops.effects import is_drawing
from spokeshave.ops.elementwise import DROPOUT
from spokeshave.program.passes._constants import Number, constant_number
from spokeshave.program.passes._passing import let_pass, reason_to_stay
from spokeshave.program.rewriting import Editor, Found, Pass
from spokeshave.report import Reason

UPSCALING, DOWNSCALING = "upscale_in_train", "downgrade_in_infer"


class DropDropout(Pass):
    """Dropout in test mode goes; one that scales down in test mode (`downgrade_in_infer`) becomes a scale.

    ## What is left alone
    A dropout that works, as in training; one whose mask is read; one whose rate is computed where the rate
    matters; one in a program that has its gradients.
    """

    name = "drop-dropout"

    def places(self, view: GraphView) -> Iterable[Found]:
        return [Found.at(view, node) for node in view.nodes if node.op == DROPOUT.name]

    def check(self, found: Found) -> Reason | None:
        view, node = found.view, found.node
        rate, is_test = constant_number(view, node.operand("p")), bool(node.attrs.get("is_test"))
        if any(view.value(v).readers or view.is_output(v) for _, v in node.outputs[1:]):
            return found.declined("mask-read", node, "another op reads what it drops")
        if not is_test and rate != 0:
            return found.declined("dropout-in-training", node, "it drops at random")
        if not is_test and _others_draw(view, node):
            text = "it drops nothing, but draws, and without it others would draw other numbers"
            return found.declined("draws-at-random", node, text)
        if node.attrs.get("mode") not in (UPSCALING, DOWNSCALING):
            return found.declined("dropout-mode", node, f"its mode {node.attrs.get('mode')} is unknown")
        if _is_scale(node, rate):
            text = "it scales by a rate that is computed"
            return found.declined("rate-not-constant", node, text) if rate is None else None
        return reason_to_stay(found, node, node.operand("x") or "")

    def apply(self, found: Found, editor: Editor) -> None:
        node = found.node
        rate = constant_number(found.view, node.operand("p"))
        if rate is None or not _is_scale(node, rate):
            let_pass(node, node, "x", editor)
            return
        # As Paddle's kernel does it, in float32.
        kept, source = float(np.float32(1) - np.float32(rate)), editor.source(node, "x")
        editor.rewire(node.out, editor.before(node, lambda: paddle.scale(source, kept)))
        editor.erase(node)


def _is_scale(node: Node, rate: Number | None) -> bool:
    return node.attrs.get("mode") == DOWNSCALING and rate != 0


def _others_draw(view: GraphView, node: Node) -> bool:
    # What stands inside branches and loops is not looked at, so they count as drawing.
    return any(is_drawing(n.op, n.attrs) for n in view.nodes if n.id != node.id)
