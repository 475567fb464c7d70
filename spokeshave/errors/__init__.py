"""Everything that Spokeshave raises on purpose; one file per room, one class per failure."""

from spokeshave.errors._base import InternalError, SpokeshaveError, UserError, fact_names

__all__ = ["InternalError", "SpokeshaveError", "UserError", "fact_names"]
