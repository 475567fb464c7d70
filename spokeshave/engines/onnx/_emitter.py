"""Emitters: how one operator of Paddle is written as ONNX; one file per family, found by the shelf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spokeshave.engines.onnx._constants import Constants
from spokeshave.engines.onnx._draft import Draft
from spokeshave.graph import Node
from spokeshave.registry import Shelf, instances


def _never(constants: Constants, node: Node) -> str | None:
    return None


@dataclass(frozen=True)
class Emitter:
    """Writes the nodes of one Paddle operator into a draft.

    `passes` gives the operand that a node hands through unchanged, if it does nothing; such a node
    is not written. `gives_all` says that results other than the first can be read as well. `doc` says what
    the operator becomes.
    """

    name: str
    doc: str
    emit: Callable[[Draft, Node], None]
    passes: Callable[[Constants, Node], str | None] = _never
    gives_all: bool = False


EMITTERS: Shelf[Emitter] = Shelf("onnx emitter", "spokeshave.engines.onnx", instances(Emitter))
