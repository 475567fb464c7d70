"""Saving a program by values of the program that it was made from."""

from __future__ import annotations

from typing import Any

import paddle

from spokeshave.compat._patch import Patch
from spokeshave.compat.fetching import resolved
from spokeshave.compat.strategies import program_in
from spokeshave.seams import PROGRAM


def _save(original: Any) -> Any:
    def save(path_prefix: Any, feed_vars: Any, fetch_vars: Any, executor: Any, **more: Any) -> Any:
        program = program_in(more.get("program"))
        if isinstance(program, PROGRAM):
            more["program"] = program
            feed_vars = resolved(feed_vars, program, "feed_vars")
            fetch_vars = resolved(fetch_vars, program, "fetch_vars")
        return original(path_prefix, feed_vars, fetch_vars, executor, **more)

    return save


PATCHES = (Patch(paddle.static, "save_inference_model", _save),)
