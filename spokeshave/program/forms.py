"""The forms of a model: in test mode, cut down to what its outputs need; or its forward part, to train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spokeshave.errors.program import InputNotChosen
from spokeshave.ops.effects import target_of
from spokeshave.program.model import Model
from spokeshave.program.roles import training_ops
from spokeshave.seams import (
    Operation,
    Program,
    Value,
    building,
    erase,
    forget_schedule,
    input_ops,
    is_absent,
    new_input,
    operands_of,
    ops_within,
    set_test_mode,
    set_training_mode,
)


def for_inference(
    model: Model, outputs: Sequence[str] | None = None, inputs: Sequence[str] | None = None
) -> Model:
    """The model in test mode, without its training part and what no output needs; the scope is shared.

    `outputs` are names of outputs or ids of values, by default all outputs that the model has. `inputs` say
    where it begins, by default with all inputs that the outputs need: an inner value among them becomes an
    input of that name, and what made it goes. One that is needed and not chosen is an error.
    """
    names = [name for name, _ in model.view.outputs] if outputs is None else list(outputs)
    program, mapping = model.cloned_program()
    fetches = tuple((name, mapping.look_up(model.target(name))) for name in names)
    with building(program):
        if inputs is not None:
            cuts = {name: mapping.look_up(model.target(name)) for name in inputs}
            _begin_at(program, {name: value for name, value in cuts.items() if name not in model.view.inputs})
        _prune(program, [value for _, value in fetches], training_ops(program), set(inputs or ()))
        set_test_mode(program)
    if inputs is not None:
        _check_chosen(program, inputs)
    return replace(model, program=program, fetches=fetches)


def for_training(model: Model) -> Model:
    """The forward part in training mode, ready for a loss or an optimizer of its own; the scope is shared.

    Batch norms and dropout of a model in test mode train again. Where some train already, those in test mode
    were put there on purpose, and stay.
    """
    program, mapping = model.cloned_program()
    fetches = tuple((name, mapping.look_up(value)) for name, value in model.fetches)
    with building(program):
        for op in reversed(training_ops(program)):
            erase(op)
        set_training_mode(program)
        forget_schedule(program)
    return replace(model, program=program, fetches=fetches)


def _begin_at(program: Program, cuts: dict[str, Value]) -> None:
    """Puts a new input in the place of each of these inner values."""
    for name, value in cuts.items():
        made = new_input(name, value)
        for op, position in operands_of(value):
            op.operand(position).set_source(made)


def _check_chosen(program: Program, inputs: Sequence[str]) -> None:
    for name, value in input_ops(program).items():
        if name not in inputs and value.all_used_ops():
            raise InputNotChosen(input=name, chosen=", ".join(inputs) or "none")


def _prune(
    program: Program, targets: Sequence[Value], training: Sequence[Operation], kept_inputs: set[str]
) -> None:
    """Erases, in place, every op that no target needs, but for the inputs that are to stay.

    An op is needed as well that writes over what one behind it reads.
    """
    needed = {target.id for target in targets}
    needed.update(value.id for name, value in input_ops(program).items() if name in kept_inputs)
    marked, overwritten = {op.id() for op in training}, _overwritings(program)
    for op in reversed(list(program.global_block().ops)):
        made = (*op.results(), *overwritten.get(op.id(), ()))
        is_needed = any(not is_absent(v) and v.id in needed for v in made)
        if is_needed and op.id() not in marked:
            needed.update(v.id for v in _read_by(op))
        else:
            erase(op)


def _read_by(op: Operation) -> list[Value]:
    """What an op and the ops in its blocks read."""
    read = (v for each in (op, *ops_within(op)) for v in each.operands_source())
    return [v for v in read if not is_absent(v)]


def _overwritings(program: Program) -> dict[int, list[Value]]:
    """What each op and those in its blocks write over, by its id, but for state that they update."""
    ops = list(program.global_block().ops)
    parts = [(op, each) for op in ops for each in (op, *ops_within(op)) if each.name()]
    places = [(op, each, place) for op, each in parts if (place := target_of(each.name())) is not None]
    sources: dict[str, list[Value]] = {}
    for _, each, place in places:
        read = (v for i, v in enumerate(each.operands_source()) if i != place)
        sources.setdefault(each.operand_source(place).id, []).extend(read)
    found: dict[int, list[Value]] = {}
    for op, each, place in places:
        target = each.operand_source(place)
        if not (target.persistable and _is_made_of_itself(target, sources)):
            found.setdefault(op.id(), []).append(target)
    return found


def _is_made_of_itself(target: Value, sources: dict[str, list[Value]]) -> bool:
    """Whether what outlives a run is given a number made of the last one: that rests in test mode.

    `sources` are the values that are written over others, by the ids of these.
    """
    behind, seen = list(sources[target.id]), set()
    while behind:
        value = behind.pop()
        if is_absent(value) or value.id in seen:
            continue
        if value.is_same(target):
            return True
        seen.add(value.id)
        maker = value.get_defining_op()
        behind.extend(_read_by(maker) if maker is not None else ())
        behind.extend(sources.get(value.id, ()))
    return False
