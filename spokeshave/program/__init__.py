"""Everything that touches Paddle: load, rewrite and save models."""

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.program.inference import for_inference
    from spokeshave.program.loading import load
    from spokeshave.program.model import Model
    from spokeshave.program.rewriting import PASSES, Editor, Found, PassResult, Rewrite, rewrite
    from spokeshave.program.saving import save
    from spokeshave.program.sequences import run_sequences

__getattr__, __dir__ = lazily(
    __name__,
    {
        "PASSES": "spokeshave.program.rewriting",
        "Editor": "spokeshave.program.rewriting",
        "Found": "spokeshave.program.rewriting",
        "Model": "spokeshave.program.model",
        "PassResult": "spokeshave.program.rewriting",
        "Rewrite": "spokeshave.program.rewriting",
        "for_inference": "spokeshave.program.inference",
        "load": "spokeshave.program.loading",
        "rewrite": "spokeshave.program.rewriting",
        "run_sequences": "spokeshave.program.sequences",
        "save": "spokeshave.program.saving",
    },
)

__all__ = [
    "PASSES",
    "Editor",
    "Found",
    "Model",
    "PassResult",
    "Rewrite",
    "for_inference",
    "load",
    "rewrite",
    "run_sequences",
    "save",
]
