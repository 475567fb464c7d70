"""What a model consists of, as the writer sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spokeshave.engines.onnx._quantized import FakeQuant, IntWeight
from spokeshave.graph import Node


@dataclass(frozen=True)
class Survey:
    """The nodes that outputs need, in order, without what is a constant or a part of a quantizer.

    `quantized` and `weights` hold the quantizers by the value they make; `passed` maps the result of a
    node that does nothing to the value it hands through.
    """

    nodes: tuple[Node, ...]
    quantized: Mapping[str, FakeQuant]
    weights: Mapping[str, IntWeight]
    passed: Mapping[str, str]

    def root(self, value_id: str) -> str:
        """The value that this one is, behind nodes that do nothing."""
        while value_id in self.passed:
            value_id = self.passed[value_id]
        return value_id
