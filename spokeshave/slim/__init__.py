"""The names that PaddleSlim users know: `from spokeshave import slim`, not `import paddleslim as slim`.

A thin front: it translates arguments and calls the same verbs as everything else. Importing it enables
`spokeshave.compat`, so that values of a program can be fetched from the programs made of it.
"""

from spokeshave import compat
from spokeshave.slim import models, quant

compat.enable()

__all__ = ["models", "quant"]
