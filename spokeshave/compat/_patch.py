"""One attribute of Paddle's that is replaced for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ABSENT: Any = object()


@dataclass(frozen=True)
class Patch:
    """What `make` makes of the attribute that a class or module of Paddle's has, or of `ABSENT`."""

    owner: Any
    name: str
    make: Callable[[Any], Any]

    def now(self) -> Any:
        """The very object that the owner has under that name, or `ABSENT`."""
        return vars(self.owner).get(self.name, ABSENT)

    def put(self, replacement: Any) -> None:
        """Gives the owner this object under that name, or takes the name away."""
        if replacement is ABSENT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, replacement)
