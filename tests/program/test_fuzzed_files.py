"""Damaged files end in an error of ours or in a model, never in another exception or a dead process."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Union

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spokeshave.errors import SpokeshaveError
from spokeshave.program import load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Saved = Callable[[str], Path]
Way = tuple[Union[str, int], ...]

PLACES = st.integers(0, 1 << 30)
EDITS = st.lists(
    st.tuples(st.sampled_from(["cut", "flip", "swap", "drop", "digit"]), PLACES, PLACES), max_size=3
)
ODD: list[Any] = [
    0,
    1,
    -1,
    7,
    1 << 40,
    1 << 70,
    0.5,
    1e30,
    "",
    "x",
    "0.a_i32",
    True,
    None,
    [],
    {},
    [1],
    {"%": 1},
]

quick = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def damaged(text: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    """Cuts off the end, flips a bit, swaps two bytes, drops some, changes a digit."""
    found = bytearray(text)
    for what, at, other in edits:
        if found:
            _damage(found, what, at % len(found), other)
    return bytes(found)


def _damage(text: bytearray, what: str, at: int, other: int) -> None:
    if what == "cut":
        del text[at:]
    elif what == "flip":
        text[at] ^= 1 << other % 8
    elif what == "swap":
        second = other % len(text)
        text[at], text[second] = text[second], text[at]
    elif what == "drop":
        del text[at : at + 1 + other % 8]
    else:
        digits = [i for i in range(at, min(at + 200, len(text))) if chr(text[i]).isdigit()]
        for i in digits[:1]:
            text[i] = ord("0") + other % 10


def ways(document: Any, way: Way = ()) -> list[Way]:
    """The way to every place in a JSON document."""
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = enumerate(document)
    return [way, *(found for key, part in inner for found in ways(part, (*way, key)))]


def at(document: Any, way: Way) -> Any:
    for key in way:
        document = document[key]
    return document


def check_refused_or_whole(prefix: Path) -> None:
    """What loads also has a view and can be saved."""
    with suppress(SpokeshaveError):
        model = load(prefix)
        save(model, prefix.with_name("again"))
        assert model.view.values


def copied(saved: Saved, folder: Path, name: str = "lenet") -> tuple[Path, bytes, bytes]:
    program, weights = (saved(name).with_suffix(kind).read_bytes() for kind in (".json", ".pdiparams"))
    (folder / "m.json").write_bytes(program)
    (folder / "m.pdiparams").write_bytes(weights)
    return folder / "m", program, weights


@quick
@given(edits=EDITS)
def test_damaged_weights_are_refused_or_load(
    saved: Saved, tmp_path: Path, edits: list[tuple[str, int, int]]
) -> None:
    prefix, _, weights = copied(saved, tmp_path)
    prefix.with_suffix(".pdiparams").write_bytes(damaged(weights, edits))
    check_refused_or_whole(prefix)


@quick
@given(edits=EDITS)
def test_damaged_heads_of_weights_are_refused_or_load(
    saved: Saved, tmp_path: Path, edits: list[tuple[str, int, int]]
) -> None:
    prefix, _, weights = copied(saved, tmp_path)
    prefix.with_suffix(".pdiparams").write_bytes(damaged(weights[:60], edits) + weights[60:])
    check_refused_or_whole(prefix)


@quick
@pytest.mark.parametrize("name", ["lenet", "branching"])
@given(edits=EDITS)
def test_damaged_programs_are_refused_or_load(
    saved: Saved, tmp_path: Path, name: str, edits: list[tuple[str, int, int]]
) -> None:
    prefix, program, _ = copied(saved, tmp_path, name)
    prefix.with_suffix(".json").write_bytes(damaged(program, edits))
    check_refused_or_whole(prefix)


@quick
@pytest.mark.parametrize("name", ["lenet", "branching"])
@given(place=PLACES, other=PLACES, what=st.sampled_from(["odd", "copy", "drop"]))
def test_programs_with_odd_content_are_refused_or_load(
    saved: Saved, tmp_path: Path, name: str, place: int, other: int, what: str
) -> None:
    prefix, program, _ = copied(saved, tmp_path, name)
    document = json.loads(program)
    every = ways(document)[1:]
    *before, last = every[place % len(every)]
    parent: Any = at(document, tuple(before))
    if what == "odd":
        parent[last] = ODD[other % len(ODD)]
    elif what == "copy":
        parent[last] = at(json.loads(program), every[other % len(every)])
    else:
        del parent[last]
    prefix.with_suffix(".json").write_text(json.dumps(document))
    check_refused_or_whole(prefix)
