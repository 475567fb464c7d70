"""What an export leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spokeshave.report import Reason


@dataclass(frozen=True)
class Artifact:
    """A file for an engine: where, its sha256, what it takes and gives, what could not be done."""

    path: Path
    digest: str
    size_bytes: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reasons: tuple[Reason, ...] = ()
