"""The names that PaddleSlim users know: `from spokeshave import slim`, not `import paddleslim as slim`.

A thin front: it translates arguments and calls the same verbs as everything else.

Importing it calls `spokeshave.compat.enable()`, which changes Paddle itself for this process: values have
names, programs are cloned for test, and what a script holds of one program is fetched from and saved with the
programs made of it. `spokeshave.compat.disable()` takes all of that back.
"""

from spokeshave import compat
from spokeshave.slim import models, quant

compat.enable()

__all__ = ["models", "quant"]
