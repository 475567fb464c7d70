"""`name_scope` that leaves its name on the ops built inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paddle

from spokeshave.compat._patch import Patch
from spokeshave.seams import PROGRAM, in_scope


def _name_scope(original: Any) -> Any:
    @contextmanager
    def name_scope(prefix: str | None = None) -> Iterator[None]:
        program = paddle.static.default_main_program()
        with original(prefix):
            if paddle.in_dynamic_mode() or not isinstance(program, PROGRAM):
                yield
            else:
                with in_scope(program, str(prefix)):
                    yield

    return name_scope


PATCHES = (Patch(paddle.static, "name_scope", _name_scope),)
