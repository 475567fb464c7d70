"""Judging a model: against labels, against another model, against the clock."""

from spokeshave.measure.clocks import Timing, clock
from spokeshave.measure.comparison import Comparer, Comparison, OutputComparison, compare
from spokeshave.measure.metrics import accuracy, correct

__all__ = ["Comparer", "Comparison", "OutputComparison", "Timing", "accuracy", "clock", "compare", "correct"]
