"""`QuantPlan`: the values that are rounded, on which grid, by which scale. It is data: edit it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import msgspec
import numpy as np

from spokeshave.errors.quant import PlanDoesNotFit, PlanNotReadable, RangeMissing
from spokeshave.files import write_atomically
from spokeshave.numerics import Affine, Grid, symmetric
from spokeshave.numerics.affine import SMALLEST_SCALE
from spokeshave.report import Cell, Reason, Report, Row

Ranges = Mapping[str, tuple[float, ...]]
INT32_HIGH = 2**31 - 1
VERSION = 1
ALL_ZERO, BIAS_OVERFLOW = "all-zero", "bias-overflow"


@dataclass(frozen=True)
class Site:
    """One value that is rounded: a weight (along `axis`, one scale per channel) or an activation (one scale).

    `node` and `operand` say for whose sake; `readers` are the nodes that get the rounded value. `like`
    names another site whose scale this one shares, because the same numbers pass through both.
    """

    value: str
    node: str
    operand: str
    grid: Grid
    readers: tuple[str, ...]
    is_weight: bool = False
    axis: Optional[int] = None  # noqa: UP045 - msgspec evaluates it
    like: Optional[str] = None  # noqa: UP045
    affine: Optional[Affine] = None  # noqa: UP045

    @property
    def id(self) -> str:
        """The name of the site: that of its value, as no value is rounded twice."""
        return self.value


@dataclass(frozen=True)
class Bias:
    """A bias that engines add as int32: rounded to steps of the scale of `input` times that of `weight`."""

    value: str
    node: str
    input: str
    weight: str


@dataclass(frozen=True)
class QuantPlan:
    """All sites for one target, the biases between them, and a reason for each node that stays in float.

    >>> QuantPlan("onnxruntime").is_settled
    True
    """

    target: str
    sites: tuple[Site, ...] = ()
    biases: tuple[Bias, ...] = ()
    left_out: tuple[Reason, ...] = ()
    version: int = VERSION

    @property
    def weights(self) -> tuple[Site, ...]:
        """The sites on parameters."""
        return tuple(s for s in self.sites if s.is_weight)

    @property
    def activations(self) -> tuple[Site, ...]:
        """The sites on what flows between nodes."""
        return tuple(s for s in self.sites if not s.is_weight)

    @property
    def is_settled(self) -> bool:
        """Whether every site has its scale."""
        return all(site.affine is not None for site in self.sites)

    def settled(self, ranges: Ranges) -> QuantPlan:
        """This plan with a scale at every site, from the largest magnitudes that were seen there."""
        self.check()
        affines: dict[str, Affine] = {}
        reasons = [r for r in self.left_out if r.code not in (ALL_ZERO, BIAS_OVERFLOW)]
        for site in self.sites:
            affines[site.id], empty = _affine_of(site, ranges)
            if empty:
                reasons.append(nothing_but_zero(site, empty))
        affines = {site.id: affines[_root(site, self)] for site in self.sites}
        for bias in self.biases:
            affines[bias.weight], raised = _wide_enough(bias, affines, ranges)
            reasons += raised
        sites = tuple(replace(s, affine=affines[s.id]) for s in self.sites)
        return replace(self, sites=sites, left_out=tuple(reasons))

    def check(self) -> None:
        """Refuses a plan that contradicts itself, as an edit by hand may leave it; needs no model."""
        for site, found in _faults(self):
            raise PlanDoesNotFit(site=site, found=found)

    def bias_steps(self, bias: Bias) -> np.ndarray:
        """The steps of a bias, one for each channel: what one unit of the int32 sum stands for."""
        affines = {site.id: site.affine for site in self.sites}
        return _product(affines[bias.input], affines[bias.weight])

    def report(self) -> Report:
        """The plan as a report: a row for each site."""
        rows = tuple(Row(s.id, "weight" if s.is_weight else "activation", _facts(s)) for s in self.sites)
        totals = {"weights_quantized": len(self.weights), "activations_quantized": len(self.activations)}
        totals["biases_quantized"] = len(self.biases)
        return Report("Quantization plan", {"target": self.target, **totals}, rows, self.left_out)

    def to_json(self) -> bytes:
        """The plan as indented JSON; the same plan gives the same bytes, and the scales are exact."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"

    def save(self, path: str | Path) -> None:
        """Writes the plan as JSON, whole or not at all."""
        write_atomically(Path(path), self.to_json())

    @staticmethod
    def load(path: str | Path) -> QuantPlan:
        """Reads a plan that `save` wrote, or a hand has edited."""
        try:
            text = Path(path).read_bytes()
            plan = msgspec.json.decode(text, type=QuantPlan)
        except (OSError, msgspec.MsgspecError, ValueError) as error:
            found = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise PlanNotReadable(path=str(path), found=found.rstrip(".")) from error
        faults = [
            f"{f} - at `$.{w}`" for w, f in _misspelt(msgspec.json.decode(text), msgspec.to_builtins(plan))
        ]
        faults += [f"{found} - at the site {site!r}" for site, found in _faults(plan)]
        for found in faults:
            raise PlanNotReadable(path=str(path), found=found)
        return plan


