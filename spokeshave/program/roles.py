"""Which ops of a program compute its outputs, and which train it."""

from __future__ import annotations

from spokeshave.seams import Operation, Program, is_absent

GRADIENT, SEED = "_grad", "pd_op.full_like"
# In-place updates that are part of the forward pass while training.
FORWARD_UPDATES = ("pd_op.batch_norm_", "pd_op.sync_batch_norm_", "pd_op.assign_out_")


def training_ops(program: Program) -> list[Operation]:
    """The backward and optimizer ops, in order: gradients, what seeds them, and all that reads one."""
    ops = list(program.global_block().ops)
    tainted: set[str] = set()
    training = [op for op in ops if _reads_gradient(op, tainted)]
    marked = {_key(op) for op in training}
    for op in reversed(ops):
        if _key(op) not in marked and _only_feeds(op, marked):
            marked.add(_key(op))
    return [op for op in ops if _key(op) in marked]


def forward_ops(program: Program) -> list[Operation]:
    """The ops that are left when those that train are taken away, in order."""
    marked = {_key(op) for op in training_ops(program)}
    return [op for op in program.global_block().ops if _key(op) not in marked]


def has_backward(program: Program) -> bool:
    """Whether a program has gradients in it."""
    return any(op.name().endswith((GRADIENT, GRADIENT + "_")) for op in program.global_block().ops)


def _reads_gradient(op: Operation, tainted: set[str]) -> bool:
    """Whether an op is a gradient or reads what one made; its results are then tainted too."""
    sources = [v.id for v in op.operands_source() if not is_absent(v)]
    is_gradient = op.name().endswith((GRADIENT, GRADIENT + "_"))
    if not is_gradient and not any(s in tainted for s in sources):
        return False
    tainted.update(v.id for v in op.results() if not is_absent(v))
    return True


def _only_feeds(op: Operation, training: set[int]) -> bool:
    """Whether an op serves the backward pass alone: a seed, or arithmetic on parameters such as weight decay."""
    readers = [r for v in op.results() if not is_absent(v) for r in v.all_used_ops()]
    if not readers or any(_key(r) not in training for r in readers):
        return False
    if op.name() in ("builtin.parameter", "pd_op.data", "pd_op.feed"):
        return op.name() == "pd_op.data" and op.attrs().get("persistable") == [True]
    makers = [v.get_defining_op() for v in op.operands_source() if not is_absent(v)]
    is_served = all(m.name() == "builtin.parameter" or _key(m) in training for m in makers)
    return bool(op.name() == SEED or is_served)


def _key(op: Operation) -> int:
    return int(op.id())
