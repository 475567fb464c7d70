"""The JSON of a Paddle 3 program: what must hold in it before Paddle may read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Optional, Union

import msgspec

from spokeshave.errors.program import NotAModel

KIND, PARAMETER, LIST = "pir", "p", "0.a_array"
NOTHING = 0  # the number of an operand that is absent


# Annotations here are read at run time, also by Python 3.9, which knows no `X | Y`.
# Paddle reads a longer number as a float, and that as some other number.
_Number = Annotated[int, msgspec.Meta(ge=-(2**62), lt=2**62)]


class _Value(msgspec.Struct):
    number: _Number = msgspec.field(name="%")


class _Argument(msgspec.Struct):
    number: _Number = msgspec.field(name="#")


class _Kind(msgspec.Struct):
    name: str = msgspec.field(name="#")
    data: msgspec.Raw = msgspec.field(name="D", default_factory=msgspec.Raw)


class _Attribute(msgspec.Struct):
    name: str = msgspec.field(name="N")
    # Absent where the attribute has none.
    kind: Optional[_Kind] = msgspec.field(name="AT", default=None)  # noqa: UP045


# The attributes of a parameter are plain numbers and its name.
_Attributes = list[Union[_Attribute, int, str]]


class _Op(msgspec.Struct):
    name: str = msgspec.field(name="#")
    # A parameter has one result and no list of operands, every other operator has two lists.
    results: Union[_Value, list[_Value]] = msgspec.field(name="O")  # noqa: UP007
    attributes: _Attributes = msgspec.field(name="A")
    operands: Optional[list[_Value]] = msgspec.field(name="I", default=None)  # noqa: UP045
    more_attributes: _Attributes = msgspec.field(name="OA", default_factory=list)
    regions: list[_Region] = msgspec.field(default_factory=list)


class _Block(msgspec.Struct):
    name: str = msgspec.field(name="#")
    args: list[_Argument]
    ops: list[_Op]
    kwargs: list[_Argument] = msgspec.field(default_factory=list)


class _Region(msgspec.Struct):
    name: str = msgspec.field(name="#")
    blocks: list[_Block]


class _Program(msgspec.Struct):
    regions: list[_Region]


class _Head(msgspec.Struct):
    magic: str
    version: int


class _Document(msgspec.Struct):
    base_code: _Head
    program: _Program


_DECODER = msgspec.json.Decoder(_Document)
_KINDS = msgspec.json.Decoder(list[_Kind])


def check_document(text: bytes, path: str) -> None:
    """Refuses what is no program of Paddle 3, and one whose operators do not hang together.

    Paddle takes a program that reads a value nobody makes, or lists whose items are of different kinds, and
    ends the process later. What it checks itself is left to it. Costs a fraction of Paddle's own reading.
    """
    if not text.strip():
        raise NotAModel(path=path, found="the file is empty")
    fault = _fault_of(_decoded(text, path))
    if fault:
        raise NotAModel(path=path, found=fault)


def _decoded(text: bytes, path: str) -> _Document:
    try:
        document = _DECODER.decode(text)
        _check_lists(document.program.regions)
        return document
    except msgspec.ValidationError as error:
        found = f"JSON, but not the JSON of a Paddle 3 program ({error})"
        raise NotAModel(path=path, found=found) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotAModel(path=path, found=f"no JSON ({error})") from error


def _check_lists(regions: Sequence[_Region]) -> None:
    """Refuses a list attribute of mixed kinds."""
    for op in (op for region in regions for block in region.blocks for op in block.ops):
        for attribute in (*op.attributes, *op.more_attributes):
            if isinstance(attribute, _Attribute) and attribute.kind is not None:
                _check_list(attribute.kind, f"{op.name} {attribute.name}")
        _check_lists(op.regions)


def _check_list(kind: _Kind, place: str) -> None:
    if kind.name != LIST:
        return
    items = _KINDS.decode(kind.data)
    if len({item.name for item in items}) > 1:
        raise msgspec.ValidationError(f"{place} is a list of different kinds")
    for item in items:
        _check_list(item, place)


def _fault_of(document: _Document) -> str:
    if document.base_code.magic != KIND:
        return f"JSON of another kind ({document.base_code.magic!r})"
    if [len(region.blocks) for region in document.program.regions] != [1]:
        return "it has no program, or several"
    return _fault_of_regions(document.program.regions, set())


def _fault_of_regions(regions: Sequence[_Region], known: set[int]) -> str:
    """The first operand that nothing has made before it is read, or value that is made twice."""
    for block in (block for region in regions for block in region.blocks):
        # What is made inside a block is not known outside.
        inside = known | {a.number for a in (*block.args, *block.kwargs)}
        for place, op in enumerate(block.ops):
            fault = _fault_of_op(op, inside)
            if fault:
                return f"operator {place} ({op.name}) {fault}"
    return ""


def _fault_of_op(op: _Op, known: set[int]) -> str:
    if (op.name == PARAMETER) != isinstance(op.results, _Value) or (op.name != PARAMETER) != (
        op.operands is not None
    ):
        return "has not the form of its kind"
    missing = [o.number for o in op.operands or () if o.number not in known and o.number != NOTHING]
    if missing:
        return f"reads value {missing[0]}, which nothing before it makes"
    inner = _fault_of_regions(op.regions, known)
    if inner:
        return f"holds {inner}"
    made = [r.number for r in (op.results if isinstance(op.results, list) else [op.results])]
    twice = [n for n in made if n in known or n <= NOTHING or made.count(n) > 1]
    known.update(made)
    return f"makes value {twice[0]}, which is made already or is none" if twice else ""
