"""Which files a path means: found by what they hold, whatever they are called."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from spokeshave.errors.files import CannotRead
from spokeshave.errors.formats import WeightsAmbiguous
from spokeshave.errors.program import ModelNotFound, SeveralModels, WeightsMissing
from spokeshave.program.weights import is_file, looks_like_weights, own_file
from spokeshave.registry import nearest

MODEL_SUFFIX, WEIGHTS_SUFFIX, SUMS_SUFFIX = ".json", ".pdiparams", ".sha256"
# What Paddle 2 and fluid called a program, and fluid its weights where they are one file.
OLD_SUFFIX, OLD_NAME, OLD_WEIGHTS = ".pdmodel", "__model__", "__params__"
# What `inspect` calls the formats; fluid's is the one of Paddle 2.
PADDLE_3, PADDLE_2 = "paddle-3", "paddle-2"
# As far as one must read to tell a program from other JSON, the old format from the new, and weights.
_HEAD_BYTES = 64


@dataclass(frozen=True)
class Weights:
    """Where the weights are: in one file, or in a folder with a file for each."""

    path: Path
    are_apart: bool = False

    def files(self, model: Path, names: Collection[str]) -> tuple[Path, ...]:
        """The files, given the names of the parameters."""
        if self.are_apart:
            return tuple(own_file(self.path, model, name) for name in sorted(names))
        return (self.path,) if names else ()


def find_program(path: Path, model_filename: str | None = None) -> Path:
    """The program file that a path means: a folder with one model, a prefix, or a file of the model.

    A name of Paddle 2 that is asked for where Paddle 3 wrote a `.json` of that stem is that `.json`; a
    warning says so.
    """
    if model_filename is not None:
        return _named(path / model_filename)
    return _only_model_in(path) if _is_folder(path) else _named(path)


def find_weights(program: Path, names: Collection[str], params_filename: str | None = None) -> Weights:
    """Where the weights of a program are, given the names of its parameters.

    The file that is named, or the one that is called like the program; for programs of the old format also
    files called like the parameters, or the one file beside the program that looks like weights.
    """
    if params_filename is not None:
        return Weights(_existing(program, program.parent / params_filename))
    beside = program.with_name(
        program.name.removesuffix(OLD_SUFFIX).removesuffix(MODEL_SUFFIX) + WEIGHTS_SUFFIX
    )
    if is_file(beside) or not names or format_of(_head(program)) == PADDLE_3:
        return Weights(beside)
    return _weights_of_fluid(program, names)


def format_of(content: bytes) -> str:
    """The format of a program, by its first bytes; that of Paddle 3 where it has none."""
    return PADDLE_2 if _is_old(content) else PADDLE_3


def _is_old(content: bytes) -> bool:
    """Whether these bytes begin a program of Paddle 2 or fluid: a protobuf whose first field is block 0."""
    # Field 1 (a block) with its length in at most five bytes, then field 1 (its number), which is 0.
    length = next((i for i, byte in enumerate(content[1:6]) if byte < 128), 5)
    return content[:1] == b"\x0a" and content[2 + length : 4 + length] == b"\x08\x00"


def _named(path: Path) -> Path:
    candidates = list(dict.fromkeys(_meant_by(path)))
    found = next((c for c in candidates if is_file(c)), None)
    if found is None:
        raise ModelNotFound(path=str(path), found=_no_file(candidates[0]))
    if _is_old_name(path) and found != path and found.suffix == MODEL_SUFFIX:
        warnings.warn(f"{path} is a name of Paddle 2; reading {found.name} beside it", stacklevel=4)
    return found


def _meant_by(path: Path) -> Iterator[Path]:
    """The files that a path may mean, best first."""
    is_weights = path.suffix == WEIGHTS_SUFFIX or looks_like_weights(_head(path))
    has_name = path.suffix == MODEL_SUFFIX or _is_old_name(path)
    if has_name or _is_program(path):
        yield path
    if path.suffix == MODEL_SUFFIX:
        return
    yield path.with_name(path.name + MODEL_SUFFIX)
    if is_weights or has_name:
        yield path.with_suffix(MODEL_SUFFIX)
        yield path.with_suffix(OLD_SUFFIX)
    yield path.with_name(path.name + OLD_SUFFIX)
    if not is_weights:
        yield path
    elif is_file(path):
        yield from _programs_in(path.parent)


def _is_old_name(path: Path) -> bool:
    return path.suffix == OLD_SUFFIX or path.name == OLD_NAME


def _no_file(path: Path) -> str:
    """That there is no such file, and which of those beside it have names like it."""
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    near = f"; nearest: {nearest(path.name, beside)}" if beside else ""
    return f"there is no file {path.name}{near}"


def _only_model_in(folder: Path) -> Path:
    models = _one_per_stem(_programs_in(folder))
    if len(models) > 1:
        raise SeveralModels(path=str(folder), models=", ".join(m.name for m in models))
    if not models:
        below = [f.name for f in sorted(folder.iterdir()) if f.is_dir() and next(_programs_in(f), None)]
        hint = f"the folder holds none, but {', '.join(below)} in it do" if below else "the folder holds none"
        raise ModelNotFound(path=str(folder), found=hint)
    return models[0]


def _one_per_stem(programs: Iterator[Path]) -> list[Path]:
    """Programs, but not one in the old format beside the same in the new."""
    found = list(programs)
    new = {file.stem for file in found if file.suffix == MODEL_SUFFIX}
    return [file for file in found if file.suffix != OLD_SUFFIX or file.stem not in new]


def _programs_in(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.iterdir()) if _is_program(file))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_program(file: Path) -> bool:
    head = _head(file)
    return _is_old(head) or b'"base_code"' in head


def _head(file: Path) -> bytes:
    if not is_file(file):
        return b""
    try:
        with file.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
    except OSError as error:
        raise CannotRead(path=str(file), why=error.strerror or str(error)) from error


def _existing(program: Path, weights: Path) -> Path:
    if not is_file(weights):
        raise WeightsMissing(model=str(program), path=f"{weights} ({_no_file(weights)})")
    return weights


def _weights_of_fluid(program: Path, names: Collection[str]) -> Weights:
    folder = program.parent
    missing = [name for name in sorted(names) if not is_file(own_file(folder, program, name))]
    if len(missing) < len(names):
        if missing:
            raise WeightsMissing(model=str(program), path=str(folder / missing[0]))
        return Weights(folder, are_apart=True)
    found = [file for file in sorted(folder.iterdir()) if looks_like_weights(_head(file))]
    called = [file for file in found if file.name == OLD_WEIGHTS] or found
    if len(called) > 1:
        raise WeightsAmbiguous(model=str(program), files=", ".join(file.name for file in called))
    return Weights(called[0] if called else program.with_suffix(WEIGHTS_SUFFIX))
