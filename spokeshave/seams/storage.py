"""Programs to files and back; weights are read and written elsewhere, by our own code."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paddle
from paddle import pir

from spokeshave.errors.formats import UnknownOperator
from spokeshave.errors.program import NotAModel
from spokeshave.ops import OPS
from spokeshave.registry import nearest
from spokeshave.seams.handles import Program
from spokeshave.seams.modes import static_mode
from spokeshave.seams.programs import all_ops, is_absent

# What Paddle's C++ raises, as Python sees it.
REFUSALS = (RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, OSError)

# Paddle verifies every op after each pass, and only then. This pass looks for a pair of ops of distributed
# training, finds none, and changes nothing, not even dead ops.
_IDLE_PASS = "fuse_allreduce_split_to_reducescatter_pass"


def read_program(path: Path) -> Program:
    """The program of a Paddle 3 model file, whose JSON has been checked before.

    Paddle reads ops with any attributes and operands, and ends the process when it meets a wrong one;
    so each is verified here: its attributes and their types, how many operands it has, which are tensors.
    """
    program = paddle.static.Program()
    with static_mode():
        with _refused(path):
            _rehearse(path)
            paddle.base.core.deserialize_pir_program(str(path), program)
        _check_known(program, path)
        with _refused(path):
            check_sound(program)
    return program


def check_sound(program: Program) -> None:
    """Lets Paddle verify every op of a program, and asks it for all that it has no Python for."""
    _verify(program)
    _ask_for_all(program)


def write_program(program: Program, path: Path) -> None:
    """Writes a program as Paddle 3 does, under the very name given."""
    with static_mode():
        paddle.base.core.serialize_pir_program(program, str(path), True, False, True)


def words_of(error: BaseException) -> str:
    """What Paddle says in an error, on one line, without the trace of its own code."""
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not set(line) <= set("-=")] or [type(error).__name__]
    said = [line for line in lines if "Error: " in line or line.startswith("(")]
    return " ".join((said or lines)[0].split())


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except REFUSALS as error:
        found = f"Paddle refuses its program: {words_of(error)}"
        raise NotAModel(path=str(path), found=found) from error


def _check_known(program: Program, path: Path) -> None:
    """Refuses operators that Paddle does not know; it reads them as operators without a name."""
    ops = all_ops(program)
    if all(op.name() for op in ops):
        return
    names = _op_names(json.loads(path.read_bytes())["program"]["regions"])
    unknown = dict.fromkeys(name for op, name in zip(ops, names) if not op.name())
    known = [row.name.partition(".")[2] for row in OPS]
    near = "; ".join(nearest(name, known) for name in unknown)
    raise UnknownOperator(path=str(path), ops=", ".join(unknown), nearest=near)


def _op_names(regions: list[Any]) -> Iterator[str]:
    """The names of operators as a file has them, an operator before those inside it."""
    for op in (op for region in regions for block in region["blocks"] for op in block["ops"]):
        # A number stands for the dialect.
        yield op["#"].partition(".")[2] or op["#"]
        yield from _op_names(op.get("regions", ()))


def _ask_for_all(program: Program) -> None:
    """Paddle reads types and attributes that it has no Python for, and refuses only when asked for them."""
    for op in all_ops(program):
        op.attrs()
        for value in op.results():
            if not is_absent(value) and value.is_dense_tensor_type():
                _ = value.dtype


def _rehearse(path: Path) -> None:
    """Lets Paddle read what stands inside branches and loops, as if it stood outside.

    When it refuses something inside, it leaves the branch behind half made, and ends the process when the
    program goes; outside it does not.
    """
    text = path.read_bytes()
    if text.count(b'"regions"') < 2:
        return
    document = json.loads(text)
    regions = document["program"]["regions"]
    regions[0]["blocks"][0]["ops"] = list(_inner_ops(regions[0]["blocks"][0]["ops"]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "inner.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        paddle.base.core.deserialize_pir_program(str(file), paddle.static.Program())


def _inner_ops(ops: list[Any]) -> Iterator[Any]:
    """All ops within the blocks of ops, cut loose, and ops that make the arguments of those blocks."""
    for block in (b for op in ops for region in op.get("regions", ()) for b in region["blocks"]):
        arguments = [*block["args"], *block.get("kwargs", ())]
        yield {"#": "1.data", "A": [], "I": [], "O": [{"%": a["#"], "TT": a["TT"]} for a in arguments]}
        for op in block["ops"]:
            loose = {key: part for key, part in op.items() if key != "regions"}
            yield {**loose, "I": []} if "I" in op else loose
        yield from _inner_ops(block["ops"])


def _verify(program: Program) -> None:
    manager = pir.PassManager()
    manager.add_pass(_IDLE_PASS, {})
    manager.run(program)
