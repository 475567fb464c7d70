"""What must hold in a program of Paddle 2 or fluid before Paddle may read it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from spokeshave.errors.formats import UnknownOperator
from spokeshave.errors.program import NotAModel
from spokeshave.registry import nearest
from spokeshave.seams.old_programs import (
    ARRAY,
    FEED,
    FETCH,
    ROWS,
    TENSOR,
    OldBlock,
    OldOp,
    OldProgram,
    OldVariable,
    Signature,
    Slot,
    known_old_ops,
    signature,
)

# Kinds of variable that a program which computes something has.
_KINDS = frozenset({TENSOR, ROWS, ARRAY, "FEED_MINIBATCH", "FETCH_LIST", "STEP_SCOPES", "RAW"})
_DTYPES = frozenset({"bool", "int8", "uint8", "int16", "int32", "int64"})
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "complex64", "complex128"})
# As many axes as a tensor of Paddle has, and as many numbers as 64 bits can count the bytes of.
_MOST_AXES, _MOST_NUMBERS = 9, 1 << 56
# A kind of attribute that Paddle takes for another.
_TAKEN_FOR = {
    ("INT", "LONG"),
    ("INT", "BOOLEAN"),
    ("BOOLEAN", "INT"),
    ("INT", "FLOAT"),
    ("INTS", "LONGS"),
    ("FLOAT", "FLOAT64"),
    ("FLOATS", "FLOAT64S"),
}
_NAME_LENGTH = 4096
# How many numbers the attributes of a window have.
_OF_WINDOW = {"strides": (2,), "dilations": (2,), "ksize": (2,), "paddings": (2, 4)}

Scopes = Mapping[str, OldVariable]


def check_old(program: OldProgram, path: str) -> None:
    """Refuses a program whose parts do not hang together, and one with operators that Paddle does not know.

    Paddle's translator takes much of that and ends the process later. What it checks itself is left to it.
    """
    _check_known(program, path)
    fault = next(_faults(program), None)
    if fault is not None:
        raise NotAModel(path=path, found=fault)


def _check_known(program: OldProgram, path: str) -> None:
    types = dict.fromkeys(op.type for block in program.blocks for op in block.ops)
    training = next((op for op in types if _trains(op)), None)
    if training is not None:
        raise NotAModel(path=path, found=f"it is a program that trains (with {training}), not one to run")
    unknown = [op for op in types if signature(op) is None]
    if not unknown:
        return
    near = nearest(unknown[0], known_old_ops())
    raise UnknownOperator(path=path, ops=", ".join(unknown), nearest=near)


def _trains(op: str) -> bool:
    """Whether an op is a gradient, or one that changes parameters by gradients."""
    known = signature(op)
    if known is None:
        return op.endswith("_grad")
    slots = {name.lower().rstrip("s") for name in known.inputs}
    return {"param", "grad"} <= slots


def _faults(program: OldProgram) -> Iterator[str]:
    yield from _faults_of_blocks(program)
    for block in program.blocks:
        fed = {name for op in block.ops if op.type == FEED for name in op.makes}
        for v in block.variables:
            yield from (f"variable {v.name!r} {fault}" for fault in _faults_of(v, block))
            # Paddle 2 declares what it worked out: an open batch times two channels is -2. No input is such.
            if v.name in fed and min(v.shape, default=0) < -1:
                yield f"variable {v.name!r} has the shape {list(v.shape)}"
        names = Counter(v.name for v in block.variables)
        yield from (f"variable {name!r} is declared twice" for name, count in names.items() if count > 1)
    yield from _faults_of_columns(program.blocks[0])
    yield from _Walk(program).faults()


def _faults_of_blocks(program: OldProgram) -> Iterator[str]:
    if not program.blocks or not program.blocks[0].ops:
        yield "it has no operators"
    for place, block in enumerate(program.blocks):
        wanted = range(-1, 0) if place == 0 else range(place)
        if block.number != place or block.parent not in wanted:
            yield f"block {place} is called {block.number} and lies in {block.parent}"


def _faults_of(variable: OldVariable, block: OldBlock) -> Iterator[str]:
    if not 0 < len(variable.name) < _NAME_LENGTH or "\0" in variable.name:
        yield "has no name that a variable can have"
    if variable.kind not in _KINDS:
        yield f"is of the kind {variable.kind.lower()}, which Paddle 3 does not run"
    if variable.kind not in (TENSOR, ROWS, ARRAY):
        return
    if variable.dtype not in _DTYPES | _FLOATS:
        yield f"has the element type {variable.dtype}"
    if len(variable.shape) > _MOST_AXES:
        yield f"has the shape {list(variable.shape)}"
    if math.prod(map(abs, variable.shape)) > _MOST_NUMBERS:
        yield f"has the shape {list(variable.shape)}"
    if not 0 <= variable.sequence_levels < _MOST_AXES:
        yield f"has {variable.sequence_levels} levels of sequences"
    if variable.is_parameter and (block.number or min(variable.shape, default=1) < 1):
        yield f"is kept in a file, in block {block.number} and with the shape {list(variable.shape)}"


def _faults_of_columns(block: OldBlock) -> Iterator[str]:
    for kind in (FEED, FETCH):
        columns = [op.told("col", 0) for op in block.ops if op.type == kind]
        if len(set(columns)) < len(columns) or any(c not in range(len(block.ops)) for c in columns):
            yield f"its {kind} operators are numbered {columns}"
    if not any(op.type == FETCH for op in block.ops):
        yield "it has no outputs: no fetch operators"


class _Walk:
    """Goes through the blocks as a run would, and knows what has been made so far."""

    def __init__(self, program: OldProgram) -> None:
        self._blocks = program.blocks
        self._entered: set[int] = set()

    def faults(self) -> Iterator[str]:
        yield from self._in_block(0, {}, set())

    def _in_block(self, number: int, outside: Scopes, made: set[str]) -> Iterator[str]:
        self._entered.add(number)
        block = self._blocks[number]
        own = {v.name: v for v in block.variables}
        declared = {**outside, **own}
        # A variable of this block hides one of the same name outside it.
        made = (made - own.keys()) | {v.name for v in block.variables if v.is_persistable}
        for place, op in enumerate(block.ops):
            where = f"operator {place} of block {number} ({op.type})"
            for fault in self._in_op(op, number, declared, made):
                yield f"{where} {fault}"
            made.update(op.makes)

    def _in_op(self, op: OldOp, block: int, declared: Scopes, made: set[str]) -> Iterator[str]:
        known = signature(op.type)
        if known is not None:
            yield from _faults_of_slots(op, known)
            yield from _faults_of_attributes(op, known)
            yield from _faults_of_counts(op)
        yield from (f"uses {n!r}, which nobody declares" for n in (*op.reads, *op.makes) if n not in declared)
        yield from (f"reads {name!r}, which nothing before it makes" for name in op.reads if name not in made)
        if op.type in (FEED, FETCH) and block:
            yield "stands inside another"
        for number in _inner_blocks(op):
            if number not in range(1, len(self._blocks)) or number in self._entered:
                yield f"holds block {number}, which is not there or stands elsewhere"
            elif self._blocks[number].parent != block:
                yield f"holds block {number}, which lies in block {self._blocks[number].parent}"
            else:
                yield from self._in_block(number, declared, made)


def _inner_blocks(op: OldOp) -> Iterator[int]:
    for attribute in op.attributes.values():
        if attribute.kind == "BLOCK":
            yield attribute.value
        elif attribute.kind == "BLOCKS":
            yield from attribute.value


def _faults_of_slots(op: OldOp, known: Signature) -> Iterator[str]:
    yield from _faults_between(op.inputs, known.inputs, "input")
    yield from _faults_between(op.outputs, known.outputs, "output")
    twice = [name for name, count in Counter(op.makes).items() if count > 1]
    yield from (f"makes {name!r} twice" for name in twice)


def _faults_between(
    found: Mapping[str, tuple[str, ...]], slots: Mapping[str, Slot], what: str
) -> Iterator[str]:
    for name, arguments in found.items():
        if arguments and name not in slots:
            yield f"has no {what} {name!r}"
        elif len(arguments) > 1 and not slots[name].is_list:
            yield f"has {len(arguments)} variables as its {what} {name!r}"
    # Outputs that nobody reads may have been cut off.
    needed: Iterable[Slot] = slots.values() if what == "input" else ()
    yield from (
        f"lacks its {what} {s.name!r}" for s in needed if not s.may_be_absent and not found.get(s.name)
    )


def _faults_of_attributes(op: OldOp, known: Signature) -> Iterator[str]:
    for name, attribute in op.attributes.items():
        wanted = known.attributes.get(name, attribute.kind)
        if attribute.kind != wanted and (attribute.kind, wanted) not in _TAKEN_FOR:
            yield f"has the attribute {name!r} as {attribute.kind.lower()}, not {wanted.lower()}"
    for name, kind in known.attributes.items():
        if kind == "BLOCK" and name not in op.attributes:
            yield f"lacks its attribute {name!r}"


def _faults_of_counts(op: OldOp) -> Iterator[str]:
    """Counts that must agree, where Paddle relies on it."""
    rule = _COUNTS.get(op.type)
    return iter(()) if rule is None else rule(op)


def _faults_of_selection(op: OldOp) -> Iterator[str]:
    if len(op.inputs.get("X", ())) != 2:
        yield "does not select between two"


def _faults_of_split(op: OldOp) -> Iterator[str]:
    made, sections = len(op.outputs.get("Out", ())), op.told("sections", ())
    for wanted in (op.told("num", 0) or len(sections), len(op.inputs.get("SectionsTensorList", ())) or made):
        if wanted != made:
            yield f"splits into {wanted} and gives {made}"


def _faults_of_window(op: OldOp) -> Iterator[str]:
    """A window has one number for each of two axes, and one or two for their padding."""
    for name, counts in _OF_WINDOW.items():
        if name in op.attributes and len(op.told(name, ())) not in counts:
            yield f"has {len(op.told(name, ()))} {name}"
    if op.told("groups", 1) < 1:
        yield f"has {op.told('groups', 1)} groups"


def _faults_of_slice(op: OldOp) -> Iterator[str]:
    """Where a slice begins and ends is one number for each axis, unless a tensor says it."""
    axes = len(op.told("axes", ()))
    for told, tensor in (("starts", "StartsTensor"), ("ends", "EndsTensor")):
        if not op.inputs.get(tensor) and len(op.told(told, ())) != axes:
            yield f"has {len(op.told(told, ()))} {told} for {axes} axes"
    if len(op.told("infer_flags", ())) not in (0, axes):
        yield f"has {len(op.told('infer_flags', ()))} flags for {axes} axes"


_COUNTS: Mapping[str, Callable[[OldOp], Iterator[str]]] = {
    "select_input": _faults_of_selection,
    "slice": _faults_of_slice,
    "split": _faults_of_split,
    **dict.fromkeys(
        ("conv2d", "depthwise_conv2d", "conv2d_transpose", "depthwise_conv2d_transpose", "pool2d"),
        _faults_of_window,
    ),
}
