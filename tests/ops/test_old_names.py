"""What the op table says of the old format, against Paddle's own description and its translation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import paddle
import pytest
from old_trials import attributes_of, protos, read_back
from paddle_trials import Floats, Specimen, run_program, trial
from specimens import SPECIMENS

from spokeshave.ops import OPS, OldOp, OpFacts

# Two ops here are one op there.
READ_AS = {
    "pd_op.batch_norm": "pd_op.batch_norm_",
    "pd_op.assign_value_": "pd_op.assign_value",
}
WITH_OLD = [row for row in OPS if row.old is not None]
TRIED = [s for s in SPECIMENS if s.op in OPS and OPS[s.op].old is not None]


@pytest.fixture(autouse=True)
def _static_mode() -> Iterator[None]:
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


def unknown_names(old: OldOp) -> list[str]:
    """The names in a row that Paddle's description of the op does not have, and what it misses."""
    proto = protos()[old.type]
    attrs = {*old.attrs.values(), *old.constants.values(), *old.dtypes.values()}
    known_in, known_out = {v.name for v in proto.inputs}, {v.name for v in proto.outputs}
    must_read = {v.name for v in proto.inputs if not v.dispensable}
    must_make = {v.name for v in proto.outputs if not v.dispensable and not v.extra}
    made = {*old.results.values(), *old.scratch}
    return [
        *(f"operand {name}" for name in sorted({*old.operands.values(), *old.computed.values()} - known_in)),
        *(f"result {name}" for name in sorted(made - known_out)),
        *(f"attribute {name}" for name in sorted(attrs - attributes_of(old.type))),
        *(f"without operand {name}" for name in sorted(must_read - set(old.operands.values()))),
        *(f"without result {name}" for name in sorted(must_make - made)),
    ]


def differences(row: OpFacts, specimen: Specimen) -> list[str]:
    """What comes out otherwise when an op is written as the row says and read back."""
    of, old = trial(specimen), row.old
    assert old is not None
    found = read_back(old, of)
    if found.op.name() != READ_AS.get(row.name, row.name):
        return [f"read back as {found.op.name()}"]
    data, attrs = of.data(), found.op.attrs()
    names = [name for name in of.results if name.split(".")[0] in old.results]
    results = run_program(found.program, of.feed(data), [found.values[name] for name in names])
    expected = of.run_all(data, tuple(names))
    return [
        *(f"result {n}" for n, a, b in zip(names, results, expected) if not _equal(a, b)),
        *(f"attribute {n}" for n in old.attrs if not _same(attrs[n], of.attrs[n])),
    ]


def _equal(a: Floats, b: Floats) -> bool:
    return np.array_equal(a, b, equal_nan=True)


def _same(a: Any, b: Any) -> bool:
    # An attribute is kept as float32 in one of the formats, as float64 in the other.
    return bool(np.isclose(a, b, rtol=1e-6, atol=0)) if isinstance(a, float) else a == b


@pytest.mark.parametrize("row", WITH_OLD, ids=lambda row: row.name)
def test_old_names_are_those_of_paddle(row: OpFacts) -> None:
    assert row.old is not None
    assert unknown_names(row.old) == []


@pytest.mark.parametrize("specimen", TRIED, ids=lambda specimen: specimen.op)
def test_what_is_written_in_the_old_format_reads_back_as_it_was(specimen: Specimen) -> None:
    assert differences(OPS[specimen.op], specimen) == []


def test_rows_without_an_old_op_are_those_that_have_none() -> None:
    assert {row.name for row in OPS if row.old is None} == {
        "pd_op.assign_out_",
        "pd_op.full_int_array",
        "pd_op.shape64",
        "pd_op.sync_batch_norm_",
    }


def _old(name: str, **wrong: object) -> OldOp:
    old = OPS[f"pd_op.{name}"].old
    assert old is not None
    return replace(old, **wrong)  # type: ignore[arg-type]


WRONG_NAMES = [
    ("operand Inputs", _old("conv2d", operands={"input": "Inputs", "filter": "Filter"})),
    ("without operand Filter", _old("conv2d", operands={"input": "Input"})),
    ("result Out", _old("conv2d", results={"out": "Out"})),
    ("without result XShape", _old("reshape", scratch=())),
    ("attribute negative_slope", _old("leaky_relu", attrs={"negative_slope": "negative_slope"})),
    ("attribute axis", _old("mean", constants={"axis": "axis"})),
]


@pytest.mark.parametrize(("fault", "old"), WRONG_NAMES)
def test_a_wrong_name_is_reported(fault: str, old: OldOp) -> None:
    assert fault in unknown_names(old)


WRONG_MEANINGS = [
    ("subtract", {"operands": {"x": "Y", "y": "X"}}, "result out"),
    ("leaky_relu", {"attrs": {}}, "result out"),
    ("softmax", {"attrs": {}}, "result out"),
    ("scale", {"constants": {}}, "result out"),
    ("hardsigmoid", {"attrs": {"slope": "offset", "offset": "slope"}}, "attribute slope"),
    ("relu", {"type": "relu6"}, "read back as pd_op.relu6"),
    ("topk", {"results": {"out": "Indices", "indices": "Out"}}, "result out"),
]


@pytest.mark.parametrize(("name", "wrong", "fault"), WRONG_MEANINGS)
def test_a_wrong_meaning_is_reported(name: str, wrong: dict[str, object], fault: str) -> None:
    row = replace(OPS[f"pd_op.{name}"], old=_old(name, **wrong))
    specimens = [specimen for specimen in TRIED if specimen.op == row.name]
    assert fault in [found for specimen in specimens for found in differences(row, specimen)]
