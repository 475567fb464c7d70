"""Every row of the op table against the op itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import paddle
import pytest
from claims import broken_claims, flow, macs, unproved
from paddle_trials import Specimen, Trial, trial
from specimens import SPECIMENS
from specimens_shapes import CONCAT_OF_EXAMPLES, MAX_OF_PICTURE, MEAN_OF_PICTURE
from specimens_weighted import MATMUL_ATTENTION, MATMUL_TRANSPOSED_X

from spokeshave.ops import OPS, Attrs, Axis, ChannelFlow, OnCodes, OpFacts, Sign

# No build for the CPU has its kernel, so that it can be read and not run.
SYNC_BATCH_NORM = "pd_op.sync_batch_norm_"
RUN_HERE = [row for row in OPS if row.name != SYNC_BATCH_NORM]


@pytest.fixture(autouse=True)
def _static_mode() -> Iterator[None]:
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("row", RUN_HERE, ids=lambda row: row.name)
def test_a_row_says_what_the_op_does(row: OpFacts) -> None:
    assert unproved(row) == []


def test_a_row_without_a_specimen_is_reported() -> None:
    assert unproved(OpFacts("pd_op.fake", "Nothing.", ChannelFlow.KEEPS)) == ["pd_op.fake has no specimen"]


def test_every_specimen_belongs_to_a_row() -> None:
    assert {specimen.op for specimen in SPECIMENS} == {row.name for row in RUN_HERE}


def test_sync_batch_norm_reads_and_makes_what_batch_norm_does(tmp_path: Path) -> None:
    norm = trial_of("pd_op.batch_norm_")
    file, program = tmp_path / "program.json", paddle.static.Program()
    paddle.base.core.serialize_pir_program(norm.program, str(file), True, True, True)
    file.write_text(file.read_text().replace('batch_norm_"', 'sync_batch_norm_"'))
    paddle.base.core.deserialize_pir_program(str(file), program)
    (found,) = [op for op in program.global_block().ops if op.name() == SYNC_BATCH_NORM]
    assert found.get_input_names() == norm.op.get_input_names()
    assert found.get_output_names() == norm.op.get_output_names()
    assert found.get_attr_names() == norm.op.get_attr_names()
    told = ("name", "doc", "old")
    assert {k: v for k, v in vars(OPS[SYNC_BATCH_NORM]).items() if k not in told} == {
        k: v for k, v in vars(OPS["pd_op.batch_norm_"]).items() if k not in told
    }


def _swapped(row: OpFacts) -> OpFacts:
    axis_of = row.weight_axis
    assert axis_of is not None

    def swapped(attrs: Attrs) -> Axis:
        axis = axis_of(attrs)
        return Axis(out=axis.into, into=axis.out)

    return replace(row, weight_axis=swapped)


# A depthwise filter turned round has its input channels on the axis of its output channels.
TWO_AXES = [r for r in RUN_HERE if r.weight_axis and r.name != "pd_op.depthwise_conv2d_transpose"]


@pytest.mark.parametrize("row", TWO_AXES, ids=lambda row: row.name)
def test_swapped_axes_are_reported(row: OpFacts) -> None:
    broken = "\n".join(unproved(_swapped(row)))
    assert "weight_axis.out" in broken
    assert "weight_axis.into" in broken


def _ignores_transpose(attrs: Attrs) -> Axis:
    return Axis(out=1, into=0)


def _says(what: OnCodes) -> dict[str, object]:
    return {"on_codes": lambda attrs: what}


def _row(name: str, **wrong: object) -> OpFacts:
    return replace(OPS[f"pd_op.{name}"], **wrong)  # type: ignore[arg-type]


WRONG_ROWS = [
    ("names: 'input' is not among", _row("relu", data=("input",))),
    ("takes_list: 'x' is fed with ('x.0', 'x.1')", _row("concat", takes_list=False)),
    ("takes_list: 'x' is fed with ('x',)", _row("relu", takes_list=True)),
    ("weight_axis.out", _row("matmul", weight_axis=_ignores_transpose)),
    ("keeps: channel 0 of x", _row("softmax", flow=ChannelFlow.KEEPS)),
    ("keeps: channel 0 of x", _row("pool2d", channel_axis=lambda attrs, rank: 1)),
    ("keeps: channel 0 of x", _row("fake_channel_wise_quantize_abs_max", channel_axis=lambda attrs, rank: 2)),
    ("mixes: channel 0 of x", _row("relu", flow=ChannelFlow.MIXES)),
    ("mixes: channel 0 of x", _row("instance_norm", flow=ChannelFlow.MIXES)),
    ("mixes: channel 0 of x", _row("layer_norm", channel_axis=lambda attrs, rank: 1)),
    ("reshapes: the result has other values", _row("abs", flow=ChannelFlow.RESHAPES)),
    ("reshapes: the result has other values", _row("bilinear_interp", flow=ChannelFlow.RESHAPES)),
    ("reduces: the result has 4 channels", _row("add", flow=ChannelFlow.REDUCES)),
    ("makes: it reads ['x']", _row("relu", flow=ChannelFlow.MAKES)),
    ("makes: ('x',) carry numbers", _row("full_like", data=("x",))),
    ("sign: nonnegative", _row("round", sign=Sign.NONNEGATIVE)),
    ("sign: nonnegative", _row("hardswish", sign=Sign.NONNEGATIVE)),
    ("sign: as-inputs", _row("scale", sign=Sign.AS_INPUTS)),
    ("sign: as-inputs", _row("bicubic_interp", sign=Sign.AS_INPUTS)),
    ("sign: as-inputs", _row("pad3d", sign=Sign.AS_INPUTS)),
    ("passes_values", _row("dropout", **_says(OnCodes.MOVES))),
    ("passes_values", _row("topk", **_says(OnCodes.MOVES))),
    ("on_codes: moves", _row("add", **_says(OnCodes.MOVES))),
    ("on_codes: moves", _row("floor", **_says(OnCodes.MOVES))),
    ("on_codes: scales", _row("gelu", **_says(OnCodes.SCALES))),
    ("on_codes: scales", _row("multiply", **_says(OnCodes.SCALES))),
    ("on_codes: multiplies", _row("add", **_says(OnCodes.MULTIPLIES))),
    ("on_codes: multiplies", _row("divide", **_says(OnCodes.MULTIPLIES))),
    ("is_batch_norm: it has no test mode", _row("layer_norm", is_batch_norm=True)),
    ("is_batch_norm: the result", _row("batch_norm_", channel_axis=lambda attrs, rank: rank - 1)),
    ("macs", _row("conv2d", macs=lambda attrs, shapes: int(np.prod(shapes["filter"])))),
    ("macs", _row("conv2d_transpose", macs=OPS["pd_op.conv2d"].macs)),
    ("macs: 7, counted 0", _row("relu", macs=lambda attrs, shapes: 7)),
    ("macs: 0, counted 240", _row("gru", macs=lambda attrs, shapes: 0)),
]


@pytest.mark.parametrize(("claim", "row"), WRONG_ROWS, ids=lambda told: getattr(told, "name", told))
def test_a_wrong_row_is_reported(claim: str, row: OpFacts) -> None:
    broken = unproved(row)
    assert any(found.startswith(claim) for found in broken), broken


def test_operands_that_trade_places_are_reported() -> None:
    backwards = Specimen("pd_op.divide", lambda x, y: paddle.divide(y, x), {"x": (2, 4), "y": (2, 4)})
    assert "names: 'x' is fed with ('y',)" in broken_claims(OPS["pd_op.divide"], backwards)


@pytest.mark.parametrize("specimen", [MATMUL_TRANSPOSED_X, MATMUL_ATTENTION], ids=["transposed", "attention"])
def test_macs_of_a_matmul_without_a_weight(specimen: Specimen) -> None:
    assert list(macs(OPS["pd_op.matmul"], trial(specimen))) == []


@pytest.mark.parametrize(
    "specimen", [MEAN_OF_PICTURE, MAX_OF_PICTURE, CONCAT_OF_EXAMPLES], ids=lambda s: s.op
)
def test_where_the_channel_axis_stays_the_channels_go_on(specimen: Specimen) -> None:
    row = replace(OPS[specimen.op], flow=ChannelFlow.KEEPS)
    assert list(flow(row, trial(specimen))) == []


def test_an_op_through_which_the_channels_go_on_does_not_reduce_them() -> None:
    broken = list(flow(OPS["pd_op.mean"], trial(MEAN_OF_PICTURE)))
    assert broken[0] == "reduces: the result has the shape (2, 4), channels and all"


def test_the_weights_that_can_be_kept_as_integers() -> None:
    kept = {row.name for row in RUN_HERE if row.takes_integer_weight(trial_of(row.name).attrs)}
    assert kept == {
        "pd_op.bmm",
        "pd_op.conv2d",
        "pd_op.conv2d_transpose",
        "pd_op.conv3d",
        "pd_op.depthwise_conv2d",
        "pd_op.depthwise_conv2d_transpose",
        "pd_op.embedding",
        "pd_op.matmul",
        "pd_op.mv",
    }


def trial_of(name: str) -> Trial:
    """The trial of the first specimen of an op."""
    return trial(next(specimen for specimen in SPECIMENS if specimen.op == name))
