"""`load_weights`: all checked first, then written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import paddle

from spokeshave.errors.models import WeightsOfAnotherNet
from spokeshave.errors.registry import UnknownName
from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.models.weights.reading import Stored, read_stored
from spokeshave.models.weights.spelling import LEFT_BY_TORCH, is_torch, respelt
from spokeshave.registry import nearest
from spokeshave.report import Reason
from spokeshave.seams import Program, Scope, Value, all_ops, dtype_name, parameter_ops, write_tensor

SHOWN = 6
MAKERS = ("paddle", "torch")


@dataclass(frozen=True)
class _Place:
    """Where an array goes: what it must be like there, other names of the place, and how to put it there."""

    shape: tuple[int, ...]
    dtype: str
    write: Callable[[np.ndarray], None]
    alias: str = ""
    is_matrix: bool = False


def load_weights(
    net: Any,
    path: str | Path,
    *,
    scope: Scope | None = None,
    ignore: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    made_by: str | None = None,
) -> tuple[Reason, ...]:
    """Puts trained weights into a Layer, or into the scope of a Program; gives what was left out, and why.

    `path` is a `.pdparams` or `.safetensors` file, or a folder in which each parameter has a file. All names
    and shapes are checked first: if they do not fit, the error lists them, and nothing is loaded. `ignore`
    are globs on names of weights that are to stay as they are; `names` gives the net's name for a name in the
    file. Weights of PyTorch are known by their batch norm statistics and read as such; `made_by` ("paddle" or
    "torch") says so where there are none. Floats are cast to what the net has.

    >>> net = spokeshave.models.create("cifar_resnet20")               # doctest: +SKIP
    >>> load_weights(net, "resnet20.safetensors", ignore=["linear.*"])  # doctest: +SKIP
    """
    places = _places(net, scope or paddle.static.global_scope())
    stored = read_stored(Path(path), lambda name: _matches(name, ignore))
    torch = _is_by_torch(made_by, stored)
    arrays, left = _taken(stored, places, names or {}, torch, ignore)
    wanted = {name: place for name, place in places.items() if not _matches(name, ignore)}
    _check_ignored(ignore, [*places, *stored.arrays], Path(path))
    _check_fits(Path(path), arrays, wanted)
    ready = [(place, _cast(arrays[name], place.dtype)) for name, place in wanted.items()]
    for place, array in ready:
        place.write(array)
    return (
        *left,
        *(Reason("ignored", "a pattern of `ignore` names it", n) for n in places if n not in wanted),
    )


def _is_by_torch(made_by: str | None, stored: Stored) -> bool:
    if made_by not in (None, *MAKERS):
        raise UnknownName(what="maker of weights", name=made_by, nearest=nearest(made_by, MAKERS))
    return made_by == "torch" if made_by else is_torch(stored.arrays)


def _places(net: Any, scope: Scope) -> dict[str, _Place]:
    if isinstance(net, paddle.nn.Layer):
        return _places_of_layer(net, scope)
    return _places_of_program(net, scope)


def _places_of_layer(net: Any, scope: Scope) -> dict[str, _Place]:
    linears = (n for n, part in net.named_sublayers(include_self=True) if isinstance(part, paddle.nn.Linear))
    matrices = {f"{name}.weight".lstrip(".") for name in linears}
    return {
        name: _Place(
            tuple(tensor.shape), dtype_name(tensor), _writer(tensor, scope), tensor.name, name in matrices
        )
        for name, tensor in net.state_dict().items()
    }


def _writer(tensor: Any, scope: Scope) -> Callable[[np.ndarray], None]:
    """Into the tensor; into the scope for a layer that was built in static mode."""
    if isinstance(tensor, paddle.Tensor):
        return lambda array: tensor.set_value(array)
    return lambda array: write_tensor(scope, tensor.name, array)


def _places_of_program(program: Program, scope: Scope) -> dict[str, _Place]:
    matrices = {
        _parameter_name(op.operand_source(1)) for op in all_ops(program) if op.name() == "pd_op.matmul"
    }
    values = {name: op.result(0) for name, op in parameter_ops(program).items()}

    def place(name: str, value: Value) -> _Place:
        def write(array: np.ndarray) -> None:
            write_tensor(scope, name, array)

        return _Place(tuple(value.shape), dtype_name(value), write, is_matrix=name in matrices)

    return {name: place(name, value) for name, value in values.items()}


def _parameter_name(value: Value) -> str:
    maker = value.get_defining_op()
    return str(maker.str_attr("parameter_name")) if maker.name() == "builtin.parameter" else ""


def _taken(
    stored: Stored, places: Mapping[str, _Place], names: Mapping[str, str], torch: bool, ignore: Sequence[str]
) -> tuple[dict[str, np.ndarray], list[Reason]]:
    """The arrays that are to be loaded, under the net's names, and reasons for those that are not."""
    renamed = _renaming(stored, places, names, torch)
    taken, left = {}, []
    for name, array in stored.arrays.items():
        new = renamed(name)
        if _matches(name, ignore) or _matches(new, ignore):
            left.append(Reason("ignored", "a pattern of `ignore` names it", name))
        elif torch and name.endswith(LEFT_BY_TORCH):
            left.append(Reason("no-place", "Paddle's batch norm keeps no such thing", name))
        else:
            turns = torch and new in places and places[new].is_matrix
            taken[new] = array.T if turns else array
    return taken, left


