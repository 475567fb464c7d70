"""What a row of the op table claims, held against the op: one slice is disturbed, and the result tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from paddle_trials import Floats, Specimen, Trial, trial
from specimens import SPECIMENS

from spokeshave.ops import ChannelFlow, OnCodes, OpFacts, Sign

Claim = Callable[[OpFacts, Trial], Iterator[str]]

# Results are of magnitude one in float32; a channel that is not read stays as it is, or nearly.
NOTICEABLE = 1e-6
# A sum of a few hundred products in float32, taken in another order.
ROUNDED = 1e-4


def unproved(row: OpFacts) -> list[str]:
    """What a row says that no specimen bears out; a row without a specimen is unproved as a whole."""
    specimens = [specimen for specimen in SPECIMENS if specimen.op == row.name]
    if not specimens:
        return [f"{row.name} has no specimen"]
    return [broken for specimen in specimens for broken in broken_claims(row, specimen)]


def broken_claims(row: OpFacts, specimen: Specimen) -> list[str]:
    """The claims of a row that one specimen contradicts."""
    of = trial(specimen)
    misnamed = list(_names(row, of))
    return misnamed or [broken for claim in CLAIMS for broken in claim(row, of)]


def flow(row: OpFacts, of: Trial) -> Iterator[str]:
    """What contradicts the channel flow."""
    return _FLOWS[row.flow](row, of)


def macs(row: OpFacts, of: Trial) -> Iterator[str]:
    """With ones everywhere each product adds one to the result (there is no padding in the specimens)."""
    claimed = row.macs(of.attrs, of.shapes)
    if of.specimen.macs is not None:
        counted = of.specimen.macs
    elif row.weight is None or row.flow is ChannelFlow.MAKES:
        counted = 0
    else:
        counted = of.run({name: np.ones_like(x) for name, x in of.data().items()}).sum()
    if claimed != counted:
        yield f"macs: {claimed}, counted {counted}"


def _names(row: OpFacts, of: Trial) -> Iterator[str]:
    for operand in (*row.data, *((row.weight,) if row.weight else ())):
        feeds = (*_feeds(of, operand), *(g for g in of.specimen.given if g == operand))
        if operand not in of.operands:
            yield f"names: {operand!r} is not among {of.operands}"
        elif of.fed(operand) != feeds or not feeds:
            yield f"names: {operand!r} is fed with {of.fed(operand)}"
        elif operand in row.data and row.takes_list != (feeds != (operand,)):
            yield f"takes_list: {operand!r} is fed with {feeds}"


def _out_axis(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.weight is None or row.weight_axis is None:
        return
    axis, data = row.weight_axis(of.attrs).out, of.data()
    count = data[row.weight].shape[axis]
    for i in range(count):
        result = of.run({**data, row.weight: _zeroed(data[row.weight], axis, [i])})
        dead = {c for c in range(_channels(row, of, result)) if not _channel(row, of, result, c).any()}
        expected = _channels_of_slice(row, of, i, count, result)
        if not expected or dead != expected:
            yield f"weight_axis.out: without slice {i} {sorted(dead)} die, not {sorted(expected)}"


def _channels_of_slice(row: OpFacts, of: Trial, i: int, count: int, result: Floats) -> set[int]:
    """The channels of the result that slice i of a weight makes: one, or one in each group."""
    channels = _channels(row, of, result)
    groups = of.attrs.get("groups", 1)
    if count * groups == channels and row.flow is ChannelFlow.MIXES:
        return set(range(i, channels, count))
    return {i} if count == channels else set()


def _into_axis(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.weight is None or row.weight_axis is None:
        return
    axis, data, source = row.weight_axis(of.attrs).into, of.data(), row.data[0]
    count = data[row.weight].shape[axis]
    for j in range(count):
        by_weight = of.run({**data, row.weight: _zeroed(data[row.weight], axis, [j])})
        if row.flow is ChannelFlow.MAKES:
            missing = np.where(of.specimen.given[source][..., None] == j, 0, of.run(data))
            if not np.array_equal(by_weight, missing):
                yield f"weight_axis.into: slice {j} is not what {j} finds"
            continue
        # In a grouped convolution slice j belongs to the j-th channel of each group.
        channels = range(j, _channels(row, of, data[source]), count)
        silent = _zeroed(data[source], _axis(row, of, data[source]), channels)
        if not _near(by_weight, of.run({**data, source: silent})):
            yield f"weight_axis.into: slice {j} does not belong to the channels {list(channels)}"


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
        if after.ndim == operand.ndim and _channels(row, of, after) == _channels(row, of, operand):
            yield f"reduces: the result has {_channels(row, of, after)} channels"
        is_kept = 1 < after.ndim < operand.ndim and operand.shape[: after.ndim] == after.shape
        if is_kept and _axis(row, of, operand) < after.ndim:
            yield f"reduces: the result has the shape {after.shape}, channels and all"
        if not _differ(before, after):
            yield f"reduces: channel {i} of {feed} does not matter"


def _reshapes(row: OpFacts, of: Trial) -> Iterator[str]:
    """Each element of the result follows one element of an operand, or none."""
    data = of.data()
    feeds = [feed for operand in row.data for feed in _feeds(of, operand)]
    places = np.arange(1, 1 + sum(data[feed].size for feed in feeds), dtype="float32")
    split = np.split(places, np.cumsum([data[feed].size for feed in feeds])[:-1])
    counted = of.run({**data, **{f: p.reshape(data[f].shape) for f, p in zip(feeds, split)}})
    values = np.concatenate([data[feed].ravel() for feed in feeds])
    moved = np.isin(counted, places)
    result = of.run(data)
    if not moved.any() or not np.array_equal(result[moved], values[counted[moved].astype(int) - 1]):
        yield "reshapes: the result has other values than the operands"
    if not np.array_equal(result[~moved], counted[~moved]):
        yield "reshapes: what is not an operand's value is no constant"


def _makes(row: OpFacts, of: Trial) -> Iterator[str]:
    drawn = [feed for feed in of.specimen.feeds if feed != row.weight]
    again = {name: x for name, x in of.data(1).items() if name in drawn}
    if _differ(of.run(of.data()), of.run({**of.data(), **again})):
        yield f"makes: it reads {drawn}"
    if row.data and row.weight is None and set(row.data) & set(of.specimen.feeds):
        yield f"makes: {row.data} carry numbers"


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
    if row.passes_values(of.attrs) and of.results:
        data = of.data()
        results = np.concatenate([result.ravel() for result in of.run_all(data)])
        new = set(results) - set(data[row.data[0]].ravel()) - {0.0}
        if new or len(row.data) != 1:
            yield f"passes_values: {len(new)} values are not the operand's"


def _on_codes(row: OpFacts, of: Trial) -> Iterator[str]:
    return _CODES[row.on_codes(of.attrs)](row, of)


def _moves(row: OpFacts, of: Trial) -> Iterator[str]:
    data = of.data()
    values = {value for operand in row.data for feed in _feeds(of, operand) for value in data[feed].ravel()}
    if set(of.run(data).ravel()) - values - {0.0}:
        yield "on_codes: moves, but values came out that did not go in"
    yield from _scales(row, of)


def _scales(row: OpFacts, of: Trial) -> Iterator[str]:
    feeds = [feed for operand in row.data for feed in _feeds(of, operand)]
    yield from _grows(row, of, feeds)


def _multiplies(row: OpFacts, of: Trial) -> Iterator[str]:
    for feed in (feed for operand in row.data for feed in _feeds(of, operand)):
        yield from _grows(row, of, [feed])
    if row.takes_integer_weight(of.attrs) and row.weight is not None and row.weight_axis is not None:
        data, axis = of.data(), row.weight_axis(of.attrs).out
        scaled, count = data[row.weight].copy(), data[row.weight].shape[axis]
        for i, weights in enumerate(np.moveaxis(scaled, axis, 0)):
            weights *= i + 2
        before, after = of.run(data), of.run({**data, row.weight: scaled})
        for i in range(count):
            for channel in _channels_of_slice(row, of, i, count, before):
                expected = (i + 2) * _channel(row, of, before, channel)
                if not _near(_channel(row, of, after, channel), expected):
                    yield f"on_codes: multiplies, but channel {channel} does not grow with its weights"


def _grows(row: OpFacts, of: Trial, feeds: list[str]) -> Iterator[str]:
    data = of.data()
    tripled = {**data, **{feed: 3 * data[feed] for feed in feeds}}
    if not _near(of.run(tripled), 3 * of.run(data)):
        yield f"on_codes: {row.on_codes(of.attrs).value}, but the result does not grow with {feeds}"


_CODES: dict[OnCodes, Claim] = {
    OnCodes.MOVES: _moves,
    OnCodes.SCALES: _scales,
    OnCodes.MULTIPLIES: _multiplies,
    OnCodes.FLOATS: lambda row, of: iter(()),
}


def _batch_norm(row: OpFacts, of: Trial) -> Iterator[str]:
    if row.is_batch_norm and "is_test" not in of.attrs:
        yield "is_batch_norm: it has no test mode"
    if not row.is_batch_norm or not of.attrs.get("is_test"):
        return
    data = of.data()
    x = np.moveaxis(data["x"], _axis(row, of, data["x"]), -1)
    result = np.moveaxis(of.run(data), _axis(row, of, data["x"]), -1)
    if x.shape[-1:] != data["mean"].shape:
        yield "is_batch_norm: the result has another number of channels than the statistics"
        return
    gain = data["scale"] / np.sqrt(data["variance"] + of.attrs["epsilon"])
    if not _near(result, (x - data["mean"]) * gain + data["bias"]):
        yield "is_batch_norm: the result is not a scale and a shift by the statistics"


CLAIMS: tuple[Claim, ...] = (
    _out_axis,
    _into_axis,
    flow,
    _sign,
    _passed_values,
    _on_codes,
    _batch_norm,
    macs,
)


def _disturbed(row: OpFacts, of: Trial) -> Iterator[tuple[str, int, Floats, Floats]]:
    """Each channel of each data operand in turn, with the results before and after it was changed."""
    data = of.data()
    before = of.run(data)
    for feed in (feed for operand in row.data for feed in _feeds(of, operand)):
        axis = _axis(row, of, data[feed])
        for i in range(data[feed].shape[axis]):
            changed = data[feed].copy()
            channel = np.moveaxis(changed, axis, 0)
            channel[i] = of.specimen.disturb(channel[i])
            yield feed, i, before, of.run({**data, feed: changed})


def _compare(
    row: OpFacts, of: Trial, what: str, before: Floats, after: Floats, expected: set[int]
) -> Iterator[str]:
    channels = range(_channels(row, of, after))
    changed = {c for c in channels if _differ(_channel(row, of, before, c), _channel(row, of, after, c))}
    if changed != expected and not (of.specimen.partly and changed and changed < expected):
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
    if a.shape != b.shape:
        return True
    return bool((~np.isclose(a, b, rtol=0, atol=NOTICEABLE, equal_nan=True)).any())


def _near(a: Floats, b: Floats) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=ROUNDED, atol=ROUNDED))


def _zeroed(array: Floats, axis: int, indices: list[int] | range) -> Floats:
    silent = array.copy()
    np.moveaxis(silent, axis, 0)[list(indices)] = 0
    return silent
