"""A `Model` to files that Paddle and we load again, atomically."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Union

from spokeshave.errors.program import FetchUnknown
from spokeshave.files import write_atomically, write_sums
from spokeshave.program.loading import SUMS_SUFFIX, WEIGHTS_SUFFIX, declared_parameters
from spokeshave.program.model import Model
from spokeshave.program.roles import training_ops
from spokeshave.program.weights import write_weights
from spokeshave.registry import nearest
from spokeshave.seams import Program, building, clone, erase, is_absent, new_fetch, read_tensor, set_test_mode
from spokeshave.seams import write_program as write_program_file

OUTPUT_OPS = ("pd_op.fetch", "builtin.shadow_output")


def save(model: Model, prefix: Union[str, Path], outputs: Sequence[str] | None = None) -> tuple[Path, ...]:
    """Writes `prefix.json`, `prefix.pdiparams` and their checksums, in test mode and without what no output needs.

    Each file is written beside and renamed: a full disk or a kill leaves the old one whole. The result
    loads in `paddle.static.load_inference_model`, `paddle.jit.load`, `paddle.inference` and `load`.
    """
    prefix = Path(prefix)
    program = _for_inference(model, outputs)
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


def _for_inference(model: Model, outputs: Sequence[str] | None) -> Program:
    """A copy of the program in test mode, cut down to its outputs, with those marked."""
    known = dict(model.view.outputs)
    wanted = list(known) if outputs is None else list(outputs)
    for name in wanted:
        if name not in known and name not in model.picture.values:
            raise FetchUnknown(name=name, nearest=nearest(name, [*known, *model.picture.values]))
    program, mapping = clone(model.program)
    targets = [mapping.look_up(model.picture.values[known.get(name, name)]) for name in wanted]
    with building(program):
        prune(program, targets)
        set_test_mode(program)
        for place, (name, value) in enumerate(zip(wanted, targets)):
            new_fetch(value, name, place)
    return program


def prune(program: Program, targets: Sequence[object]) -> None:
    """Erases, in place, every op that no target needs."""
    needed = {t.id for t in targets}  # type: ignore[attr-defined]
    training = {op.id() for op in training_ops(program)}
    for op in reversed(list(program.global_block().ops)):
        is_needed = any(not is_absent(v) and v.id in needed for v in op.results())
        if is_needed and op.id() not in training:
            needed.update(v.id for v in op.operands_source() if not is_absent(v))
            needed.update(_read_inside(op))
        else:
            erase(op)


def _read_inside(op: object) -> set[str]:
    blocks = op.blocks()  # type: ignore[attr-defined]
    return {v.id for block in blocks for o in block.ops for v in o.operands_source() if not is_absent(v)}


def _program_bytes(program: Program) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        write_program_file(program, file)
        return file.read_bytes()
