"""Whole flows: what the crafts do, one behind the other."""

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.compress.calibrating import Quantized, finish, freeze, prepare, quantize

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Quantized": "spokeshave.compress.calibrating",
        "finish": "spokeshave.compress.calibrating",
        "freeze": "spokeshave.compress.calibrating",
        "prepare": "spokeshave.compress.calibrating",
        "quantize": "spokeshave.compress.calibrating",
    },
)

__all__ = ["Quantized", "finish", "freeze", "prepare", "quantize"]
