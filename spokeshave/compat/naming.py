"""`.name` on any value, and in what `print` shows of it."""

from __future__ import annotations

from typing import Any

from spokeshave.compat._patch import Patch
from spokeshave.seams import VALUE, Value, made_name, name_value


def _name(original: Any) -> Any:
    def get(value: Value) -> str:
        name = made_name(value)
        return original.__get__(value) if name is None else name

    def set_name(value: Value, name: str) -> None:
        if value.has_name and value.persistable:
            original.__set__(value, name)  # as `paddle.jit.load` does with parameters
        else:
            name_value(value, name)

    return property(get, set_name, doc="The name by which the value can be fetched.")


def _shown(original: Any) -> Any:
    def shown(value: Value) -> str:
        text, name = str(original(value)), made_name(value)
        return text if name is None else text.replace("(", f"(name={name}, ", 1)

    return shown


PATCHES = (Patch(VALUE, "name", _name), Patch(VALUE, "__repr__", _shown))
