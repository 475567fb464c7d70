"""A saved inference model into a `Model` of its own, checked before Paddle sees it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import paddle

from spokeshave.errors.program import ModelNotFound, OldFormat, SeveralModels
from spokeshave.files import check_sums
from spokeshave.program.document import check_document, is_old_format
from spokeshave.program.model import Model
from spokeshave.program.weights import Declared, each_weight
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

MODEL_SUFFIX, WEIGHTS_SUFFIX, SUMS_SUFFIX = ".json", ".pdiparams", ".sha256"
# What Paddle 2 and fluid called a program.
OLD_SUFFIX, OLD_NAME = ".pdmodel", "__model__"
# As far as one must read to tell a program from other JSON, and the old format from the new.
_HEAD_BYTES = 64


def load(path: str | Path) -> Model:
    """Loads a Paddle 3 inference model into a scope of its own.

    `path` is a folder that holds one model, a prefix (`folder/NAME`), or one of its two files. Program and
    weights are checked before Paddle sees them, also against `NAME.sha256` where `save` left one; what is
    wrong is an error that names the file. Costs one read of the files, two where there are checksums.
    """
    json_file = find_model(Path(path))
    check_document(json_file.read_bytes(), str(json_file))
    sums = json_file.with_suffix(SUMS_SUFFIX)
    if sums.is_file():
        check_sums(sums)
    program, scope = read_program(json_file), paddle.static.Scope()
    _fill(scope, program, json_file)
    return Model(program, scope, _take_fetches(program))


def find_model(path: Path) -> Path:
    """The `.json` file that a path means: a folder with one model, a prefix, or one of the two files.

    A file of Paddle 2 that is asked for beside a `.json` of its name is that `.json`; a warning says so.
    """
    if path.is_dir():
        return _only_model_in(path)
    candidates = list(dict.fromkeys(_meant_by(path)))
    found = next((c for c in candidates if c.is_file()), None)
    if found is None:
        raise ModelNotFound(path=str(path), found=f"there is no file {candidates[0].name}")
    if _is_old_name(path) and found.suffix == MODEL_SUFFIX:
        warnings.warn(f"{path} is a name of Paddle 2; reading {found.name} beside it", stacklevel=2)
    return found


def declared_parameters(program: Program) -> Declared:
    """Shape and type of all that a program keeps in its weights file."""
    values = {name: op.result(0) for name, op in parameter_ops(program).items()}
    return {n: (tuple(v.shape), dtype_name(v)) for n, v in values.items() if v.persistable}


def _meant_by(path: Path) -> Iterator[Path]:
    """The files that a path may mean, best first."""
    if path.suffix == MODEL_SUFFIX:
        yield path
        return
    yield path.with_name(path.name + MODEL_SUFFIX)
    if path.suffix == WEIGHTS_SUFFIX or _is_old_name(path):
        yield path.with_suffix(MODEL_SUFFIX)
    if path.suffix != WEIGHTS_SUFFIX:
        yield path
    yield path.with_name(path.name + OLD_SUFFIX)


def _is_old_name(path: Path) -> bool:
    return path.suffix == OLD_SUFFIX or path.name == OLD_NAME


def _only_model_in(folder: Path) -> Path:
    models = [file for file in sorted(folder.glob("*.json")) if _looks_like_program(file)]
    if len(models) > 1:
        raise SeveralModels(path=str(folder), models=", ".join(m.stem for m in models))
    if not models:
        _refuse_old_models_in(folder)
        below = dict.fromkeys(
            f.parent.name for f in sorted(folder.glob("*/*.json")) if _looks_like_program(f)
        )
        hint = f"the folder holds none, but {', '.join(below)} in it do" if below else "the folder holds none"
        raise ModelNotFound(path=str(folder), found=hint)
    return models[0]


def _looks_like_program(file: Path) -> bool:
    return b'"base_code"' in _head(file)


def _refuse_old_models_in(folder: Path) -> None:
    for file in (*sorted(folder.glob(f"*{OLD_SUFFIX}")), folder / OLD_NAME):
        if is_old_format(_head(file)):
            raise OldFormat(path=str(file))


def _head(file: Path) -> bytes:
    if not file.is_file():
        return b""
    with file.open("rb") as stream:
        return stream.read(_HEAD_BYTES)


def _fill(scope: Scope, program: Program, json_file: Path) -> None:
    """Puts the weights into the scope."""
    declared = declared_parameters(program)
    if declared:
        for name, array in each_weight(json_file.with_suffix(WEIGHTS_SUFFIX), json_file, declared):
            write_tensor(scope, name, array)


def _take_fetches(program: Program) -> tuple[tuple[str, Value], ...]:
    """The outputs that a program marks; the marks go, as `Executor.run` and `save` set their own."""
    fetches: list[Operation] = [op for op in program.global_block().ops if op.name() == "pd_op.fetch"]
    ordered = sorted(fetches, key=lambda op: op.attrs()["col"])
    outputs = tuple((op.attrs()["name"], op.operand_source(0)) for op in ordered)
    with building(program):
        for op in fetches:
            erase(op)
    return outputs
