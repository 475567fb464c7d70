"""Every specimen: for each row of the op table at least one, and more where attributes matter."""

from __future__ import annotations

from specimens_pointwise import ACTIVATIONS, ARITHMETIC, LOGIC
from specimens_shapes import CONSTANTS, MOVED, POOLS, QUANTIZERS, REDUCED, RESIZED
from specimens_weighted import NORMS, WEIGHTED

SPECIMENS = (
    *WEIGHTED,
    *NORMS,
    *ACTIVATIONS,
    *ARITHMETIC,
    *LOGIC,
    *POOLS,
    *RESIZED,
    *MOVED,
    *CONSTANTS,
    *REDUCED,
    *QUANTIZERS,
)
