"""From a view, a target and a choice to a plan: pure, needs no Paddle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from spokeshave.errors.quant import AlreadyQuantized, NothingToQuantize
from spokeshave.graph import GraphView, Node, block_of, roundings, unpackings
from spokeshave.graph.view import INNER
from spokeshave.numerics import Grid
from spokeshave.ops import OPS
from spokeshave.quant.moving import unchanged_source, unchanged_sources
from spokeshave.quant.signs import nonnegative_values
from spokeshave.quant.sites import Bias, QuantPlan, Site
from spokeshave.report import Reason
from spokeshave.select import Choice, choose
from spokeshave.targets import OUT, Placement, Rule, Target

FLOAT = "float32"


def plan(view: GraphView, target: Target, choice: Choice | None = None) -> QuantPlan:
    """Where a target wants rounding in this model: sites without scales yet, and why other nodes stay float.

    >>> from spokeshave.targets import TARGETS
    >>> plan(view, TARGETS["onnxruntime"]).sites  # doctest: +SKIP
    """
    _refuse_quantized(view)
    choice = choose(view) if choice is None else choice
    planner = _Planner(view, target)
    chosen = set(choice.taken)
    for node in view.nodes:
        if node.id in chosen:
            planner.place(node)
    excluded = [r for r in choice.left_out if target.of(view.node(r.subject).op)]
    left_out = (*excluded, *planner.refused, *planner.uncovered(chosen))
    if not planner.sites:
        raise NothingToQuantize(target=target.name, reasons=_counted(left_out))
    sites = planner.finished()
    return QuantPlan(target.name, sites, biases_between(view, sites), left_out)


def biases_between(view: GraphView, sites: Iterable[Site]) -> tuple[Bias, ...]:
    """The biases of all ops whose data and weight are both sites: engines add them as integers."""
    by_place = {(reader, s.value): s for s in sites for reader in s.readers}
    found = []
    for node in view.nodes:
        weight, data = _weighted_operands(node)
        places = [by_place.get((node.id, value)) for value in (data, weight)]
        bias = block_of(view, node).bias if all(places) else None
        if bias is not None and data and weight and len(view.value(bias.parameter).readers) == 1:
            found.append(Bias(bias.parameter, node.id, data, weight))
    return tuple(found)


def left_in_float(view: GraphView, sites: Iterable[Site], target: Target) -> tuple[Reason, ...]:
    """Why nodes of a trained model run in float: nothing they read is rounded, or not what leaves them."""
    sites = tuple(sites)
    rounded = {reader for site in sites for reader in site.readers}
    grids = {site.value: site.grid for site in sites}
    found: list[Reason] = []
    for node in view.nodes:
        if node.id in rounded:
            found += _unrounded_output(view, node, grids, target)
        elif _computes(view, node) and not _is_bias(view, node):
            found.append(Reason("op-runs-in-float", f"no quantizer was trained at this {node.op}", node.id))
    return tuple(found)


def _unrounded_output(
    view: GraphView, node: Node, grids: Mapping[str, Grid], target: Target
) -> Iterable[Reason]:
    """The reason of an op whose integer kernel gives integers, where nothing rounds what it gives."""
    block = block_of(view, node)
    grid = grids.get(block.out)
    if OPS[node.op].weight is None or not any(p.is_output for p in target.of(node.op)):
        return
    if grid is None:
        text = f"no quantizer was trained at {block.out}, so that {target.name} makes it in float"
        yield Reason("output-not-rounded", text, node.id)
    elif block.activation is not None and grid.low < 0:
        text = f"the grid of {block.out} is signed, so that {target.name} makes it in float"
        yield Reason("output-not-rounded", text, node.id)


def _computes(view: GraphView, node: Node) -> bool:
    """Whether a node in float is worth a word: not constants, moved values and fused activations."""
    facts = OPS.get(node.op)
    if facts is None:
        return True
    is_free = facts.is_activation or not facts.data or unchanged_source(view, node.out) is not None
    return not is_free and any(view.value(v).kind == INNER for _, v in node.outputs)


def _is_bias(view: GraphView, node: Node) -> bool:
    made_by = [view.maker(value) for _, value in node.inputs]
    biases = [block_of(view, m).bias for m in made_by if m is not None]
    return any(b is not None and b.add.id == node.id for b in biases)


def _weighted_operands(node: Node) -> tuple[str, str]:
    facts = OPS.get(node.op)
    if facts is None or facts.weight is None:
        return "", ""
    return node.operand(facts.weight) or "", node.operand(facts.data[0]) or ""


class _Planner:
    def __init__(self, view: GraphView, target: Target) -> None:
        self._view = view
        self._target = target
        self._nonnegative = nonnegative_values(view)
        self.sites: dict[str, Site] = {}
        self.refused: list[Reason] = []
        self._placed: set[str] = set()

    def place(self, node: Node) -> None:
        """Adds the sites that a target wants at a node, all of them or none."""
        placements = [p for p in self._target.of(node.op) if _holds(p, self._view, node)]
        if not placements:
            self._note_unplaced(node)
            return
        sites = [site for p in placements for site in self._sites(p, node)]
        reason = next((r for r in (self._refusal(site, node) for site in sites) if r), None)
        if reason is not None:
            self.refused.append(reason)
            return
        self._placed.add(node.id)
        for site in sites:
            self.sites.setdefault(site.id, site)
        out = block_of(self._view, node).out
        if any(p.is_output for p in placements) and self._view.is_output(out):
            text = f"{out} is an output and leaves the model unrounded, so that the engine makes it in float"
            self.refused.append(Reason("output-not-rounded", text, node.id))

    def finished(self) -> tuple[Site, ...]:
        """The sites in the order of the graph, each with its readers and the site whose scale it shares."""
        order = {value: i for i, value in enumerate(self._view.values)}
        sites = sorted(self.sites.values(), key=lambda s: order[s.value])
        return tuple(replace(s, readers=self._readers(s), like=self._like(s)) for s in sites)

    def uncovered(self, chosen: set[str]) -> list[Reason]:
        """Nodes that carry values and that the target has no placement for."""
        return [
            Reason("op-runs-in-float", f"{self._target.name} has no placement for {node.op}", node.id)
            for node in self._view.nodes
            if node.id in chosen
            and not self._target.of(node.op)
            and _computes(self._view, node)
            and not _is_bias(self._view, node)
        ]

    def _sites(self, placement: Placement, node: Node) -> Iterable[Site]:
        if placement.is_output:
            values: tuple[str, ...] = (block_of(self._view, node).out,)
        else:
            values = node.operands(placement.operand)
        return [
            self._site(placement, node, value)
            for value in values
            if not (placement.is_output and not self._view.value(value).readers)
        ]

    def _site(self, placement: Placement, node: Node, value: str) -> Site:
        is_weight = placement.per_channel and self._view.is_parameter(value)
        axis = OPS[node.op].out_axis(node.attrs) if is_weight else None
        return Site(value, node.id, placement.operand, self._grid(placement, value), (), is_weight, axis)

    def _grid(self, placement: Placement, value: str) -> Grid:
        is_nonnegative = placement.nonnegative is not None and value in self._nonnegative
        return placement.nonnegative if is_nonnegative and placement.nonnegative else placement.grid

    def _refusal(self, site: Site, node: Node) -> Reason | None:
        """Why a site cannot be, or None: its type, or a weight that others read otherwise."""
        value = self._view.value(site.value)
        if value.dtype != FLOAT:
            return Reason("not-float32", f"{site.operand} is {value.dtype}", node.id)
        known = self.sites.get(site.id)
        if known is not None and (known.axis, known.is_weight) != (site.axis, site.is_weight):
            return Reason("weight-shared", "another op reads the same weight along another axis", node.id)
        if site.is_weight and any(not self._target.of(r.op) for r in self._view.readers(site.value)):
            return Reason("weight-shared", "an op that stays float reads the same weight", node.id)
        return None

    def _readers(self, site: Site) -> tuple[str, ...]:
        """Who gets the rounded value: of what leaves a placed node all readers, else the placed ones."""
        readers = [node.id for node in self._view.readers(site.value)]
        return tuple(r for r in readers if site.operand == OUT or r in self._placed)

    def _like(self, site: Site) -> str | None:
        """The site whose values come out here unchanged, so that rounding again changes nothing."""
        sources = unchanged_sources(self._view, site.value)
        before = next((self.sites[source] for source in sources if source in self.sites), None)
        return before.id if before is not None and before.grid == site.grid else None

    def _note_unplaced(self, node: Node) -> None:
        if not self._target.of(node.op) or _is_bias(self._view, node):
            return
        why = {
            Rule.CONSTANT_WEIGHT: ("weight-not-constant", "its second operand is not a parameter"),
            Rule.BETWEEN_ACTIVATIONS: ("adds-a-constant", "one side of it is a parameter"),
        }[self._target.of(node.op)[0].rule]
        self.refused.append(Reason(why[0], why[1], node.id))


def _refuse_quantized(view: GraphView) -> None:
    sites = [r.value for r in roundings(view)] + [u.integers for u in unpackings(view)]
    if sites:
        raise AlreadyQuantized(site=sites[0])


def _holds(placement: Placement, view: GraphView, node: Node) -> bool:
    if placement.rule is Rule.CONSTANT_WEIGHT:
        weight = OPS[node.op].weight
        return view.is_parameter(node.operand(weight) if weight else None)
    if placement.rule is Rule.BETWEEN_ACTIVATIONS:
        return not any(_comes_from_parameter(view, value) for _, value in node.inputs)
    return True


def _comes_from_parameter(view: GraphView, value: str) -> bool:
    """Whether a value is a parameter or one in another shape."""
    return any(view.is_parameter(source) for source in (value, *unchanged_sources(view, value)))


def _counted(reasons: Iterable[Reason]) -> str:
    counts = Counter(r.code for r in reasons)
    return ", ".join(f"{count} x {code}" for code, count in sorted(counts.items())) or "it has no operators"
