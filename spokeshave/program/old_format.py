"""A program of Paddle 2 or fluid as a PIR program, ready to be rewritten and trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spokeshave.errors.engines import InputUnknown
from spokeshave.errors.formats import OperatorNotServed
from spokeshave.errors.program import NotAModel
from spokeshave.program.program_desc import check_old
from spokeshave.program.respelling import in_todays_names, respelt
from spokeshave.program.trodden import TRODDEN
from spokeshave.program.weights import Declared, Leeway
from spokeshave.registry import nearest
from spokeshave.seams import (
    REFUSALS,
    Program,
    Value,
    all_ops,
    dtype_name,
    name_values,
    parameter_ops,
    words_of,
)
from spokeshave.seams.old_programs import (
    FEED,
    FETCH,
    NAMESCOPE,
    NotOld,
    OldOp,
    OldProgram,
    name_scope,
    parse_old,
    replace_feeds,
    set_trainable,
    translate,
)
from spokeshave.seams.rehearsal import fate_of

# Inputs through which ops that quantize read numbers of the net; all their others are scales.
_NUMBERS = frozenset({"X", "Input"})
_SET_VALUE = "pd_op.set_value"
_DEQUANTIZE = "dequantize_linear"
_FLOATS = ("float", "bfloat")


@dataclass(frozen=True)
class Translated:
    """A PIR program made of an old one, and what each name of the old one stands for in it."""

    program: Program
    values: Mapping[str, Value]


def read_old(content: bytes, path: str) -> OldProgram:
    """The program of a `.pdmodel` or `__model__` file, checked; it is not yet Paddle's."""
    try:
        program = in_todays_names(parse_old(content))
    except NotOld as error:
        raise NotAModel(path=path, found=f"no program of Paddle 2 either ({error})") from error
    check_old(program, path)
    return program


def old_parameters(program: OldProgram) -> Declared:
    """Shape and type of all that an old program keeps in its weights."""
    return {v.name: (v.shape, v.dtype) for v in program.blocks[0].variables if v.is_parameter}


def with_shapes(program: OldProgram, shapes: Mapping[str, Sequence[int]], path: str) -> OldProgram:
    """The program with other shapes for some of its inputs; the shapes of all else follow when it is read."""
    main = program.blocks[0]
    inputs = [name for op in main.ops if op.type == FEED for name in op.makes]
    for name in shapes:
        if name not in inputs:
            raise InputUnknown(input=name, nearest=nearest(name, inputs))
    variables = tuple(replace(v, shape=tuple(shapes.get(v.name, v.shape))) for v in main.variables)
    changed = replace(program, blocks=(replace(main, variables=variables), *program.blocks[1:]))
    if shapes:
        check_old(changed, path)
    return changed


def old_leeway(program: OldProgram) -> Leeway:
    """Which parameters of an old program may be stored otherwise than it declares them.

    PaddleSlim stores weights that are dequantized as the first thing as int8, and scales in any shape.
    """
    ops = [op for block in program.blocks for op in block.ops if "quantize" in op.type]
    integers = (name for op in ops if op.type == _DEQUANTIZE for name in op.inputs["X"])
    return Leeway(frozenset(integers), frozenset(name for op in ops for name in _scales(op)))


def old_outputs(program: OldProgram) -> tuple[str, ...]:
    """The names of what an old program gives, in order."""
    fetches = sorted(
        (op for op in program.blocks[0].ops if op.type == FETCH), key=lambda op: op.told("col", 0)
    )
    return tuple(name for op in fetches for name in op.reads)


def to_pir(old: OldProgram, path: str, stored: Mapping[str, str]) -> Translated:
    """The program in PIR: inputs are data, weights can be trained, ops know their name scopes.

    `stored` are the element types that parameters have in their file, where these are not as declared.
    """
    spelt = respelt(old, stored)
    _rehearse(spelt, path)
    try:
        program, values = translate(spelt)
    except (*REFUSALS, SystemError) as error:
        raise OperatorNotServed(path=path, detail=words_of(error)) from error
    if loses_numbers(program):
        raise OperatorNotServed(path=path, detail="the numbers of a set_value are lost on the way.")
    # The values that were fed are gone with the ops that fed them.
    values.update(replace_feeds(program))
    name_values((value, name) for name, value in values.items() if value.initialized())
    _set_trainable(old, program)
    _keep_scopes(old, values)
    return Translated(program, values)


def loses_numbers(program: Program) -> bool:
    """Whether numbers that are written over a slice are not there: Paddle reads what lies in their place.

    It may lose them when it translates a program of Paddle 2, and writes them so to files.
    """
    attrs = (op.attrs() for op in all_ops(program) if op.name().startswith(_SET_VALUE))
    return any("values" in found and not found["values"] for found in attrs)


def _rehearse(program: OldProgram, path: str) -> None:
    """Tries in another process what has ops whose rules for shapes may take wrong arguments for right."""
    if all(op.type in TRODDEN for block in program.blocks for op in block.ops):
        return
    fate = fate_of(lambda: translate(program))
    if fate:
        raise OperatorNotServed(path=path, detail=f"translating it ends the process ({fate}).")


def _set_trainable(old: OldProgram, program: Program) -> None:
    settled = set(_not_trained(old))
    for name, op in parameter_ops(program).items():
        value = op.result(0)
        set_trainable(value, name not in settled and dtype_name(value).startswith(_FLOATS))


def _not_trained(old: OldProgram) -> Iterator[str]:
    """What ops keep for themselves (batch norm statistics, scales), and weights that are integers."""
    for op in (op for block in old.blocks for op in block.ops):
        yield from set(op.makes)
    leeway = old_leeway(old)
    yield from leeway.integers | leeway.scales


def _scales(op: OldOp) -> Iterator[str]:
    """What an op that quantizes reads beside the numbers of the net."""
    return (name for slot, names in op.inputs.items() if slot not in _NUMBERS for name in names)


def _keep_scopes(old: OldProgram, values: Mapping[str, Value]) -> None:
    for op in old.blocks[0].ops:
        scope = op.told(NAMESCOPE, "/")
        if isinstance(scope, str) and scope not in ("", "/"):
            _keep_scope(op, scope, values)


def _keep_scope(op: OldOp, scope: str, values: Mapping[str, Value]) -> None:
    for name in op.makes:
        if name in values and values[name].initialized():
            name_scope(values[name], scope)
