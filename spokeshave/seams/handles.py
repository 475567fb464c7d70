"""Names for Paddle's objects, so that signatures say what they take; Paddle ships no types for them."""

from typing import Any

Program = Any
Operation = Any
Value = Any
Scope = Any
