"""Ops that do more than give a result: write into an operand, draw at random, speak to the outside."""

from __future__ import annotations

from spokeshave.ops._facts import Attrs
from spokeshave.ops.elementwise import DROPOUT
from spokeshave.ops.norm import BATCH_NORM, PLAIN_BATCH_NORM, SYNC_BATCH_NORM
from spokeshave.ops.shape import ASSIGN_OUT

DIALECT = "pd_op."
SHARE_DATA, ASSIGN_VALUE = "pd_op.share_data_", "pd_op.assign_value_"
# Batch norms, by the names that they have in programs of today and of Paddle 2.
BATCH_NORMS = (BATCH_NORM.name, PLAIN_BATCH_NORM.name, SYNC_BATCH_NORM.name)
# The operands of a batch norm that training updates, beside the gradients.
STATISTICS = ("mean", "variance")
CONTROL_FLOW = tuple(f"pd_op.{op}" for op in ("if", "while", "pylayer", "cuda_graph"))

_RANDOM = frozenset(
    f"pd_op.{op}"
    for op in [
        "bernoulli",
        "binomial",
        "class_center_sample",
        "dirichlet",
        "fused_bias_dropout_residual_layer_norm",
        "fused_dropout_add",
        "gaussian",
        "graph_khop_sampler",
        "graph_sample_neighbors",
        "multinomial",
        "poisson",
        "randint",
        "random",
        "random_routing",
        "randperm",
        "rrelu",
        "standard_gamma",
        "tdm_sampler",
        "truncated_gaussian_random",
        "uniform",
        "uniform_random_batch_size_like",
        "weighted_sample_neighbors",
    ]
)
_OUTWARD = frozenset(
    f"pd_op.{op}"
    for op in [
        "all_gather",
        "all_reduce",
        "all_to_all",
        "array_write_",
        "assert",
        "barrier",
        "broadcast",
        "c_allreduce_sum",
        "c_concat",
        "c_identity",
        "data",
        "feed",
        "fetch",
        "load",
        "mp_allreduce_sum",
        "print",
        "py_func",
        "recv_v2",
        "reduce_scatter",
        "save",
        "send_v2",
        "select_input",
        "select_output",
        "set_parameter",
        "set_persistable_value",
        "shadow_feed",
        "share_var",
        "sync_calc_stream",
    ]
)


def is_drawing(op: str, attrs: Attrs) -> bool:
    """Whether an op draws at random; one that goes shifts what the others draw."""
    if op == DROPOUT.name:
        return not attrs.get("is_test")
    drops = any("dropout" in name and bool(value) for name, value in attrs.items())
    return op in _RANDOM or (drops and attrs.get("is_test") is False)


def is_pure(op: str, attrs: Attrs) -> bool:
    """Whether an op does nothing but give its results, as far as its name tells.

    An op of another dialect than Paddle's own, a custom one, may do anything.
    """
    is_known = op.startswith(DIALECT) and not op.endswith("_") and op not in CONTROL_FLOW
    return is_known and op not in _OUTWARD and not is_drawing(op, attrs)


def updates(op: str, operand: str) -> bool:
    """Whether what an op reads at an operand is state that it brings up to date, such as a running mean."""
    if op in BATCH_NORMS:
        return operand in STATISTICS
    return op == ASSIGN_OUT.name and operand == "output"


def target_of(op: str) -> int | None:
    """The number of the operand that an op writes over in test mode, whoever reads its result; None if none.

    Which one Paddle does not say: it is the first, but for the one that assigns to its second.
    """
    if not op.endswith("_") or op in BATCH_NORMS or op == SHARE_DATA:
        return None
    return 1 if op == ASSIGN_OUT.name else 0


def overwrites(op: str, operand: str) -> bool:
    """Whether an op writes, or may write, over what it reads at an operand.

    Paddle marks ops that write with an underscore; what the blocks of a branch or loop do is not looked at.
    """
    if op in BATCH_NORMS:
        return updates(op, operand)
    return op in CONTROL_FLOW or (op.endswith("_") and op != SHARE_DATA)
