"""Spokeshave makes PaddlePaddle 3 models small and fast, and proves that they stayed right.

Importing it imports no Paddle; each verb does when it is first used.
"""

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.compress.calibrating import quantize
    from spokeshave.deploy.exporting import export
    from spokeshave.deploy.verifying import verify
    from spokeshave.program.loading import load
    from spokeshave.program.saving import save

__version__ = "0.1.0"

__getattr__, __dir__ = lazily(
    __name__,
    {
        "export": "spokeshave.deploy.exporting",
        "load": "spokeshave.program.loading",
        "quantize": "spokeshave.compress.calibrating",
        "save": "spokeshave.program.saving",
        "verify": "spokeshave.deploy.verifying",
    },
)

__all__ = ["export", "load", "quantize", "save", "verify"]
