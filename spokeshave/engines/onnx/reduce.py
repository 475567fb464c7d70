"""Means over axes."""

from __future__ import annotations

from typing import Any

from spokeshave.engines.onnx._constants import at
from spokeshave.engines.onnx._draft import Draft
from spokeshave.engines.onnx._emitter import Emitter
from spokeshave.graph import Node
from spokeshave.ops import reduce


def _mean(draft: Draft, node: Node) -> None:
    axes = draft.constants.integers(node, "axis")
    over: dict[str, Any] = {"axes": list(axes)} if axes else {}
    draft.put("ReduceMean", node, [draft.read(at(node, "x"))], keepdims=int(node.attrs["keepdim"]), **over)


MEAN = Emitter(reduce.MEAN.name, "ReduceMean.", _mean)
