"""What each engine wants quantized and how, as data; no engine is imported."""

from spokeshave.registry import Shelf, instances
from spokeshave.targets._placements import OUT, Placement, Rule, Target

TARGETS: Shelf[Target] = Shelf("target", "spokeshave.targets", instances(Target))

__all__ = ["OUT", "TARGETS", "Placement", "Rule", "Target"]
