"""Programs to files and back; weights are read and written elsewhere, by our own code."""

from __future__ import annotations

from pathlib import Path

import paddle

from spokeshave.errors.program import NotAModel
from spokeshave.seams.handles import Program
from spokeshave.seams.modes import static_mode


def read_program(path: Path) -> Program:
    """The program of a Paddle 3 model file, whose JSON has been checked before."""
    program = paddle.static.Program()
    with static_mode():
        try:
            paddle.base.core.deserialize_pir_program(str(path), program)
        except RuntimeError as error:
            raise NotAModel(path=str(path), found=f"a program that Paddle refuses ({error})") from error
    return program


def write_program(program: Program, path: Path) -> None:
    """Writes a program as Paddle 3 does, under the very name given."""
    with static_mode():
        paddle.base.core.serialize_pir_program(program, str(path), True, False, True)