def _misspelt(given: Any, known: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Fields of a file that no plan has: passing over one would leave its default in force unseen."""
    if isinstance(given, dict):
        yield from ((f"{where}{name}", "there is no such field") for name in given if name not in known)
        for name in [name for name in given if name in known]:
            yield from _misspelt(given[name], known[name], f"{where}{name}.")
    elif isinstance(given, list):
        for i, (one, other) in enumerate(zip(given, known)):
            yield from _misspelt(one, other, f"{where.rstrip('.')}[{i}].")


def _faults(plan: QuantPlan) -> Iterator[tuple[str, str]]:
    """What contradicts itself in a plan: the site, and what was found there."""
    by_id = {site.id: site for site in plan.sites}
    if plan.version != VERSION:
        yield "version", f"the plan has version {plan.version}; version {VERSION} is read here"
    if len(by_id) != len(plan.sites):
        twice = next(s.id for i, s in enumerate(plan.sites) if s.id in {other.id for other in plan.sites[:i]})
        yield twice, "it is there twice"
    for site in plan.sites:
        yield from ((site.id, found) for found in (_like_fault(site, by_id), _affine_fault(site)) if found)
    for bias in plan.biases:
        missing = [s for s in (bias.input, bias.weight) if s not in by_id]
        yield from ((bias.value, f"its bias counts in the scale of {s!r}, which is no site") for s in missing)


def _like_fault(site: Site, by_id: Mapping[str, Site]) -> str:
    seen, at = {site.id}, site
    while at.like is not None:
        if at.like not in by_id:
            return f"it shares the scale of {at.like!r}, which is no site"
        at = by_id[at.like]
        if at.id in seen:
            return "it shares its own scale"
        seen.add(at.id)
    return "" if at.grid == site.grid else f"it shares the scale of {at.id!r}, which has another grid"


def _affine_fault(site: Site) -> str:
    affine = site.affine
    if affine is None:
        return ""
    if affine.grid != site.grid:
        return f"its grid is {site.grid.describe()}, that of its scale {affine.grid.describe()}"
    if affine.axis != site.axis:
        return f"its axis is {site.axis}, that of its scale {affine.axis}"
    if not site.is_weight and len(affine.scale) != 1:
        return f"an activation has one scale; it has {len(affine.scale)}"
    # The zero of a weight would have to be multiplied with every input; no engine's kernel does.
    return "a weight has the zero point 0" if site.is_weight and any(affine.zero) else ""


def _product(one: Affine | None, other: Affine | None) -> np.ndarray:
    scales = [np.array(a.scale if a else (np.nan,), np.float32) for a in (one, other)]
    return scales[0] * scales[1]


def _wide_enough(bias: Bias, affines: Mapping[str, Affine], ranges: Ranges) -> tuple[Affine, list[Reason]]:
    """The scales of a weight, raised where the bias would not fit int32, or the step of the sum float32."""
    weight = affines[bias.weight]
    if bias.value not in ranges:
        raise RangeMissing(site=bias.value)
    bounds = np.array(ranges[bias.value], np.float64)
    least = np.maximum(bounds / INT32_HIGH, SMALLEST_SCALE) / affines[bias.input].scale[0]
    scales = np.broadcast_to(np.array(weight.scale), least.shape) if weight.axis is not None else weight.scale
    least = least if weight.axis is not None else least.max(initial=0.0, keepdims=True)
    short = np.flatnonzero(least > np.array(scales))
    if not short.size:
        return weight, []
    raised = np.maximum(np.array(scales), least * (1 + 1e-6))
    text = f"channels {', '.join(map(str, short))}: the bias needs a larger scale to fit int32"
    return replace(weight, scale=tuple(raised.tolist())), [Reason(BIAS_OVERFLOW, text, bias.weight)]


def _affine_of(site: Site, ranges: Ranges) -> tuple[Affine, tuple[int, ...]]:
    if site.id not in ranges:
        raise RangeMissing(site=site.id)
    bound = ranges[site.id]
    return symmetric(bound if site.axis is not None else bound[0], site.grid, site.axis)


def _root(site: Site, plan: QuantPlan) -> str:
    """The site at the start of a chain of `like`."""
    by_id = {s.id: s for s in plan.sites}
    while site.like is not None:
        site = by_id[site.like]
    return site.id


def nothing_but_zero(site: Site, channels: tuple[int, ...]) -> Reason:
    """The reason owed for channels whose scale could not come from their values."""
    where = f"channels {', '.join(map(str, channels))}" if site.axis is not None else "the whole value"
    return Reason(ALL_ZERO, f"{where} held nothing but zero; the scale is 1.0", site.id)


def _facts(site: Site) -> dict[str, Cell]:
    scales = site.affine.scale if site.affine else ()
    shown = (
        None if not scales else scales[0] if len(scales) == 1 else f"{min(scales):.3g} … {max(scales):.3g}"
    )
    return {
        "for": f"{site.node}.{site.operand}",
        "grid": site.grid.describe(),
        "axis": site.axis,
        "scale": shown,
    }
