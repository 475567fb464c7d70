"""How others call what Paddle calls otherwise, as data."""

from __future__ import annotations

from collections.abc import Iterable

# Ends of names in PyTorch's state dicts, and in Paddle's.
FROM_TORCH = ((".running_mean", "._mean"), (".running_var", "._variance"))
# What PyTorch counts and Paddle does not.
LEFT_BY_TORCH = ".num_batches_tracked"
# Put before all names by a net that was trained on several devices.
WRAPPER = "module."


def is_torch(names: Iterable[str]) -> bool:
    """Whether names are PyTorch's: its batch norms keep their statistics under names of its own."""
    ends = tuple(theirs for theirs, _ in FROM_TORCH)
    return any(name.endswith(ends) for name in names)


def respelt(name: str) -> str:
    """Paddle's name for a weight that PyTorch named."""
    bare = name[len(WRAPPER) :] if name.startswith(WRAPPER) else name
    for theirs, ours in FROM_TORCH:
        if bare.endswith(theirs):
            return bare[: -len(theirs)] + ours
    return bare
