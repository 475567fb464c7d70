"""Programs in the format of Paddle 2 and fluid: their protobuf as plain data, and that as a PIR program.

Paddle's own classes for the format read and write the bytes: they are loaded with Paddle anyway, know
every field, and raise where its C++ would end the process. What Paddle gets is written afresh from the
plain data, so that it sees what was checked and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import paddle
from google.protobuf.message import DecodeError, EncodeError
from paddle.base import core, libpaddle
from paddle.base.proto import framework_pb2 as proto

from spokeshave.seams.handles import Operation, Program, Value
from spokeshave.seams.modes import building, static_mode
from spokeshave.seams.programs import erase
from spokeshave.seams.storage import check_sound

# Which field of a message holds the value of an attribute, by the kind of the attribute.
_FIELDS = {
    "INT": "i",
    "FLOAT": "f",
    "STRING": "s",
    "INTS": "ints",
    "FLOATS": "floats",
    "STRINGS": "strings",
    "BOOLEAN": "b",
    "BOOLEANS": "bools",
    "BLOCK": "block_idx",
    "LONG": "l",
    "BLOCKS": "blocks_idx",
    "LONGS": "longs",
    "FLOAT64S": "float64s",
    "FLOAT64": "float64",
    "SCALAR": "scalar",
    "SCALARS": "scalars",
    "VAR": "var_name",
    "VARS": "vars_name",
}
_LISTS = frozenset(
    {"INTS", "FLOATS", "STRINGS", "BOOLEANS", "BLOCKS", "LONGS", "FLOAT64S", "SCALARS", "VARS"}
)
_KINDS: dict[int, str] = {number: name for name, number in proto.AttrType.items()}
_TYPES: dict[int, str] = {number: name for name, number in proto.VarType.Type.items()}
_NUMBERS = {name: number for number, name in _TYPES.items()}
# What NumPy calls the element types.
_SPELT = {"FP16": "float16", "FP32": "float32", "FP64": "float64", "BF16": "bfloat16"}
_DTYPES = {name: _SPELT.get(name, name.lower()) for name in _TYPES.values()}
_DTYPE_NUMBERS = {_DTYPES[name]: number for number, name in _TYPES.items()}
TENSOR, ROWS, ARRAY = "DENSE_TENSOR", "SELECTED_ROWS", "DENSE_TENSOR_ARRAY"
# What every op may be told about where it was built and what part it plays; nothing that it computes.
NAMESCOPE = "op_namescope"
_ABOUT = frozenset({"op_callstack", "op_role", "op_role_var", "op_device", "with_quant_attr", NAMESCOPE})
# Ops that move a value between the program and whoever runs it.
FEED, FETCH = "feed", "fetch"
# What Paddle says where an op has no rule for shapes: it moves values or holds a block, and makes none.
_NO_RULE = "infer_shape is not registered"
# Outputs whose element type Paddle infers to be that of an input, which its kernels then do not make.
_MADE_TYPES = {"crf_decoding": ("ViterbiPath", core.VarDesc.VarType.INT64)}


class NotOld(ValueError):
    """Bytes that are no program of this format."""


@dataclass(frozen=True)
class OldAttribute:
    """What an op was told: the kind as the format names it, and a value or a list."""

    kind: str
    value: Any


@dataclass(frozen=True)
class OldOp:
    """An operator: names of variables by the names of its inputs and outputs."""

    type: str
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, OldAttribute] = field(default_factory=dict)

    @property
    def reads(self) -> Iterator[str]:
        """The variables that it reads."""
        return (name for names in self.inputs.values() for name in names)

    @property
    def makes(self) -> Iterator[str]:
        """The variables that it writes."""
        return (name for names in self.outputs.values() for name in names)

    def told(self, name: str, default: Any) -> Any:
        """The value of an attribute."""
        return self.attributes[name].value if name in self.attributes else default


@dataclass(frozen=True)
class OldVariable:
    """A variable: its kind as the format names it; element type and shape where it is a tensor."""

    name: str
    kind: str = TENSOR
    dtype: str = "float32"
    shape: tuple[int, ...] = ()
    sequence_levels: int = 0
    is_persistable: bool = False

    @property
    def is_parameter(self) -> bool:
        """Whether a weights file has a tensor for it."""
        return self.is_persistable and self.kind == TENSOR


@dataclass(frozen=True)
class OldBlock:
    """A list of operators with the variables that they use, in a block or in none (-1)."""

    number: int
    parent: int
    variables: tuple[OldVariable, ...]
    ops: tuple[OldOp, ...]


@dataclass(frozen=True)
class OldProgram:
    """A program: its blocks, the main one first, and the version of Paddle that wrote it, or 0."""

    blocks: tuple[OldBlock, ...]
    version: int = 0


@dataclass(frozen=True)
class Slot:
    """An input or output that an op may have."""

    name: str
    is_list: bool
    may_be_absent: bool


@dataclass(frozen=True)
class Signature:
    """What an op takes, gives and may be told (attribute kinds by name), as this Paddle knows it."""

    inputs: Mapping[str, Slot]
    outputs: Mapping[str, Slot]
    attributes: Mapping[str, str]


def parse_old(content: bytes) -> OldProgram:
    """The program that these bytes hold; `NotOld` where they hold none."""
    try:
        message = proto.ProgramDesc.FromString(content)
        blocks = tuple(_block(block) for block in message.blocks)
        return OldProgram(blocks, message.version.version)
    except (DecodeError, UnicodeDecodeError) as error:
        raise NotOld(str(error)) from error


def old_bytes(program: OldProgram) -> bytes:
    """The program as Paddle 2 writes it."""
    message = proto.ProgramDesc()
    message.version.version = program.version
    for block in program.blocks:
        _write_block(block, message.blocks.add())
    try:
        content: bytes = message.SerializeToString()
    except EncodeError as error:
        raise NotOld(str(error)) from error
    return content


@cache
def signature(op: str) -> Signature | None:
    """What is known of an op, or None where this Paddle does not know it."""
    found = _signatures().get(op)
    return None if found is None else _signature(found)


def dtype_number(dtype: str) -> int:
    """The number that an attribute names an element type by."""
    return _DTYPE_NUMBERS[dtype]


def known_old_ops() -> list[str]:
    """The types of op that may stand in a program of the old format."""
    return sorted(_signatures())


def translate(program: OldProgram) -> tuple[Program, dict[str, Value]]:
    """The program in PIR, and the value that each variable of its main block had last.

    Shapes and element types are inferred anew, by Paddle and for every op: it refuses what does not fit.
    """
    with static_mode():
        described = core.ProgramDesc(old_bytes(program))
        for number, block in enumerate(program.blocks):
            _infer(described.block(number), block)
        translated, values = libpaddle.pir.translate_to_pir_with_param_map(described)
        check_sound(translated)
    return translated, {name: found[-1] for name, found in values.items() if found}


def replace_feeds(program: Program) -> dict[str, Value]:
    """Turns what is fed by an op of the old kind into data of its name, type and shape; gives these."""
    feeds = [op for op in program.global_block().ops if op.name() == "pd_op.feed"]
    with building(program):
        return dict(_replace_feed(op) for op in sorted(feeds, key=lambda op: op.attrs()["col"]))


def set_trainable(value: Value, trainable: bool) -> None:
    """Says whether optimizers change a parameter, and whether gradients flow to it."""
    value.trainable = value.need_clip = trainable
    value.stop_gradient = not trainable


def name_scope(value: Value, scope: str) -> None:
    """Leaves the name scope that an op was built in on the op that makes a value."""
    value.get_defining_op().set_str_attr("struct_name", scope)


def _replace_feed(op: Operation) -> tuple[str, Value]:
    fed, name = op.result(0), op.attrs()["name"]
    data = paddle.static.data(name, list(fed.shape), fed.dtype)
    fed.replace_all_uses_with(data)
    erase(op)
    return name, data


def _infer(described: Any, block: OldBlock) -> None:
    for place in range(len(block.ops)):
        op = described.op(place)
        op.check_attrs()
        op.infer_var_type(described)
        try:
            op.infer_shape(described)
        except RuntimeError as error:
            if _NO_RULE not in str(error):
                raise
        _set_type_made(op, described)


def _set_type_made(op: Any, described: Any) -> None:
    slot, dtype = _MADE_TYPES.get(op.type(), ("", None))
    for name in op.output(slot) if slot else ():
        described.find_var(name.encode()).set_dtype(dtype)


def _block(message: Any) -> OldBlock:
    variables = tuple(_variable(v) for v in message.vars)
    return OldBlock(message.idx, message.parent_idx, variables, tuple(_op(op) for op in message.ops))


def _variable(message: Any) -> OldVariable:
    kind = _TYPES[message.type.type]
    tensor, levels = _tensor(message.type, kind)
    dtype = _DTYPES[_TYPES[tensor.data_type]] if tensor is not None else ""
    shape = tuple(tensor.dims) if tensor is not None else ()
    return OldVariable(_text(message.name), kind, dtype, shape, levels, message.persistable)


def _tensor(message: Any, kind: str) -> tuple[Any, int]:
    """Where a variable of a kind says its element type and shape, and how many levels of sequences."""
    if kind == TENSOR:
        return message.dense_tensor.tensor, message.dense_tensor.legacy_lod_level
    if kind == ARRAY:
        return message.tensor_array.tensor, message.tensor_array.legacy_lod_level
    return (message.selected_rows, 0) if kind == ROWS else (None, 0)


def _op(message: Any) -> OldOp:
    # Where an op was built is most of a file and not what it does.
    kept = (a for a in message.attrs if a.name != "op_callstack")
    return OldOp(
        _text(message.type),
        _slots_of(message.inputs),
        _slots_of(message.outputs),
        {_text(a.name): _attribute(a) for a in kept},
    )


def _slots_of(messages: Any) -> dict[str, tuple[str, ...]]:
    return {_text(slot.parameter): tuple(map(_text, slot.arguments)) for slot in messages}


def _attribute(message: Any) -> OldAttribute:
    kind = _KINDS[message.type]
    value = getattr(message, _FIELDS[kind])
    if kind == "STRING":
        return OldAttribute(kind, _text(value))
    return OldAttribute(kind, tuple(value) if kind in _LISTS else value)


def _text(found: Any) -> str:
    """A text of a message, which comes as bytes where it is none."""
    if not isinstance(found, str):
        raise NotOld(f"{found!r} is no text")
    return found


def _write_block(block: OldBlock, message: Any) -> None:
    message.idx, message.parent_idx, message.forward_block_idx = block.number, block.parent, -1
    for variable in block.variables:
        _write_variable(variable, message.vars.add())
    for op in block.ops:
        _write_op(op, message.ops.add())


def _write_variable(variable: OldVariable, message: Any) -> None:
    message.name, message.persistable = variable.name, variable.is_persistable
    message.type.type = _NUMBERS[variable.kind]
    tensor, _ = _tensor(message.type, variable.kind)
    if tensor is None:
        return
    tensor.data_type = _DTYPE_NUMBERS[variable.dtype]
    tensor.dims.extend(variable.shape)
    if variable.kind == TENSOR:
        message.type.dense_tensor.legacy_lod_level = variable.sequence_levels
    elif variable.kind == ARRAY:
        message.type.tensor_array.legacy_lod_level = variable.sequence_levels


def _write_op(op: OldOp, message: Any) -> None:
    message.type = op.type
    for slots, written in ((op.inputs, message.inputs), (op.outputs, message.outputs)):
        for name, arguments in slots.items():
            slot = written.add()
            slot.parameter = name
            slot.arguments.extend(arguments)
    known = signature(op.type)
    for name, attribute in op.attributes.items():
        if known is None or name in known.attributes:
            _write_attribute(name, attribute, message.attrs.add())


def _write_attribute(name: str, attribute: OldAttribute, message: Any) -> None:
    message.name, message.type = name, proto.AttrType.Value(attribute.kind)
    place = _FIELDS[attribute.kind]
    if attribute.kind in _LISTS:
        getattr(message, place).extend(attribute.value)
    elif attribute.kind == "SCALAR":
        message.scalar.CopyFrom(attribute.value)
    else:
        setattr(message, place, attribute.value)


@cache
def _signatures() -> dict[str, Any]:
    known = (proto.OpProto.FromString(content) for content in core.get_all_op_protos())
    return {found.type: found for found in known}


def _signature(message: Any) -> Signature:
    return Signature(
        _slots(message.inputs),
        _slots(message.outputs),
        {a.name: _KINDS[a.type] for a in message.attrs if a.name not in _ABOUT},
    )


def _slots(messages: Any) -> dict[str, Slot]:
    return {m.name: Slot(m.name, m.duplicable, m.dispensable) for m in messages}
