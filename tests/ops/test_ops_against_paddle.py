"""Every row of the op table against the op itself: one slice is disturbed, and the result tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import paddle
import pytest
from paddle_trials import (
    CONCAT_OF_EXAMPLES,
    MATMUL_ATTENTION,
    MATMUL_TRANSPOSED_X,
    MAX_OF_PICTURE,
    MEAN_OF_PICTURE,
    SPECIMENS,
    Floats,
    Specimen,
    Trial,
    trial,
)

from spokeshave.ops import OPS, Attrs, Axis, ChannelFlow, OpFacts, Sign

Claim = Callable[[OpFacts, Trial], Iterator[str]]

# Results are of magnitude one in float32; a channel that is not read stays as it is, or nearly.
NOTICEABLE = 1e-6


@pytest.fixture(autouse=True)
def _static_mode() -> Iterator[None]:
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


def unproved(row: OpFacts) -> list[str]:
    """What a row says that no specimen bears out; a row without a specimen is unproved as a whole."""
    specimens = [specimen for specimen in SPECIMENS if specimen.op == row.name]
    if not specimens:
        return [f"{row.name} has no specimen"]
    return [broken for specimen in specimens for broken in broken_claims(row, specimen)]


def broken_claims(row: OpFacts, specimen: Specimen) -> list[str]:
    """The claims of a row that one specimen contradicts."""
    claims = (_names, _out_axis, _into_axis, _flow, _sign, _passed_values, _macs)
    return [broken for claim in claims for broken in claim(row, trial(specimen))]


def _names(row: OpFacts, of: Trial) -> Iterator[str]:
    for operand in (*row.data, *((row.weight,) if row.weight else ())):
        if operand not in of.operands:
            yield f"names: {operand!r} is not among {of.operands}"
        elif of.fed(operand) != _feeds(of, operand):
            yield f"names: {operand!r} is fed with {of.fed(operand)}"


def _out_axis(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.weight is None or row.weight_axis is None:
        return
    axis, data = row.weight_axis(of.attrs).out, of.data()
    for i in range(data[row.weight].shape[axis]):
        result = of.run({**data, row.weight: _zeroed(data[row.weight], axis, [i])})
        dead = {c for c in range(_channels(row, of, result)) if not _channel(row, of, result, c).any()}
        if dead != {i}:
            yield f"weight_axis.out: without slice {i} the channels {sorted(dead)} die"
    if data[row.weight].shape[axis] != _channels(row, of, of.run(data)):
        yield f"weight_axis.out: {data[row.weight].shape[axis]} slices, another number of channels"


def _into_axis(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.weight is None or row.weight_axis is None:
        return
    axis, data, source = row.weight_axis(of.attrs).into, of.data(), row.data[0]
    count = data[row.weight].shape[axis]
    for j in range(count):
        # In a grouped convolution slice j belongs to the j-th channel of each group.
        channels = range(j, _channels(row, of, data[source]), count)
        silent = _zeroed(data[source], _axis(row, of, data[source]), channels)
        by_weight = of.run({**data, row.weight: _zeroed(data[row.weight], axis, [j])})
        if not np.allclose(by_weight, of.run({**data, source: silent}), rtol=1e-5, atol=1e-5):
            yield f"weight_axis.into: slice {j} does not belong to the channels {list(channels)}"


def _flow(row: OpFacts, of: Trial) -> Iterator[str]:
    return _FLOWS[row.flow](row, of)


def _mixes(row: OpFacts, of: Trial) -> Iterator[str]:
    groups = of.attrs.get("groups", 1)
    for feed, i, before, after in _disturbed(row, of):
        per_group = of.specimen.feeds[feed][_axis(row, of, of.data()[feed])] // groups
        size = _channels(row, of, after) // groups
        expected = set(range(i // per_group * size, (i // per_group + 1) * size))
        yield from _compare(row, of, f"mixes: channel {i} of {feed}", before, after, expected)


def _keeps(row: OpFacts, of: Trial) -> Iterator[str]:
    for feed, i, before, after in _disturbed(row, of):
        # A depthwise filter may make several channels of each.
        each = _channels(row, of, after) // of.specimen.feeds[feed][_axis(row, of, of.data()[feed])]
        expected = set(range(i * each, (i + 1) * each))
        yield from _compare(row, of, f"keeps: channel {i} of {feed}", before, after, expected)


def _reduces(row: OpFacts, of: Trial) -> Iterator[str]:
    for feed, i, before, after in _disturbed(row, of):
        operand = of.data()[feed]
        if after.ndim == operand.ndim and _channels(row, of, after) != 1:
            yield f"reduces: the result has {_channels(row, of, after)} channels"
        if after.ndim < operand.ndim and operand.shape[: after.ndim] == after.shape and after.ndim > 1:
            yield f"reduces: the result has the shape {after.shape}, channels and all"
        if not _differ(before, after):
            yield f"reduces: channel {i} of {feed} does not matter"


def _reshapes(row: OpFacts, of: Trial) -> Iterator[str]:
    data = of.data()
    given = np.concatenate([data[feed].ravel() for operand in row.data for feed in _feeds(of, operand)])
    if not np.array_equal(np.sort(given), np.sort(of.run(data).ravel())):
        yield "reshapes: the result has other values than the operands"


def _makes(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.data or of.operands:
        yield f"makes: it reads {of.operands}"


_FLOWS: dict[ChannelFlow, Claim] = {
    ChannelFlow.MIXES: _mixes,
    ChannelFlow.KEEPS: _keeps,
    ChannelFlow.REDUCES: _reduces,
    ChannelFlow.RESHAPES: _reshapes,
    ChannelFlow.MAKES: _makes,
}


def _sign(row: OpFacts, of: Trial) -> Iterator[str]:
    data = of.data()
    if row.sign is Sign.AS_INPUTS:
        fed = {feed for operand in row.data for feed in _feeds(of, operand)}
        data = {name: abs(x) if name in fed else x for name, x in data.items()}
    if row.sign is not Sign.ANY and not (of.run(data) >= 0).all():
        yield f"sign: {row.sign.value}, but {of.run(data).min()} came out"


def _passed_values(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.passes_values(of.attrs):
        data = of.data()
        new = set(of.run(data).ravel()) - set(data[row.data[0]].ravel()) - {0.0}
        if new or len(row.data) != 1:
            yield f"passes_values: {len(new)} values are not the operand's"


def _macs(row: OpFacts, of: Trial) -> Iterator[str]:
    """With ones everywhere each product adds one to the result (there is no padding in the specimens)."""
    if row.weight is None:
        return
    counted = of.run({name: np.ones_like(x) for name, x in of.data().items()}).sum()
    if row.macs(of.attrs, of.shapes) != counted:
        yield f"macs: {row.macs(of.attrs, of.shapes)}, counted {counted}"


def _disturbed(row: OpFacts, of: Trial) -> Iterator[tuple[str, int, Floats, Floats]]:
    """Each channel of each data operand in turn, with the results before and after it was changed."""
    data = of.data()
    before, noise = of.run(data), np.random.RandomState(1)
    for feed in (feed for operand in row.data for feed in _feeds(of, operand)):
        axis = _axis(row, of, data[feed])
        for i in range(data[feed].shape[axis]):
            changed = data[feed].copy()
            # Large enough to win a maximum and to leave every clipped range.
            np.moveaxis(changed, axis, 0)[i] += noise.uniform(5, 15, np.moveaxis(changed, axis, 0)[i].shape)
            yield feed, i, before, of.run({**data, feed: changed})


def _compare(
    row: OpFacts, of: Trial, what: str, before: Floats, after: Floats, expected: set[int]
) -> Iterator[str]:
    channels = range(_channels(row, of, after))
    changed = {c for c in channels if _differ(_channel(row, of, before, c), _channel(row, of, after, c))}
    if changed != expected:
        yield f"{what} changes {sorted(changed)}, not {sorted(expected)}"


def _feeds(of: Trial, operand: str) -> tuple[str, ...]:
    return tuple(f for f in of.specimen.feeds if f == operand or f.startswith(f"{operand}."))


def _axis(row: OpFacts, of: Trial, array: Floats) -> int:
    return row.channel_axis(of.attrs, array.ndim)


def _channels(row: OpFacts, of: Trial, array: Floats) -> int:
    return int(array.shape[_axis(row, of, array)])


def _channel(row: OpFacts, of: Trial, array: Floats, i: int) -> Floats:
    return np.asarray(np.take(array, i, _axis(row, of, array)), "float32")


def _differ(a: Floats, b: Floats) -> bool:
    return bool((abs(a - b) > NOTICEABLE).any())


def _zeroed(array: Floats, axis: int, indices: list[int] | range) -> Floats:
    silent = array.copy()
    np.moveaxis(silent, axis, 0)[list(indices)] = 0
    return silent


@pytest.mark.parametrize("row", OPS, ids=lambda row: row.name)
def test_a_row_says_what_the_op_does(row: OpFacts) -> None:
    assert unproved(row) == []


def test_a_row_without_a_specimen_is_reported() -> None:
    assert unproved(OpFacts("pd_op.fake", "Nothing.", ChannelFlow.KEEPS)) == ["pd_op.fake has no specimen"]


def test_every_specimen_belongs_to_a_row() -> None:
    assert {specimen.op for specimen in SPECIMENS} == set(OPS.names())


def _swapped(row: OpFacts) -> OpFacts:
    axis_of = row.weight_axis
    assert axis_of is not None

    def swapped(attrs: Attrs) -> Axis:
        axis = axis_of(attrs)
        return Axis(out=axis.into, into=axis.out)

    return replace(row, weight_axis=swapped)


@pytest.mark.parametrize("op", ["pd_op.conv2d", "pd_op.depthwise_conv2d", "pd_op.matmul"])
def test_swapped_axes_are_reported(op: str) -> None:
    broken = "\n".join(unproved(_swapped(OPS[op])))
    assert "weight_axis.out" in broken
    assert "weight_axis.into" in broken


def _ignores_transpose(attrs: Attrs) -> Axis:
    return Axis(out=1, into=0)


WRONG_ROWS = {
    "names": replace(OPS["pd_op.relu"], data=("input",)),
    "weight_axis.out": replace(OPS["pd_op.matmul"], weight_axis=_ignores_transpose),
    "keeps": replace(OPS["pd_op.softmax"], flow=ChannelFlow.KEEPS),
    "mixes": replace(OPS["pd_op.relu"], flow=ChannelFlow.MIXES),
    "reshapes": replace(OPS["pd_op.abs"], flow=ChannelFlow.RESHAPES),
    "reduces": replace(OPS["pd_op.add"], flow=ChannelFlow.REDUCES),
    "makes": replace(OPS["pd_op.relu"], flow=ChannelFlow.MAKES),
    "keeps: channel 0 of x changes": replace(OPS["pd_op.pool2d"], channel_axis=lambda attrs, rank: 1),
    "sign: nonnegative": replace(OPS["pd_op.round"], sign=Sign.NONNEGATIVE),
    "sign: as-inputs": replace(OPS["pd_op.scale"], sign=Sign.AS_INPUTS),
    "passes_values": replace(OPS["pd_op.dropout"], passes_values=lambda attrs: bool(attrs["is_test"])),
    "macs": replace(OPS["pd_op.conv2d"], macs=lambda attrs, shapes: int(np.prod(shapes["filter"]))),
}


@pytest.mark.parametrize("claim", WRONG_ROWS)
def test_a_wrong_row_is_reported(claim: str) -> None:
    assert any(broken.startswith(claim) for broken in unproved(WRONG_ROWS[claim]))


def test_operands_that_trade_places_are_reported() -> None:
    backwards = Specimen("pd_op.divide", lambda x, y: paddle.divide(y, x), {"x": (2, 4), "y": (2, 4)})
    assert "names: 'x' is fed with ('y',)" in broken_claims(OPS["pd_op.divide"], backwards)


@pytest.mark.parametrize("specimen", [MATMUL_TRANSPOSED_X, MATMUL_ATTENTION], ids=["transposed", "attention"])
def test_macs_of_a_matmul_without_a_weight(specimen: Specimen) -> None:
    assert list(_macs(OPS["pd_op.matmul"], trial(specimen))) == []


@pytest.mark.parametrize(
    "specimen", [MEAN_OF_PICTURE, MAX_OF_PICTURE, CONCAT_OF_EXAMPLES], ids=lambda s: s.op
)
def test_where_the_channel_axis_stays_the_channels_go_on(specimen: Specimen) -> None:
    row = replace(OPS[specimen.op], flow=ChannelFlow.KEEPS)
    assert list(_flow(row, trial(specimen))) == []
