"""Engines: a model written as ONNX as it stands, and runners that open and run it, all by one protocol.

Importing this package imports no engine; each name loads its module when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.engines.available import EngineInfo, cpu_features, engines
    from spokeshave.engines.onnx._writer import Written, check_writable, to_onnx
    from spokeshave.engines.onnxruntime import OnnxRunner
    from spokeshave.engines.paddle import PaddleRunner
    from spokeshave.engines.runner import InputSpec, Runner, check_feed

__all__ = [
    "EngineInfo",
    "InputSpec",
    "OnnxRunner",
    "PaddleRunner",
    "Runner",
    "Written",
    "check_feed",
    "check_writable",
    "cpu_features",
    "engines",
    "to_onnx",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "EngineInfo": "spokeshave.engines.available",
        "InputSpec": "spokeshave.engines.runner",
        "OnnxRunner": "spokeshave.engines.onnxruntime",
        "PaddleRunner": "spokeshave.engines.paddle",
        "Runner": "spokeshave.engines.runner",
        "Written": "spokeshave.engines.onnx._writer",
        "check_writable": "spokeshave.engines.onnx._writer",
        "check_feed": "spokeshave.engines.runner",
        "cpu_features": "spokeshave.engines.available",
        "engines": "spokeshave.engines.available",
        "to_onnx": "spokeshave.engines.onnx._writer",
    },
)
