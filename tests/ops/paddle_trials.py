"""An op of the table as a tiny Paddle program that can be run on any data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle

Floats = npt.NDArray[np.float32]
ALL = "*"


def _push(channel: Floats) -> Floats:
    """Far enough to win a maximum and to leave every clipped range."""
    pushed = channel + np.random.RandomState(1).uniform(5, 15, channel.shape)
    return pushed.astype(channel.dtype)


@dataclass(frozen=True, eq=False)
class Specimen:
    """One way to call an op. `feeds` are shapes by operand, drawn anew each time; a list is `x.0`, `x.1`.

    `given` are operands that are fed the same each time, such as sizes. What is drawn is normal unless it
    is named in `positive` (above one), `whole` (a few integers as floats) or `indices` (as integers).
    `disturb` is how a channel is changed. `partly` says that a change reaches only some of the channels that
    the row promises, and why. `sequences` splits the first operand, for an op that reads sequences of
    different lengths. `macs` were worked out by hand, where they cannot be counted with ones. `renamed` is
    what the op was called when it was built, for one that no call makes.
    """

    op: str
    call: Callable[..., Any]
    feeds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    given: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    result: str = ""
    disturb: Callable[[Floats], Floats] = _push
    partly: str = ""
    sequences: tuple[int, ...] = ()
    indices: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    macs: int | None = None
    renamed: str = ""


class Trial:
    """A specimen as a program. Build and run it in static mode."""

    def __init__(self, specimen: Specimen) -> None:
        self.specimen = specimen
        self.program = paddle.static.Program()
        with paddle.static.program_guard(self.program, paddle.static.Program()):
            _build(specimen)
        if specimen.renamed:
            self.program = _renamed(self.program, specimen)
        self.op = [op for op in self.program.global_block().ops if op.name() == specimen.op][-1]
        self.operands: tuple[str, ...] = tuple(self.op.get_input_names())
        self.attrs: dict[str, Any] = {k: v for k, v in self.op.attrs().items() if k not in _NOT_MEANING}
        self.values = results_of(self.op)
        self._result = specimen.result or next(iter(self.values))

    def fed(self, operand: str) -> tuple[str, ...]:
        """The feeds that reach an operand in the program, whatever the call was written to mean."""
        makers = makers_of(self.source(operand))
        return tuple(maker.attrs()["name"] for maker in makers if maker.name() == "pd_op.data")

    def source(self, operand: str) -> Any:
        """The value at an operand of the op."""
        return self.op.operands_source()[self.operands.index(operand)]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the operands that are fed and of the results."""
        results = {name: tuple(value.shape) for name, value in self.values.items()}
        return {**self.specimen.feeds, **{n: x.shape for n, x in self.specimen.given.items()}, **results}

    @property
    def results(self) -> tuple[str, ...]:
        """The names of the results that mean something, those of a list one by one."""
        return tuple(name for name in self.values if name not in self.specimen.unread)

    def data(self, seed: int = 0) -> dict[str, Floats]:
        """Data of both signs for every operand that is drawn."""
        random = np.random.RandomState(seed)
        return {name: self._drawn(name, random.randn(*shape)) for name, shape in self.specimen.feeds.items()}

    def run(self, data: Mapping[str, Floats]) -> Floats:
        """The result for that data; all results in one row where the specimen asks for `ALL`."""
        if self._result != ALL:
            return self.run_all(data, (self._result,))[0]
        return np.concatenate([result.ravel() for result in self.run_all(data)])

    def run_all(self, data: Mapping[str, Floats], names: tuple[str, ...] = ()) -> list[Floats]:
        """The results of those names, or all of them."""
        fetch = [self.values[name] for name in names or self.results]
        return run_program(self.program, self.feed(data), fetch)

    def feed(self, data: Mapping[str, Floats]) -> dict[str, Any]:
        """What the program is fed with, for that data."""
        feed: dict[str, Any] = {**{name: x.copy() for name, x in data.items()}, **self.specimen.given}
        if self.specimen.sequences:
            first = next(iter(feed))
            feed[first] = _sequences(feed[first], self.specimen.sequences)
        return feed

    def _drawn(self, name: str, normal: npt.NDArray[Any]) -> Floats:
        if name in self.specimen.positive:
            return (abs(normal) + 1).astype("float32")
        if name in self.specimen.indices:
            return normal.round().astype("int64")
        return (normal.round() if name in self.specimen.whole else normal).astype("float32")


@cache
def trial(specimen: Specimen) -> Trial:
    """The trial of a specimen, built once."""
    return Trial(specimen)


def run_program(program: Any, feed: Mapping[str, Any], fetch: list[Any]) -> list[Floats]:
    """The fetched values as floats, from a scope of their own."""
    with paddle.static.scope_guard(paddle.static.Scope()):
        found = _executor().run(program, feed=dict(feed), fetch_list=fetch, return_numpy=False)
        return [np.asarray(np.asarray(x), "float32") for x in found]


def results_of(op: Any) -> dict[str, Any]:
    """The results of an op by name; one that is a list is spelt out as the values that are taken from it."""
    found: dict[str, Any] = {}
    for name, value in zip(op.get_output_names(), op.results()):
        if value.initialized() and value.is_dense_tensor_type():
            found[name] = value
        elif value.initialized():
            found.update({f"{name}.{i}": part for i, part in sorted(_parts(value))})
    return found


def _parts(value: Any) -> Iterator[tuple[int, Any]]:
    for user in value.all_used_ops():
        if user.name() == "builtin.split":
            yield from enumerate(user.results())
        elif user.name() == "builtin.slice":
            yield user.attrs()["index"], user.result(0)


_NOT_MEANING = ("op_callstack", "stop_gradient")


@cache
def _executor() -> Any:
    return paddle.static.Executor(paddle.CPUPlace())


def _build(specimen: Specimen) -> None:
    floats = {
        name: paddle.static.data(name, list(shape), "int64" if name in specimen.indices else "float32")
        for name, shape in specimen.feeds.items()
    }
    given = {n: paddle.static.data(n, list(x.shape), str(x.dtype)) for n, x in specimen.given.items()}
    specimen.call(*floats.values(), *given.values())


def _renamed(program: Any, specimen: Specimen) -> Any:
    """The program with an op of another name in it, by way of a file."""
    with TemporaryDirectory() as folder:
        file, renamed = Path(folder) / "program.json", paddle.static.Program()
        paddle.base.core.serialize_pir_program(program, str(file), True, True, True)
        before, after = specimen.renamed.split(".")[1], specimen.op.split(".")[1]
        file.write_text(file.read_text().replace(f'.{before}"', f'.{after}"'))
        paddle.base.core.deserialize_pir_program(str(file), renamed)
    return renamed


def makers_of(value: Any) -> list[Any]:
    """What makes a value, or the values that it gathers; none where it is absent."""
    if not value.initialized():
        return []
    maker = value.get_defining_op()
    if maker.name() == "builtin.combine":
        return [one for part in maker.operands_source() for one in makers_of(part)]
    return [maker]


def _sequences(rows: Floats, lengths: tuple[int, ...]) -> Any:
    return paddle.base.create_lod_tensor(rows, [list(lengths)], paddle.CPUPlace())
