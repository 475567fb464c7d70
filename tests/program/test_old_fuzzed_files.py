"""Damaged files of Paddle 2 end in an error of ours or in a model, never otherwise or in a dead process."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from old_models import Old, built_old, small_net
from test_fuzzed_files import EDITS, PLACES, check_refused_or_whole, damaged, quick
from test_old_quantized import onnx_format

from spokeshave.seams.old_programs import OldAttribute, OldBlock, OldOp, OldProgram, old_bytes, parse_old

pytest_plugins = ["program_nets", "old_models"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

NETS = {"small": small_net, "quantized": onnx_format}
ODD: list[Any] = [
    OldAttribute("INT", -1),
    OldAttribute("INT", 2**31 - 1),
    OldAttribute("LONG", -(2**62)),
    OldAttribute("FLOAT", float("nan")),
    OldAttribute("FLOAT", 1e38),
    OldAttribute("STRING", "odd"),
    OldAttribute("STRING", ""),
    OldAttribute("INTS", ()),
    OldAttribute("INTS", (0, -1, 7, 2**31 - 1)),
    OldAttribute("LONGS", (2**62,)),
    OldAttribute("STRINGS", ("a", "b")),
    OldAttribute("BOOLEAN", True),
    OldAttribute("BLOCK", 0),
]
SHAPES: list[tuple[int, ...]] = [(), (-1,), (0,), (1,), (2**62,), (2**31, 2**31), (-5, 3), (3,) * 20, (7, 7)]
KINDS = ["RAW", "READER", "DENSE_TENSOR_ARRAY", "SELECTED_ROWS", "STRINGS", "FETCH_LIST"]
DTYPES = ["int64", "float64", "bool", "int8", "complex64", "pstring", "size_t"]
OTHERS = ["relu", "feed", "fetch", "concat", "while", "reshape2", "batch_norm", "mul", "odd", "dropout"]


@pytest.fixture(scope="session")
def saved_old(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("fuzzed")
    return {name: built_old(build).save(folder / name) for name, build in NETS.items()}


def copied(prefix: Path, folder: Path) -> Path:
    for kind in (".pdmodel", ".pdiparams"):
        shutil.copy(f"{prefix}{kind}", folder / f"m{kind}")
    return folder / "m"


def changed_in(items: tuple[Any, ...], place: int, what: Any) -> tuple[Any, ...]:
    at = place % len(items)
    return (*items[:at], what, *items[at + 1 :])


def in_another_order(block: OldBlock, place: int, other: int) -> OldBlock:
    ops = list(block.ops)
    one, two = place % len(ops), other % len(ops)
    ops[one], ops[two] = ops[two], ops[one]
    return replace(block, ops=tuple(ops))


def without(block: OldBlock, place: int, other: int) -> OldBlock:
    if other % 2:
        at = place % len(block.ops)
        return replace(block, ops=(*block.ops[:at], *block.ops[at + 1 :]))
    at = place % len(block.variables)
    return replace(block, variables=(*block.variables[:at], *block.variables[at + 1 :]))


def with_odd_variable(block: OldBlock, place: int, other: int) -> OldBlock:
    variable = block.variables[place % len(block.variables)]
    odd = [
        replace(variable, shape=SHAPES[other % len(SHAPES)]),
        replace(variable, kind=KINDS[other % len(KINDS)], dtype=variable.dtype or "float32"),
        replace(variable, dtype=DTYPES[other % len(DTYPES)]),
        replace(variable, is_persistable=not variable.is_persistable),
        replace(variable, sequence_levels=other % 5),
    ]
    return replace(block, variables=changed_in(block.variables, place, odd[other % len(odd)]))


def with_odd_op(block: OldBlock, place: int, other: int) -> OldBlock:
    op = block.ops[place % len(block.ops)]
    return replace(block, ops=changed_in(block.ops, place, odd_op(op, block, other)))


def odd_op(op: OldOp, block: OldBlock, other: int) -> OldOp:
    names = [v.name for v in block.variables] + ["nobody", "@EMPTY@"]
    name, kind = names[other % len(names)], other % 6
    if kind < 2 and op.attributes:
        told = dict(op.attributes)
        told[sorted(told)[other % len(told)]] = ODD[other % len(ODD)]
        return replace(op, attributes=told)
    if kind == 2:
        return replace(op, type=OTHERS[other % len(OTHERS)])
    slots = dict(op.outputs if kind == 3 else op.inputs)
    slot = sorted(slots)[other % len(slots)]
    slots[slot] = (name,) if kind < 5 else (*slots[slot], name)
    return replace(op, outputs=slots) if kind == 3 else replace(op, inputs=slots)


CHANGES = [in_another_order, without, with_odd_variable, with_odd_op, with_odd_op]


@quick
@pytest.mark.parametrize("name", NETS)
@given(edits=EDITS)
def test_damaged_old_programs_are_refused_or_load(
    saved_old: dict[str, Path], tmp_path: Path, name: str, edits: list[tuple[str, int, int]]
) -> None:
    prefix = copied(saved_old[name], tmp_path)
    file = prefix.with_suffix(".pdmodel")
    file.write_bytes(damaged(file.read_bytes(), edits))
    check_refused_or_whole(prefix)


@quick
@pytest.mark.parametrize("name", NETS)
@given(changes=st.lists(st.tuples(st.sampled_from(CHANGES), PLACES, PLACES), min_size=1, max_size=3))
def test_old_programs_with_odd_content_are_refused_or_load(
    saved_old: dict[str, Path], tmp_path: Path, name: str, changes: list[Any]
) -> None:
    prefix = copied(saved_old[name], tmp_path)
    file = prefix.with_suffix(".pdmodel")
    (block,) = parse_old(file.read_bytes()).blocks
    for change, place, other in changes:
        block = change(block, place, other)
    file.write_bytes(old_bytes(OldProgram((block,))))
    check_refused_or_whole(prefix)


@quick
@given(edits=EDITS, place=PLACES)
def test_damaged_files_of_parameters_are_refused_or_load(
    small_old: Old, tmp_path: Path, edits: list[tuple[str, int, int]], place: int
) -> None:
    folder = tmp_path / "fluid"
    if not folder.is_dir():
        small_old.save_fluid(folder)
    files = [f for f in sorted(folder.iterdir()) if f.name != "__model__"]
    file = files[place % len(files)]
    text = file.read_bytes()
    file.write_bytes(damaged(text, edits))
    try:
        check_refused_or_whole(folder)
    finally:
        file.write_bytes(text)
