"""Everything that touches Paddle: load, rewrite and save models."""

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.program.capturing import capture
    from spokeshave.program.forms import for_inference, for_training
    from spokeshave.program.layering import ProgramLayer, as_layer
    from spokeshave.program.loading import load
    from spokeshave.program.model import Model
    from spokeshave.program.rewriting import PASSES, Editor, Found, Pass, PassResult, Rewrite, rewrite
    from spokeshave.program.saving import save
    from spokeshave.program.sequences import run_sequences
    from spokeshave.program.shaping import shaped
    from spokeshave.program.training import Training, append_training, optimizer_like, training_of

__getattr__, __dir__ = lazily(
    __name__,
    {
        "PASSES": "spokeshave.program.rewriting",
        "Editor": "spokeshave.program.rewriting",
        "Found": "spokeshave.program.rewriting",
        "Model": "spokeshave.program.model",
        "Pass": "spokeshave.program.rewriting",
        "PassResult": "spokeshave.program.rewriting",
        "Rewrite": "spokeshave.program.rewriting",
        "ProgramLayer": "spokeshave.program.layering",
        "Training": "spokeshave.program.training",
        "append_training": "spokeshave.program.training",
        "as_layer": "spokeshave.program.layering",
        "capture": "spokeshave.program.capturing",
        "for_inference": "spokeshave.program.forms",
        "for_training": "spokeshave.program.forms",
        "load": "spokeshave.program.loading",
        "optimizer_like": "spokeshave.program.training",
        "rewrite": "spokeshave.program.rewriting",
        "run_sequences": "spokeshave.program.sequences",
        "save": "spokeshave.program.saving",
        "shaped": "spokeshave.program.shaping",
        "training_of": "spokeshave.program.training",
    },
)

__all__ = [
    "PASSES",
    "Editor",
    "Found",
    "Model",
    "Pass",
    "PassResult",
    "ProgramLayer",
    "Rewrite",
    "Training",
    "append_training",
    "as_layer",
    "capture",
    "for_inference",
    "for_training",
    "load",
    "optimizer_like",
    "rewrite",
    "run_sequences",
    "save",
    "shaped",
    "training_of",
]
