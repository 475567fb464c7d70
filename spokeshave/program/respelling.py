"""Programs of Paddle 2 and fluid in the operators that Paddle 3 translates right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from spokeshave.seams.old_programs import (
    OldAttribute,
    OldBlock,
    OldOp,
    OldProgram,
    OldVariable,
    signature,
)

# What Paddle writes where a gradient op has no value to read; elsewhere it stands for absence.
_NOBODY = "@EMPTY@"
# Ops of fluid, and the ones that took their place: the same arguments, and the shape of `X` as an output.
_WITH_SHAPE = {
    "reshape": "reshape2",
    "transpose": "transpose2",
    "squeeze": "squeeze2",
    "unsqueeze": "unsqueeze2",
    "flatten": "flatten2",
}

Variables = Mapping[str, OldVariable]


def respelt(program: OldProgram) -> OldProgram:
    """The same computation, in operators that come out right when they are translated.

    Every op has its outputs, also those that only gradients read and that were cut off with them: a
    translated dropout without its mask ends the process when it is differentiated. `mul` and
    `lookup_table`, which Paddle translates for sizes that are known beforehand only, become `matmul_v2` and
    `lookup_table_v2`.
    """
    scopes: dict[int, Variables] = {-1: {}}
    blocks = []
    for block in program.blocks:
        scopes[block.number] = {**scopes[block.parent], **{v.name: v for v in block.variables}}
        blocks.append(_respelt_block(block, scopes[block.number]))
    return replace(program, blocks=tuple(blocks))


def _respelt_block(block: OldBlock, variables: Variables) -> OldBlock:
    writer = _Writer(variables, block.number)
    for op in block.ops:
        writer.write(op)
    return replace(block, variables=(*block.variables, *writer.variables), ops=tuple(writer.ops))


class _Writer:
    """Writes the ops of a block anew, with the variables that they need beside those that are there."""

    def __init__(self, known: Variables, block: int) -> None:
        self.known, self._block = known, block
        self.variables: list[OldVariable] = []
        self.ops: list[OldOp] = []

    def write(self, op: OldOp) -> None:
        write = _SPELLINGS.get(op.type)
        written = write(self, op) if write else [op]
        self.ops.extend(self._whole(replace(op, inputs=_there(op.inputs))) for op in written)

    def new(self, what: str, dtype: str = "float32") -> str:
        """The name of a new variable."""
        name = f"{what}@{self._block}.{len(self.variables)}"
        self.variables.append(OldVariable(name, dtype=dtype))
        return name

    def rank(self, name: str) -> int:
        """How many axes a variable has."""
        return len(self.known[name].shape)

    def _whole(self, op: OldOp) -> OldOp:
        """The op with a variable for every output that it must have."""
        known = signature(op.type)
        slots = () if known is None else known.outputs.values()
        absent = [s.name for s in slots if not s.may_be_absent and not s.is_list and not op.outputs.get(s.name)]
        made = {name: (self.new(f"{op.type}.{name.lower()}"),) for name in absent}
        return replace(op, outputs={**_there(op.outputs), **made})


def _there(slots: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(a for a in arguments if a != _NOBODY) for name, arguments in slots.items()}


def _mul(writer: _Writer, op: OldOp) -> list[OldOp]:
    """`mul` takes the leading axes of `X` together and the others, and so of `Y`, then multiplies."""
    (x,), (y,) = op.inputs["X"], op.inputs["Y"]
    x_axes, y_axes = op.told("x_num_col_dims", 1), op.told("y_num_col_dims", 1)
    if writer.rank(y) != 2 or y_axes != 1 or not 0 < x_axes < writer.rank(x):
        return [op]
    flat = list(_flattened(writer, x, x_axes))
    return [*flat, _like(op, "matmul_v2", {"X": (next(flat[-1].makes) if flat else x,), "Y": (y,)})]


def _flattened(writer: _Writer, x: str, start: int) -> Iterator[OldOp]:
    """What takes all axes from `start` together, where there are several."""
    if start < writer.rank(x) - 1:
        told = {"start_axis": OldAttribute("INT", start), "stop_axis": OldAttribute("INT", -1)}
        out = writer.new("flat", writer.known[x].dtype)
        yield OldOp("flatten_contiguous_range", {"X": (x,)}, {"Out": (out,)}, told)


def _lookup(writer: _Writer, op: OldOp) -> list[OldOp]:
    """`lookup_table` wants a last axis of length 1 behind the numbers that it looks up, the later op none."""
    (ids,) = op.inputs["Ids"]
    out = writer.new("ids", writer.known[ids].dtype)
    told = {"axes": OldAttribute("INTS", (-1,))}
    squeeze = OldOp("squeeze2", {"X": (ids,)}, {"Out": (out,)}, told)
    return [squeeze, _like(op, "lookup_table_v2", {**op.inputs, "Ids": (out,)})]


def _with_shape(writer: _Writer, op: OldOp) -> list[OldOp]:
    return [_like(op, _WITH_SHAPE[op.type], op.inputs)]


def _like(op: OldOp, type_name: str, inputs: Mapping[str, tuple[str, ...]]) -> OldOp:
    """An op of another type with what it is told and knows of; the outputs stay."""
    known = signature(type_name)
    told = {} if known is None else {n: a for n, a in op.attributes.items() if n in known.attributes}
    return replace(op, type=type_name, inputs=inputs, attributes=told)


_SPELLINGS: Mapping[str, Callable[[_Writer, OldOp], list[OldOp]]] = {
    "mul": _mul,
    "lookup_table": _lookup,
    **dict.fromkeys(_WITH_SHAPE, _with_shape),
}
