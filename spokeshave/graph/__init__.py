"""The frozen picture of a model: nodes and values without any framework behind them."""

from spokeshave.graph.blocks import Bias, Block, block_of
from spokeshave.graph.checks import check, problems
from spokeshave.graph.costs import Cost, NodeCost, cost
from spokeshave.graph.pattern import Match, Step, chain_to, match
from spokeshave.graph.rounding import Rounding, Unpacking, bias_roundings, roundings, unpackings
from spokeshave.graph.text import diff, to_text
from spokeshave.graph.view import GraphView, Node, Value, ViewBuilder

__all__ = [
    "Bias",
    "Block",
    "Cost",
    "GraphView",
    "Match",
    "Node",
    "NodeCost",
    "Rounding",
    "Step",
    "Unpacking",
    "Value",
    "ViewBuilder",
    "bias_roundings",
    "block_of",
    "chain_to",
    "check",
    "cost",
    "diff",
    "match",
    "problems",
    "roundings",
    "to_text",
    "unpackings",
]
