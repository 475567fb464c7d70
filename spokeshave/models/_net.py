"""The shelf of nets: one file each, found by the `Net` row that it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spokeshave.registry import Shelf, instances


@dataclass(frozen=True)
class Net:
    """A net by name: the layer class that builds it, and the [channels, height, width] it is usually fed."""

    name: str
    build: Callable[..., Any]
    input_shape: tuple[int, int, int]
    doc: str


NETS: Shelf[Net] = Shelf("net", "spokeshave.models", instances(Net))


def create(name: str, **settings: Any) -> Any:
    """The net of that name as a `paddle.nn.Layer` with fresh weights; `settings` go to its class.

    Imports Paddle. `NETS.names()` lists the names.
    """
    return NETS[name].build(**settings)
