"""The classes of Paddle's objects, for `isinstance` and for what `compat` gives back to them."""

from paddle import pir

PROGRAM, BLOCK, VALUE = pir.Program, pir.Block, pir.Value
