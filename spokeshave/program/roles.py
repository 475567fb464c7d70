"""Which ops of a program compute its outputs, and which train it."""

from __future__ import annotations

from collections.abc import Iterable

from spokeshave.seams import DATA_OPS, Operation, Program, is_absent

GRADIENT, SEED = "_grad", "pd_op.full_like"


def training_ops(program: Program) -> list[Operation]:
    """The backward and optimizer ops, in order: gradients, what seeds them, and all that reads one."""
    ops = list(program.global_block().ops)
    if not any(_is_gradient(op) for op in ops):
        return []
    tainted: set[str] = set()
    training = [op for op in ops if _reads_gradient(op, tainted)]
    marked = {_key(op) for op in training}
    settled = _made_of_parameters(ops)
    for op in reversed(ops):
        if _key(op) not in marked and _only_feeds(op, marked, settled):
            marked.add(_key(op))
    return [op for op in ops if _key(op) in marked]


def forward_ops(program: Program) -> list[Operation]:
    """The ops that are left when those that train are taken away, in order."""
    marked = {_key(op) for op in training_ops(program)}
    ops = list(program.global_block().ops)
    return [op for op in ops if _key(op) not in marked] if marked else ops


def has_backward(program: Program) -> bool:
    """Whether a program has gradients in it."""
    return any(_is_gradient(op) for op in program.global_block().ops)


def _is_gradient(op: Operation) -> bool:
    return bool(op.name().endswith((GRADIENT, f"{GRADIENT}_")))


def _reads_gradient(op: Operation, tainted: set[str]) -> bool:
    """Whether an op is a gradient or reads what one made; its results are then tainted too."""
    sources = [v.id for v in op.operands_source() if not is_absent(v)]
    if not _is_gradient(op) and not any(s in tainted for s in sources):
        return False
    tainted.update(v.id for v in op.results() if not is_absent(v))
    return True


def _made_of_parameters(ops: Iterable[Operation]) -> set[int]:
    """Parameters and constants, and all that is computed from these alone."""
    settled: set[int] = set()
    for op in ops:
        makers = [v.get_defining_op() for v in op.operands_source() if not is_absent(v)]
        if op.name() not in DATA_OPS and all(_key(maker) in settled for maker in makers):
            settled.add(_key(op))
    return settled


def _only_feeds(op: Operation, training: set[int], settled: set[int]) -> bool:
    """Whether an op serves the backward pass alone.

    A seed, arithmetic on parameters (weight decay), a learning rate, what an optimizer remembers.
    """
    readers = [r for v in op.results() if not is_absent(v) for r in v.all_used_ops()]
    if not readers or any(_key(r) not in training for r in readers):
        return False
    if op.name() in DATA_OPS:
        return bool(op.attrs().get("persistable") == [True])
    makers = (v.get_defining_op() for v in op.operands_source() if not is_absent(v))
    return bool(op.name() == SEED or all(_key(m) in settled or _key(m) in training for m in makers))


def _key(op: Operation) -> int:
    return int(op.id())
