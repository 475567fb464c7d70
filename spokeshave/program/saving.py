"""A `Model` to files that Paddle and we load again, atomically."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import paddle

from spokeshave.errors.capturing import NothingToCompute
from spokeshave.errors.files import CannotWrite
from spokeshave.errors.program import NotAModel, ProgramNotWritable
from spokeshave.files import Data, sums_text, write_together
from spokeshave.program.document import check_document
from spokeshave.program.finding import MODEL_SUFFIX, SUMS_SUFFIX, WEIGHTS_SUFFIX
from spokeshave.program.forms import for_inference
from spokeshave.program.loading import declared_parameters
from spokeshave.program.model import Model
from spokeshave.program.weights import weights_parts
from spokeshave.seams import (
    REFUSALS,
    Program,
    Value,
    building,
    new_fetch,
    view_tensor,
    words_of,
    write_program,
)


def save(
    model: Model,
    prefix: str | Path,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
) -> tuple[Path, ...]:
    """Writes `prefix.json`, `prefix.pdiparams` and their checksums, in test mode, with what outputs need.

    A model without weights has no `prefix.pdiparams`, as Paddle wants it.

    `outputs` and `inputs` say where the model is to end and to begin, as `for_inference` takes them.

    All bytes are on the disk before the first file takes its name: a full disk or a kill leaves the old
    files whole. A kill in the moment between two names leaves files that `load` refuses, as the checksums
    come first. The result loads in `paddle.static.load_inference_model`, `paddle.jit.load`,
    `paddle.inference` and `load`; saved twice, it is the same to the byte.
    """
    prefix = Path(prefix)
    model = for_inference(model, outputs, inputs)
    if not model.fetches:
        raise NothingToCompute()
    with building(model.program):
        for place, (name, value) in enumerate(_told_apart(model)):
            new_fetch(value, name, place)
    contents: dict[str, Data] = {prefix.name + MODEL_SUFFIX: _program_bytes(model.program, prefix)}
    weights = prefix.name + WEIGHTS_SUFFIX
    if model.parameters:
        contents = {weights: _weights_of(model), **contents}
    files = {prefix.name + SUMS_SUFFIX: sums_text(contents), **contents}
    write_together({prefix.with_name(name): data for name, data in files.items()})
    if weights not in contents:  # Paddle takes a file without weights, and one of another model, for broken
        prefix.with_name(weights).unlink(missing_ok=True)
    return tuple(prefix.with_name(name) for name in (*contents, prefix.name + SUMS_SUFFIX))


def _told_apart(model: Model) -> Iterator[tuple[str, Value]]:
    """The outputs, each a value of its own and none an input, as Paddle Inference wants them."""
    known = {model.picture.values[name].id for name in model.view.inputs}
    for name, value in model.fetches:
        yield name, paddle.assign(value) if value.id in known else value
        known.add(value.id)


def _weights_of(model: Model) -> tuple[bytes | memoryview, ...]:
    return weights_parts(declared_parameters(model.program), partial(view_tensor, model.scope))


def _program_bytes(program: Program, prefix: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        try:
            write_program(program, file)
        except REFUSALS as error:
            raise ProgramNotWritable(path=f"{prefix}{MODEL_SUFFIX}", detail=words_of(error)) from error
        return _whole(file, prefix)


def _whole(file: Path, prefix: Path) -> bytes:
    """What Paddle wrote, which it cuts short in silence where there is no room."""
    text = file.read_bytes()
    try:
        check_document(text, str(file))
    except NotAModel as error:
        why = f"there is no room for the program in {file.parent.parent}"
        raise CannotWrite(path=f"{prefix}{MODEL_SUFFIX}", why=why) from error
    return text
