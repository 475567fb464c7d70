"""The parts of a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

import msgspec

Cell = Union[str, int, float, bool, None]


@dataclass(frozen=True)
class Reason:
    """Why something was left out: a code to filter by, a sentence to read, and what it is about."""

    code: str
    text: str
    subject: str


@dataclass(frozen=True)
class Row:
    """One line of a report: what it is about, what happened to it, and figures with units in their names."""

    subject: str
    did: str
    facts: dict[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Rows of what was done and reasons for what was not; `facts` holds the totals.

    >>> Report("Fold batch norm", rows=(Row("conv2d_0", "folded"),)).title
    'Fold batch norm'
    """

    title: str
    facts: dict[str, Cell] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    reasons: tuple[Reason, ...] = ()
    version: int = 1

    def joined(self, *others: Report) -> Report:
        """This report with the facts, rows and reasons of others behind its own."""
        parts = (self, *others)
        return Report(
            self.title,
            {name: cell for part in parts for name, cell in part.facts.items()},
            tuple(row for part in parts for row in part.rows),
            tuple(reason for part in parts for reason in part.reasons),
        )

    def to_json(self) -> bytes:
        """The report as indented JSON; the same report gives the same bytes."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"

    @staticmethod
    def from_json(text: bytes) -> Report:
        """The report that `to_json` wrote."""
        return msgspec.json.decode(text, type=Report)
