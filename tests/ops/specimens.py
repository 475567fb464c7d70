"""Every specimen: for each row of the op table at least one, and more where attributes matter."""

from __future__ import annotations

from dataclasses import replace

from paddle_trials import Specimen
from specimens_pointwise import ACTIVATIONS, ARITHMETIC, LOGIC
from specimens_shapes import COMPUTED, CONSTANTS, MOVED, POOLS, QUANTIZERS, REDUCED, RESIZED
from specimens_weighted import NORMS, WEIGHTED

from spokeshave.ops import OPS

_BUILT = (
    *WEIGHTED,
    *NORMS,
    *ACTIVATIONS,
    *ARITHMETIC,
    *LOGIC,
    *POOLS,
    *RESIZED,
    *MOVED,
    *COMPUTED,
    *CONSTANTS,
    *REDUCED,
    *QUANTIZERS,
)


def _in_place(specimen: Specimen) -> Specimen:
    return replace(specimen, op=f"{specimen.op}_", renamed=specimen.op)


_KNOWN = {specimen.op for specimen in _BUILT}
SPECIMENS = (
    *_BUILT,
    # No call makes the ops that write over their first operand: static mode makes the plain ones of them.
    *(_in_place(s) for s in _BUILT if f"{s.op}_" in OPS and f"{s.op}_" not in _KNOWN),
)