def _renaming(
    stored: Stored, places: Mapping[str, _Place], names: Mapping[str, str], torch: bool
) -> Callable[[str], str]:
    """From names in the file to those of the net: of the ways to spell them, the one that meets most."""
    by_alias = {place.alias: name for name, place in places.items() if place.alias}
    ways: list[Callable[[str], str]] = [
        lambda name: name,
        lambda name: by_alias.get(name, name),
        lambda name: stored.aliases.get(name, name),
    ]
    if torch:
        ways = [respelt]
    met = [sum(way(name) in places for name in stored.arrays) for way in ways]
    best = ways[met.index(max(met))]
    return lambda name: names.get(name) or best(name)


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _check_ignored(ignore: Sequence[str], known: list[str], path: Path) -> None:
    files = [file.name for file in path.iterdir()] if path.is_dir() else []
    for glob in ignore:
        if not any(fnmatchcase(name, glob) for name in (*known, *files)):
            raise RuleMatchedNothing(rule=glob, nearest=nearest(glob, known))


def _fits(array: np.ndarray, place: _Place) -> bool:
    both_float = _is_float(str(array.dtype)) and _is_float(place.dtype)
    return tuple(array.shape) == place.shape and (both_float or str(array.dtype) == place.dtype)


def _is_float(dtype: str) -> bool:
    # Paddle keeps bfloat16 in files as the 16 bits that it is.
    return dtype in ("float16", "float32", "float64", "bfloat16", "uint16")


def _cast(array: np.ndarray, dtype: str) -> np.ndarray:
    if array.dtype == np.uint16 and dtype != "bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if dtype == "bfloat16" and array.dtype != np.uint16:
        # To the nearest, ties to even.
        bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.ascontiguousarray(array, "uint16" if dtype == "bfloat16" else dtype).reshape(array.shape)


def _check_fits(path: Path, arrays: Mapping[str, np.ndarray], wanted: Mapping[str, _Place]) -> None:
    missing = tuple(name for name in wanted if name not in arrays)
    unexpected = tuple(name for name in arrays if name not in wanted)
    pairs = [(name, arrays[name], place) for name, place in wanted.items() if name in arrays]
    misshaped = tuple(_misfit(name, array, place) for name, array, place in pairs if not _fits(array, place))
    kinds = {"Missing": missing, "Unexpected": unexpected, "Misshaped": misshaped}
    if any(kinds.values()):
        raise WeightsOfAnotherNet(
            path=str(path),
            differences=" ".join(f"{kind}: {_listed(names)}." for kind, names in kinds.items() if names),
            missing=missing,
            unexpected=unexpected,
            misshaped=misshaped,
        )


def _misfit(name: str, array: np.ndarray, place: _Place) -> str:
    found = f"{array.dtype}{list(array.shape)}"
    return f"{name} is {found} and should be {place.dtype}{list(place.shape)}"


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
