"""Quantizers: how a scale is had while training, one a file."""

from spokeshave.quant.quantizers._quantizer import Quantizer, Remember, Scale
from spokeshave.registry import Shelf, made

QUANTIZERS: Shelf[Quantizer] = Shelf("quantizer", "spokeshave.quant.quantizers", made(Quantizer))

__all__ = ["QUANTIZERS", "Quantizer", "Remember", "Scale"]
