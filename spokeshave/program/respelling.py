"""Programs of Paddle 2 and fluid in the operators that Paddle 3 translates right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from spokeshave.seams.old_programs import (
    TENSOR,
    OldAttribute,
    OldBlock,
    OldOp,
    OldProgram,
    OldVariable,
    Slot,
    dtype_number,
    signature,
)

# What Paddle writes where an op has no variable to read or to write.
_NOBODY = "@EMPTY@"
# Ops of fluid, and the ones that took their place with the same arguments.
_SUCCESSORS = {
    "reshape": "reshape2",
    "transpose": "transpose2",
    "squeeze": "squeeze2",
    "unsqueeze": "unsqueeze2",
    "flatten": "flatten2",
    "sync_batch_norm": "batch_norm",
}

# Paddle 2 says that it may be absent, and saves without it; Paddle 3 does not train without it.
_TRAINING_WANTS = frozenset({("batch_norm", "ReserveSpace")})

Variables = Mapping[str, OldVariable]
Slots = Mapping[str, tuple[str, ...]]


def in_todays_names(program: OldProgram) -> OldProgram:
    """The program with ops that Paddle 3 does not know any more under the names of those it does."""
    return replace(program, blocks=tuple(replace(b, ops=tuple(map(_renamed, b.ops))) for b in program.blocks))


def _renamed(op: OldOp) -> OldOp:
    named = replace(op, type=_SUCCESSORS[op.type]) if op.type in _SUCCESSORS else op
    if _NOBODY not in (*op.reads, *op.makes):
        return named
    return replace(named, inputs=_present(op.inputs), outputs=_present(op.outputs))


def _present(slots: Slots) -> Slots:
    return {slot: tuple(name for name in names if name != _NOBODY) for slot, names in slots.items()}


def respelt(program: OldProgram, stored: Mapping[str, str]) -> OldProgram:
    """The same computation, in operators that come out right when they are translated.

    `stored` are the element types that parameters have in their file, where these are not as declared.
    Every op gets the outputs that only gradients read and that were cut off with them: a translated
    dropout without its mask ends the process when it is differentiated. A variable of the main block is
    made once, and a parameter is changed by ops only that read it, too.
    """
    inner = frozenset(_made_inside(program))
    blocks: list[OldBlock] = []
    scopes: dict[int, Variables] = {-1: {}}
    renamed: dict[str, str] = {}
    for block in (_with_types(b, stored) for b in program.blocks):
        known = {**scopes[block.parent], **{v.name: v for v in block.variables}}
        writer = _Writer(known, block.number, renamed, inner)
        for op in block.ops:
            writer.write(op)
        scopes[block.number] = known
        blocks.append(replace(block, variables=(*block.variables, *writer.variables), ops=tuple(writer.ops)))
    return replace(program, blocks=tuple(blocks))


def _made_inside(program: OldProgram) -> Iterable[str]:
    """Variables that branches and loops write, which are the same inside and outside."""
    holders = (op for block in program.blocks for op in block.ops if _holds_block(op))
    inner = (op for block in program.blocks[1:] for op in block.ops)
    return (name for op in chain(holders, inner) for name in op.makes)


def _holds_block(op: OldOp) -> bool:
    return any(attribute.kind in ("BLOCK", "BLOCKS") for attribute in op.attributes.values())


def _with_types(block: OldBlock, stored: Mapping[str, str]) -> OldBlock:
    variables = tuple(replace(v, dtype=stored.get(v.name, v.dtype)) for v in block.variables)
    return replace(block, variables=variables)


class _Writer:
    """Writes the ops of a block anew, with the variables that they need beside those that are there."""

    def __init__(self, known: Variables, block: int, renamed: dict[str, str], inner: Collection[str]) -> None:
        self._known, self._block = dict(known), block
        self._renamed, self._inner = renamed, inner
        self._made: set[str] = set()
        self.variables: list[OldVariable] = []
        self.ops: list[OldOp] = []

    def write(self, op: OldOp) -> None:
        """Writes an op of the program."""
        kept = set(op.reads) | {name for name in op.makes if not self._is_made_anew(name)}
        op = replace(op, inputs=_mapped(op.inputs, self._renamed))
        fresh = {
            name: self.new(name) for name in op.makes if name not in kept or self._is_passed_on(name, op)
        }
        self._renamed.update(fresh)
        op = replace(op, outputs=_mapped(op.outputs, fresh))
        self._made.update(op.makes)
        spell = _SPELLINGS.get(op.type)
        for written in spell(self, op) if spell else [op]:
            self.ops.append(self._whole(written))

    def variable(self, name: str) -> OldVariable:
        """The variable of that name."""
        return self._known[name]

    def new(self, like: str, **changed: Any) -> str:
        """The name of a new variable, which is like a known one but for what is said."""
        name = f"{like}@{self._block}.{len(self.variables)}"
        variable = replace(self._known[like], name=name, is_persistable=False, **changed)
        self.variables.append(variable)
        self._known[name] = variable
        return name

    def stands_for(self, old: str, new: str) -> None:
        """From here on the new variable is read where the old one was."""
        self._renamed.update({name: new for name, now in self._renamed.items() if now == old})
        self._renamed[old] = new

    def _is_made_anew(self, name: str) -> bool:
        """Whether a variable has a value already, which the one that an op makes replaces."""
        variable = self._known[name]
        replaced = variable.is_persistable or name in self._made
        return replaced and variable.kind == TENSOR and not self._block and name not in self._inner

    def _is_passed_on(self, name: str, op: OldOp) -> bool:
        """Whether an op replaces a variable that it reads and that is not kept from run to run."""
        return self._is_made_anew(name) and not self._known[name].is_persistable

    def _whole(self, op: OldOp) -> OldOp:
        """The op with a variable for every output that it must have."""
        known = signature(op.type)
        slots = () if known is None else known.outputs.values()
        absent = [s.name for s in slots if _is_wanted(op, s) and not op.outputs.get(s.name)]
        like = next(iter((*op.makes, *op.reads)), None)
        made = {name: (self.new(like),) for name in absent if like is not None}
        return replace(op, outputs={**op.outputs, **made})


def _is_wanted(op: OldOp, slot: Slot) -> bool:
    """Whether an op must have an output: those that Paddle says, and what a batch norm in training fills."""
    return not slot.is_list and (not slot.may_be_absent or (op.type, slot.name) in _TRAINING_WANTS)


def _mapped(slots: Slots, names: Mapping[str, str]) -> Slots:
    return {slot: tuple(names.get(name, name) for name in given) for slot, given in slots.items()}


def _flatten(writer: _Writer, op: OldOp) -> list[OldOp]:
    """`flatten2` takes the axes before one together, and those from it on; Paddle 3 knows single ranges."""
    (x,), (out,), axis = op.inputs["X"], op.outputs["Out"], op.told("axis", 1)
    if axis < 1:
        told = {"shape": OldAttribute("INTS", (1, -1))}
        return [OldOp("reshape2", {"X": (x,)}, {"Out": (out,)}, told)]
    written = []
    if axis > 1:
        front = writer.new(x)
        written.append(_flat(x, front, 0, axis - 1))
        x = front
    return [*written, _flat(x, out, 1, -1)]


def _flat(x: str, out: str, start: int, stop: int) -> OldOp:
    """Takes a range of axes together."""
    told = {"start_axis": OldAttribute("INT", start), "stop_axis": OldAttribute("INT", stop)}
    return OldOp("flatten_contiguous_range", {"X": (x,)}, {"Out": (out,)}, told)


def _mul(writer: _Writer, op: OldOp) -> list[OldOp]:
    """`mul` takes the axes of `X` and of `Y` together into two each; Paddle translates it for fixed sizes."""
    (x,), (y,) = op.inputs["X"], op.inputs["Y"]
    x_axes, y_axes = op.told("x_num_col_dims", 1), op.told("y_num_col_dims", 1)
    rank = len(writer.variable(x).shape)
    if len(writer.variable(y).shape) != 2 or y_axes != 1 or not 0 < x_axes < rank:
        return [op]
    if x_axes == rank - 1:
        return [_like(op, "matmul_v2", {"X": (x,), "Y": (y,)})]
    flat = writer.new(x)
    return [_flat(x, flat, x_axes, -1), _like(op, "matmul_v2", {"X": (flat,), "Y": (y,)})]


def _lookup(writer: _Writer, op: OldOp) -> list[OldOp]:
    """`lookup_table` wants a last axis of length 1 behind the numbers that it looks up, the later op none."""
    (ids,) = op.inputs["Ids"]
    out = writer.new(ids)
    told = {"axes": OldAttribute("INTS", (-1,))}
    squeeze = OldOp("squeeze2", {"X": (ids,)}, {"Out": (out,)}, told)
    return [squeeze, _like(op, "lookup_table_v2", {**op.inputs, "Ids": (out,)})]


def _quantize(writer: _Writer, op: OldOp) -> list[OldOp]:
    """An observer lets everything through; after training it has nothing left to do."""
    if not op.told("only_observer", False):
        return [op]
    (x,), (y,) = op.inputs["X"], op.outputs["Y"]
    writer.stands_for(y, x)
    return []


def _dequantize(writer: _Writer, op: OldOp) -> list[OldOp]:
    """`x * scale / qmax`, in plain ops: Paddle 3 runs a translated `dequantize_linear` as if it quantized."""
    if op.told("only_observer", False):
        return _quantize(writer, op)
    (x,), (y,), (scale,) = op.inputs["X"], op.outputs["Y"], op.inputs["Scale"]
    dtype = writer.variable(scale).dtype
    written = []
    if writer.variable(x).dtype != dtype:
        cast = writer.new(x, dtype=dtype)
        numbers = {"in_dtype": writer.variable(x).dtype, "out_dtype": dtype}
        told = {name: OldAttribute("INT", dtype_number(value)) for name, value in numbers.items()}
        written.append(OldOp("cast", {"X": (x,)}, {"Out": (cast,)}, told))
        x = cast
    axis = {"axis": OldAttribute("INT", op.told("quant_axis", -1))}
    largest, scaled = writer.new(scale, shape=(1,)), writer.new(y)
    filled = {
        "shape": OldAttribute("LONGS", (1,)),
        "dtype": OldAttribute("INT", dtype_number(dtype)),
        "value": OldAttribute("FLOAT", float(op.told("qmax", 127))),
    }
    return [
        *written,
        OldOp("fill_constant", {}, {"Out": (largest,)}, filled),
        OldOp("elementwise_mul", {"X": (x,), "Y": (scale,)}, {"Out": (scaled,)}, axis),
        OldOp("elementwise_div", {"X": (scaled,), "Y": (largest,)}, {"Out": (y,)}),
    ]


def _set_value(writer: _Writer, op: OldOp) -> list[OldOp]:
    """A number that is written over a slice comes from a variable: Paddle 3 loses it where the op is told."""
    numbers, (x,) = op.told("values", ()), op.inputs["Input"]
    if op.inputs.get("ValueTensor") or len(numbers) != 1:
        return [op]
    number, dtype = numbers[0], writer.variable(x).dtype
    told = number.r if number.HasField("r") else number.i if number.HasField("i") else number.b
    if float(np.float32(told)) != told and not dtype.startswith("float"):
        return [op]  # the op that fills takes a float
    filled = {
        "shape": OldAttribute("LONGS", (1,)),
        "dtype": OldAttribute("INT", dtype_number(dtype)),
        "value": OldAttribute("FLOAT", float(told)),
    }
    value = writer.new(x, shape=(1,))
    rest = {name: a for name, a in op.attributes.items() if name != "values"}
    fill = OldOp("fill_constant", {}, {"Out": (value,)}, filled)
    return [fill, replace(op, inputs={**op.inputs, "ValueTensor": (value,)}, attributes=rest)]


def _like(op: OldOp, type_name: str, inputs: Mapping[str, tuple[str, ...]]) -> OldOp:
    """An op of another type with what it is told and knows of; the outputs stay."""
    known = signature(type_name)
    told = {} if known is None else {n: a for n, a in op.attributes.items() if n in known.attributes}
    return replace(op, type=type_name, inputs=inputs, attributes=told)


_SPELLINGS: Mapping[str, Callable[[_Writer, OldOp], list[OldOp]]] = {
    "flatten2": _flatten,
    "mul": _mul,
    "set_value": _set_value,
    "lookup_table": _lookup,
    "quantize_linear": _quantize,
    "dequantize_linear": _dequantize,
}
