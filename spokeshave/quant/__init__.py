"""Quantization: where to round, by how much, in training and after it."""

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.quant.applying import apply, pack
    from spokeshave.quant.freezing import freeze
    from spokeshave.quant.observers import OBSERVERS
    from spokeshave.quant.observing import observe
    from spokeshave.quant.planning import plan
    from spokeshave.quant.quantizers import QUANTIZERS
    from spokeshave.quant.sites import QuantPlan, Ranges, Site
    from spokeshave.quant.transforming import transform

__getattr__, __dir__ = lazily(
    __name__,
    {
        "OBSERVERS": "spokeshave.quant.observers",
        "QUANTIZERS": "spokeshave.quant.quantizers",
        "QuantPlan": "spokeshave.quant.sites",
        "Ranges": "spokeshave.quant.sites",
        "Site": "spokeshave.quant.sites",
        "apply": "spokeshave.quant.applying",
        "freeze": "spokeshave.quant.freezing",
        "observe": "spokeshave.quant.observing",
        "pack": "spokeshave.quant.applying",
        "plan": "spokeshave.quant.planning",
        "transform": "spokeshave.quant.transforming",
    },
)

__all__ = [
    "OBSERVERS",
    "QUANTIZERS",
    "QuantPlan",
    "Ranges",
    "Site",
    "apply",
    "freeze",
    "observe",
    "pack",
    "plan",
    "transform",
]
