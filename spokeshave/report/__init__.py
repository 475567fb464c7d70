"""What was done to a model, what was left alone and why: as data, as text, as JSON."""

from spokeshave.report._report import Cell, Reason, Report, Row
from spokeshave.report._text import render, table

__all__ = ["Cell", "Reason", "Report", "Row", "render", "table"]
