"""A saved inference model into a `Model` of its own, checked before Paddle sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Union

import paddle

from spokeshave.errors.program import ModelNotFound, NotAModel, SeveralModels
from spokeshave.files import check_sums
from spokeshave.program.model import Model
from spokeshave.program.weights import Declared, read_weights
from spokeshave.seams import Operation, Program, building, erase, read_program, write_tensor

WEIGHTS_SUFFIX, SUMS_SUFFIX = ".pdiparams", ".sha256"
# JSON that stands beside models and is none.
_HEAD_BYTES = 64


def load(path: Union[str, Path]) -> Model:
    """Loads a Paddle 3 inference model into a scope of its own.

    `path` is a folder that holds one model, a prefix (`folder/NAME`), or one of its two files. The weights
    are parsed and checked against the program first, and against `NAME.sha256` where `save` left one.
    Costs one read of the files.
    """
    json_file = find_model(Path(path))
    _check_program_file(json_file)
    sums = json_file.with_suffix(SUMS_SUFFIX)
    if sums.is_file():
        check_sums(sums)
    program = read_program(json_file)
    _check_known(program, json_file)
    scope = paddle.static.Scope()
    weights_file = json_file.with_suffix(WEIGHTS_SUFFIX)
    declared = declared_parameters(program)
    if declared:
        for name, array in read_weights(weights_file, json_file, declared).items():
            write_tensor(scope, name, array)
    return Model(program, scope, _take_fetches(program))


def find_model(path: Path) -> Path:
    """The `.json` file that a path means: a folder with one model, a prefix, or one of the two files."""
    if path.is_dir():
        return _only_model_in(path)
    candidates = [path] if path.suffix == ".json" else [path.with_name(path.name + ".json")]
    if path.suffix in (WEIGHTS_SUFFIX, ".pdmodel") or path.name == "__model__":
        candidates.append(path.with_suffix(".json"))
    if path.is_file() and path.suffix not in (WEIGHTS_SUFFIX, ".json"):
        candidates.append(path)
    found = next((c for c in candidates if c.is_file()), None)
    if found is None:
        raise ModelNotFound(path=str(path), found=f"there is no file {candidates[0].name}")
    return found


def declared_parameters(program: Program) -> Declared:
    """Shape and type of all that a program keeps in its weights file."""
    from_view = {}
    for op in program.global_block().ops:
        if op.name() == "builtin.parameter":
            value = op.result(0)
            from_view[op.attrs()["parameter_name"]] = (tuple(value.shape), value.dtype.name.lower())
    return from_view


def _only_model_in(folder: Path) -> Path:
    models = [file for file in sorted(folder.glob("*.json")) if _looks_like_program(file)]
    if not models:
        below = [f.parent.name for f in sorted(folder.glob("*/*.json")) if _looks_like_program(f)]
        hint = f"it holds no model, but {', '.join(below)} in it do" if below else "the folder holds no model"
        raise ModelNotFound(path=str(folder), found=hint)
    if len(models) > 1:
        raise SeveralModels(path=str(folder), models=", ".join(m.stem for m in models))
    return models[0]


def _looks_like_program(file: Path) -> bool:
    with file.open("rb") as stream:
        return b'"base_code"' in stream.read(_HEAD_BYTES)


def _check_program_file(path: Path) -> None:
    """Refuses what is no program of Paddle 3, or one whose operators do not hang together."""
    text = path.read_bytes()
    if not text.strip():
        raise NotAModel(path=str(path), found="the file is empty")
    try:
        document = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise NotAModel(path=str(path), found=f"no JSON ({error})") from error
    fault = _fault_of(document)
    if fault:
        raise NotAModel(path=str(path), found=fault)


def _fault_of(document: Any) -> str:
    try:
        if document["base_code"]["magic"] != "pir":
            return "JSON of another kind"
        regions = document["program"]["regions"]
        return _fault_of_regions(regions, set())
    except (KeyError, TypeError, IndexError, AttributeError):
        return "JSON, but not the JSON of a Paddle 3 program"


def _fault_of_regions(regions: Any, known: set[int]) -> str:
    """The first operand that nothing has made before it is read: Paddle takes such a program and dies running it."""
    for region in regions:
        for block in region["blocks"]:
            inside = known | {argument["#"] for argument in block["args"] if isinstance(argument["#"], int)}
            for number, op in enumerate(block["ops"]):
                fault = _fault_of_op(op, number, inside)
                if fault:
                    return fault
    return ""


def _fault_of_op(op: Any, number: int, known: set[int]) -> str:
    operands = [i["%"] for i in op.get("I", [])]
    missing = [i for i in operands if i not in known and i != 0]
    if missing and "regions" not in op:
        return f"operator {number} ({op['#']}) reads value {missing[0]}, which nothing before it makes"
    results = op["O"] if isinstance(op["O"], list) else [op["O"]]
    known.update(r["%"] for r in results)
    return _fault_of_regions(op["regions"], known) if "regions" in op else ""


def _check_known(program: Program, path: Path) -> None:
    for number, op in enumerate(program.global_block().ops):
        if not op.name():
            raise NotAModel(path=str(path), found=f"operator {number} is one that this Paddle does not know")


def _take_fetches(program: Program) -> tuple[tuple[str, Any], ...]:
    """The outputs that a program marks; the marks are taken off, as `Executor.run` and `save` set their own."""
    fetches: list[Operation] = [op for op in program.global_block().ops if op.name() == "pd_op.fetch"]
    ordered = sorted(fetches, key=lambda op: op.attrs()["col"])
    outputs = tuple((op.attrs()["name"], op.operand_source(0)) for op in ordered)
    with building(program):
        for op in fetches:
            erase(op)
    return outputs
