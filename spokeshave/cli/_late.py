"""What commands need from modules that import Paddle: each loads when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.cli._training import save_layer, steps, untrained
    from spokeshave.program.loading import find_files
    from spokeshave.program.shaping import shaped

__getattr__, __dir__ = lazily(
    __name__,
    {
        "find_files": "spokeshave.program.loading",
        "shaped": "spokeshave.program.shaping",
        "save_layer": "spokeshave.cli._training",
        "steps": "spokeshave.cli._training",
        "untrained": "spokeshave.cli._training",
    },
)

__all__ = ["find_files", "save_layer", "shaped", "steps", "untrained"]
