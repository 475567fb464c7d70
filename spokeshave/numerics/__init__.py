"""The arithmetic of quantization, defined once, in NumPy alone."""

from spokeshave.numerics.affine import Affine, decode, encode, snap
from spokeshave.numerics.bounds import asymmetric, magnitude, symmetric
from spokeshave.numerics.grid import INT8, INT8_NARROW, UINT8, Grid

__all__ = [
    "INT8",
    "INT8_NARROW",
    "UINT8",
    "Affine",
    "Grid",
    "asymmetric",
    "decode",
    "encode",
    "magnitude",
    "snap",
    "symmetric",
]
