"""A model cut down to what its outputs need, in test mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spokeshave.program.model import Model
from spokeshave.program.roles import training_ops
from spokeshave.seams import Operation, Program, Value, building, clone, erase, is_absent, set_test_mode


def for_inference(model: Model, outputs: Sequence[str] | None = None) -> Model:
    """The model in test mode, without its training part and what no output needs; the scope is shared.

    `outputs` are names of outputs or ids of values, by default all outputs that the model has.
    """
    names = [name for name, _ in model.view.outputs] if outputs is None else list(outputs)
    program, mapping = clone(model.program)
    fetches = tuple((name, mapping.look_up(model.target(name))) for name in names)
    with building(program):
        _prune(program, [value for _, value in fetches])
        set_test_mode(program)
    return replace(model, program=program, fetches=fetches)


def _prune(program: Program, targets: Sequence[Value]) -> None:
    """Erases, in place, every op that no target needs."""
    needed = {target.id for target in targets}
    training = {op.id() for op in training_ops(program)}
    for op in reversed(list(program.global_block().ops)):
        is_needed = any(not is_absent(v) and v.id in needed for v in op.results())
        if is_needed and op.id() not in training:
            needed.update(v.id for v in op.operands_source() if not is_absent(v))
            needed.update(_read_inside(op))
        else:
            erase(op)


def _read_inside(op: Operation) -> set[str]:
    return {v.id for block in op.blocks() for o in block.ops for v in o.operands_source() if not is_absent(v)}
