"""A model as ONNX, written with `onnx` alone: `to_onnx`, and one file of emitters per family of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.engines.onnx._emitter import EMITTERS, Emitter
    from spokeshave.engines.onnx._writer import Written, check_writable, to_onnx

__all__ = ["EMITTERS", "Emitter", "Written", "check_writable", "to_onnx"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "EMITTERS": "spokeshave.engines.onnx._emitter",
        "Emitter": "spokeshave.engines.onnx._emitter",
        "Written": "spokeshave.engines.onnx._writer",
        "check_writable": "spokeshave.engines.onnx._writer",
        "to_onnx": "spokeshave.engines.onnx._writer",
    },
)
