"""Reports as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from spokeshave.report._report import Cell, Reason, Report, Row

SHOWN_SUBJECTS = 6


def render(report: Report) -> str:
    """The report as text: totals, rows as a table, and reasons grouped by code."""
    parts = [report.title, _facts(report), _rows(report), _reasons(report.reasons)]
    return "\n\n".join(part for part in parts if part)


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Columns that line up: text to the left, numbers to the right.

    >>> print(table(("op", "count"), [("conv2d", 2), ("relu", 13)]))
    op      count
    conv2d      2
    relu       13
    """
    cells = [[_show(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(header), *cells]) for i in range(len(header))]
    is_number = [bool(rows) and all(isinstance(r[i], (int, float)) for r in rows) for i in range(len(header))]
    lines = [_line(row, widths, is_number) for row in [list(header), *cells]]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    padded = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, is_number))
    return "  ".join(padded).rstrip()


def _show(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return "-" if cell is None else str(cell)


def _facts(report: Report) -> str:
    return "\n".join(f"  {name.replace('_', ' ')}: {_show(cell)}" for name, cell in report.facts.items())


def _rows(report: Report) -> str:
    """A table for each run of rows that tell the same facts."""
    tables = [_table_of(list(rows)) for _, rows in groupby(report.rows, key=lambda row: tuple(row.facts))]
    return "\n\n".join(tables)


def _table_of(rows: Sequence[Row]) -> str:
    columns = [name for name in rows[0].facts if any(row.facts[name] is not None for row in rows)]
    header = ("subject", "did", *(name.replace("_", " ") for name in columns))
    return table(header, [(row.subject, row.did, *(row.facts[name] for name in columns)) for row in rows])


def _reasons(reasons: Sequence[Reason]) -> str:
    if not reasons:
        return ""
    ordered = sorted(reasons, key=lambda r: (r.code, r.text))
    lines = ["Left out:"]
    for (code, text), group in groupby(ordered, key=lambda r: (r.code, r.text)):
        subjects = [r.subject for r in group]
        more = f" and {len(subjects) - SHOWN_SUBJECTS} more" if len(subjects) > SHOWN_SUBJECTS else ""
        lines.append(f"  {len(subjects):3d}  {code}: {text} ({', '.join(subjects[:SHOWN_SUBJECTS])}{more})")
    return "\n".join(lines)
