"""A saved inference model into a `Model` of its own, checked before Paddle sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import paddle

from spokeshave.errors.files import CannotRead
from spokeshave.errors.formats import InputShapesFixed
from spokeshave.errors.program import NotAModel
from spokeshave.files import check_sums
from spokeshave.program.document import check_document
from spokeshave.program.finding import (
    PADDLE_2,
    SUMS_SUFFIX,
    Weights,
    find_program,
    find_weights,
    format_of,
)
from spokeshave.program.model import Model
from spokeshave.program.old_format import (
    loses_numbers,
    old_leeway,
    old_outputs,
    old_parameters,
    read_old,
    to_pir,
    with_shapes,
)
from spokeshave.program.weights import STRICT, Declared, Leeway, each_weight, each_weight_in
from spokeshave.seams import (
    Operation,
    Program,
    Scope,
    Value,
    building,
    dtype_name,
    erase,
    parameter_ops,
    read_program,
    write_tensor,
)
from spokeshave.seams.old_programs import OldProgram


@dataclass(frozen=True)
class ModelFiles:
    """The files that a model was found in: `paddle-3`, or `paddle-2` as fluid wrote too."""

    format: str
    program: Path
    weights: tuple[Path, ...]


def load(
    path: str | Path,
    *,
    model_filename: str | None = None,
    params_filename: str | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
) -> Model:
    """Loads an inference model of Paddle 3, Paddle 2 or fluid into a scope of its own.

    `path` is a folder that holds one model, a prefix (`folder/NAME`), or one of its files; what they are is
    seen by what they hold. `model_filename` and `params_filename` name the files in a folder, as old Paddle
    did. Paddle 2 never compared what was fed with the sizes that a file declares, so such a model runs on
    others too; `input_shapes` gives its inputs other shapes for good, -1 for any size.

    Program and weights are checked before Paddle sees them, also against `NAME.sha256` where `save` left
    one; what is wrong is an error that names the file. Costs one read of the files, two where there are
    checksums.

    >>> model = load("ch_PP-OCRv3_det")                                        # doctest: +SKIP
    >>> model = load("lac", model_filename="__model__")                        # doctest: +SKIP
    >>> model = load("ch_ppocr_cls", input_shapes={"x": (-1, 3, 48, 192)})     # doctest: +SKIP
    """
    file = find_program(Path(path), model_filename)
    sums = file.with_suffix(SUMS_SUFFIX)
    if sums.is_file():
        check_sums(sums)
    content = _read(file)
    if format_of(content) == PADDLE_2:
        old = with_shapes(read_old(content, str(file)), input_shapes or {}, str(file))
        return _read_paddle_2(file, old, params_filename)
    if input_shapes:
        raise InputShapesFixed(path=str(file))
    return _read_paddle_3(file, content, params_filename)


def find_files(
    path: str | Path, *, model_filename: str | None = None, params_filename: str | None = None
) -> ModelFiles:
    """The files that `load` would read, and their format."""
    file = find_program(Path(path), model_filename)
    content = _read(file)
    kind = format_of(content)
    if kind == PADDLE_2:
        names: Collection[str] = old_parameters(read_old(content, str(file)))
    else:
        names = ("any",)
    weights = find_weights(file, names, params_filename).files(file, names)
    return ModelFiles(kind, file, tuple(w for w in weights if w.is_file()))


def declared_parameters(program: Program) -> Declared:
    """Shape and type of all that a program keeps in its weights file."""
    values = {name: op.result(0) for name, op in parameter_ops(program).items()}
    return {n: (tuple(v.shape), dtype_name(v)) for n, v in values.items() if v.persistable}


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CannotRead(path=str(file), why=error.strerror or str(error)) from error


def _read_paddle_3(file: Path, content: bytes, params_filename: str | None) -> Model:
    check_document(content, str(file))
    program, scope = read_program(file), paddle.static.Scope()
    if loses_numbers(program):
        raise NotAModel(path=str(file), found="it holds a set_value without its numbers")
    declared = declared_parameters(program)
    _fill(scope, _each(file, find_weights(file, declared, params_filename), declared))
    return Model(program, scope, _take_fetches(program))


def _read_paddle_2(file: Path, old: OldProgram, params_filename: str | None) -> Model:
    declared, scope = old_parameters(old), paddle.static.Scope()
    weights = find_weights(file, declared, params_filename)
    found = _fill(scope, _each(file, weights, declared, old_leeway(old)))
    stored = {name: dtype for name, dtype in found.items() if dtype == "int8"}
    program = to_pir(old, str(file), stored).program
    values = (value for _, value in _take_fetches(program))
    fetches = tuple(zip(old_outputs(old), values))
    return Model(program, scope, fetches, takes_other_sizes=True)


def _each(
    file: Path, weights: Weights, declared: Declared, leeway: Leeway = STRICT
) -> Iterator[tuple[str, np.ndarray]]:
    """The weights with their names; none where the program has none."""
    if not declared:
        return iter(())
    each = each_weight_in if weights.are_apart else each_weight
    return each(weights.path, file, declared, leeway)


def _fill(scope: Scope, weights: Iterator[tuple[str, np.ndarray]]) -> dict[str, str]:
    """Puts the weights into the scope, and tells their types."""
    found = {}
    for name, array in weights:
        write_tensor(scope, name, array)
        found[name] = str(array.dtype)
    return found


def _take_fetches(program: Program) -> tuple[tuple[str, Value], ...]:
    """The outputs that a program marks; the marks go, as `Executor.run` and `save` set their own."""
    fetches: list[Operation] = [op for op in program.global_block().ops if op.name() == "pd_op.fetch"]
    ordered = sorted(fetches, key=lambda op: op.attrs()["col"])
    outputs = tuple((op.attrs()["name"], op.operand_source(0)) for op in ordered)
    with building(program):
        for op in fetches:
            erase(op)
    return outputs
