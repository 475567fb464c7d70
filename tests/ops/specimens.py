"""Every specimen: for each row of the op table at least one, and more where attributes matter."""

from __future__ import annotations

from dataclasses import replace

from paddle_trials import Specimen
from specimens_pointwise import ACTIVATIONS, ARITHMETIC, LOGIC, LOSSES
from specimens_shapes import COMPUTED, CONSTANTS, MOVED, POOLS, QUANTIZERS, REDUCED, RESIZED
from specimens_weighted import NORMS, WEIGHTED

from spokeshave.ops import OPS

_BUILT = (
    *WEIGHTED,
    *NORMS,
    *ACTIVATIONS,
    *ARITHMETIC,
    *LOGIC,
    *LOSSES,
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


_FIRST = {specimen.op: specimen for specimen in reversed(_BUILT)}
SPECIMENS = (
    *_BUILT,
    # No call makes the ops that write over their first operand: static mode makes the plain ones of them.
    *(_in_place(s) for op, s in _FIRST.items() if f"{op}_" in OPS and f"{op}_" not in _FIRST),
)
