"""A specimen written in the old format by what its row says, and read back by Paddle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import paddle
from paddle.base.proto import framework_pb2
from paddle.pir.core import datatype_to_vartype
from paddle_trials import Trial, makers_of

from spokeshave.ops import OldOp

# Kinds of attributes in an OpProto: int, float, long.
_INT, _FLOAT, _LONG = 0, 1, 9
_AS_KIND = {_INT: int, _FLOAT: float, _LONG: int}


@cache
def protos() -> dict[str, Any]:
    """What Paddle knows of its old ops: the names of their arguments, by type."""
    found = (framework_pb2.OpProto.FromString(bytes(p)) for p in paddle.base.core.get_all_op_protos())
    return {proto.type: proto for proto in found}


def attributes_of(kind: str) -> set[str]:
    """The attributes that an old op takes, those included that its kernel does not read."""
    return {a.name for a in protos()[kind].attrs} | set(paddle.base.core.get_op_extra_attrs(kind))


@dataclass(frozen=True)
class ReadBack:
    """An old program with one op in it, as Paddle 3 reads it: the op, and its results by name."""

    program: Any
    op: Any
    values: dict[str, Any]


def read_back(old: OldOp, of: Trial) -> ReadBack:
    """The op of a trial, written by its row and read back."""
    with paddle.pir_utils.OldIrGuard():
        program = paddle.static.Program()
        made = _write(program.global_block(), old, of)
        read = paddle.pir.translate_to_pir(program.desc)
    ops = read.global_block().ops
    copies = [op for op in ops if op.name() == "pd_op.assign"][-len(made) :]
    values = {name: copy.operand_source(0) for name, copy in zip(made, copies)}
    return ReadBack(read, _maker(values[next(iter(made))]), values)


def _maker(value: Any) -> Any:
    maker = value.get_defining_op()
    is_part = maker.name() in ("builtin.split", "builtin.slice")
    return maker.operand_source(0).get_defining_op() if is_part else maker


def _write(block: Any, old: OldOp, of: Trial) -> list[str]:
    """Writes the op, and a copy of each of its results to find it by; gives their names."""
    names = {
        **old.operands,
        **{here: there for here, there in old.computed.items() if not _is_constant(of, here)},
    }
    read = {here: _operands(block, of, here) for here in names}
    made = {here: _results(block, of, here) for here in old.results}
    for here, operand in old.shares.items():
        made[here] = dict(zip(made[here], read[operand]))
    op = block.append_op(
        type=old.type,
        inputs={names[here]: variables for here, variables in read.items() if variables},
        outputs={
            **{old.results[here]: list(parts.values()) for here, parts in made.items() if parts},
            **{name: [block.create_var(name=name)] for name in old.scratch},
        },
        attrs=_attributes(old, of),
    )
    if "is_test" in of.attrs:
        # `append_op` leaves it off for some ops.
        op._set_attr("is_test", of.attrs["is_test"])
    parts = {name: variable for found in made.values() for name, variable in found.items()}
    for name, variable in parts.items():
        copy = block.create_var(name=f"copy_{name}", dtype=variable.dtype)
        block.append_op(type="assign", inputs={"X": [variable]}, outputs={"Out": [copy]})
    return list(parts)


def _operands(block: Any, of: Trial, name: str) -> list[Any]:
    return [_operand(block, maker, f"{name}_{i}") for i, maker in enumerate(makers_of(of.source(name)))]


def _is_constant(of: Trial, name: str) -> bool:
    return all(maker.name() in ("pd_op.full", "pd_op.full_int_array") for maker in makers_of(of.source(name)))


def _operand(block: Any, maker: Any, name: str) -> Any:
    value, told = maker.result(0), maker.attrs()
    shape, dtype = list(value.shape), datatype_to_vartype[value.dtype]
    if maker.name() == "pd_op.data":
        return block.create_var(
            name=told["name"], shape=shape, dtype=dtype, is_data=True, need_check_feed=True
        )
    variable = block.create_var(name=name, shape=shape, dtype=dtype)
    if maker.name() == "pd_op.full":
        attrs = {"shape": shape, "dtype": int(dtype), "value": float(told["value"])}
        block.append_op(type="fill_constant", outputs={"Out": [variable]}, attrs=attrs)
    else:
        attrs = {"shape": shape, "dtype": int(dtype), "values": list(told["value"])}
        block.append_op(type="assign_value", outputs={"Out": [variable]}, attrs=attrs)
    return variable


def _results(block: Any, of: Trial, name: str) -> dict[str, Any]:
    parts = {n: value for n, value in of.values.items() if n.split(".")[0] == name}
    return {
        n: block.create_var(
            name=f"result_{n}", shape=list(value.shape), dtype=datatype_to_vartype[value.dtype]
        )
        for n, value in parts.items()
    }


def _attributes(old: OldOp, of: Trial) -> dict[str, Any]:
    kinds = {attr.name: attr.type for attr in protos()[old.type].attrs}
    told = {there: _plain(of.attrs[here]) for here, there in old.attrs.items()}
    for here, there in old.constants.items():
        (maker,) = makers_of(of.source(here))
        if not _is_constant(of, here):
            continue
        told[there] = _AS_KIND.get(kinds[there], lambda value: value)(maker.attrs()["value"])
    for here, there in old.dtypes.items():
        told[there] = _plain(of.source(here).dtype)
    return {**old.derived(of.attrs), **told}


def _plain(value: Any) -> Any:
    return int(datatype_to_vartype[value]) if isinstance(value, paddle.base.libpaddle.DataType) else value
