"""A `Model` to files that Paddle and we load again, atomically."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Union

from spokeshave.files import write_atomically, write_sums
from spokeshave.program.inference import for_inference
from spokeshave.program.loading import SUMS_SUFFIX, WEIGHTS_SUFFIX, declared_parameters
from spokeshave.program.model import Model
from spokeshave.program.weights import write_weights
from spokeshave.seams import Program, building, new_fetch, read_tensor, write_program


def save(model: Model, prefix: Union[str, Path], outputs: Sequence[str] | None = None) -> tuple[Path, ...]:
    """Writes `prefix.json`, `prefix.pdiparams` and their checksums, in test mode and without what no output needs.

    Each file is written beside and renamed: a full disk or a kill leaves the old one whole. The result
    loads in `paddle.static.load_inference_model`, `paddle.jit.load`, `paddle.inference` and `load`.
    """
    prefix = Path(prefix)
    model = for_inference(model, outputs)
    program = model.program
    with building(program):
        for place, (name, value) in enumerate(model.fetches):
            new_fetch(value, name, place)
    declared = declared_parameters(program)
    weights = {name: read_tensor(model.scope, name) for name in declared}
    numbers = io.BytesIO()
    write_weights(numbers, weights, {name: dtype for name, (_, dtype) in declared.items()})
    paths = [prefix.with_name(prefix.name + suffix) for suffix in (WEIGHTS_SUFFIX, ".json", SUMS_SUFFIX)]
    prefix.parent.mkdir(parents=True, exist_ok=True)
    # The checksums go first and come last: a kill between the files must not leave sums of other files.
    paths[2].unlink(missing_ok=True)
    write_atomically(paths[0], numbers.getbuffer())
    write_atomically(paths[1], _program_bytes(program))
    write_sums(paths[2], paths[:2])
    return tuple(paths)


def _program_bytes(program: Program) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        write_program(program, file)
        return file.read_bytes()
