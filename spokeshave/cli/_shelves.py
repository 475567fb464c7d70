"""Where each kind of plug-in has its shelf; adding a plug-in changes nothing here."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import click

from spokeshave.engines import EngineInfo
from spokeshave.errors.registry import UnknownName
from spokeshave.registry import Shelf, nearest


@dataclass(frozen=True)
class Kind:
    """A kind of plug-in: what it is for, and where its shelf is, or a function that gives its items."""

    name: str
    doc: str
    home: str

    def items(self) -> Iterable[Any]:
        """All plug-ins of this kind. Imports their files, and Paddle where those need it."""
        found = pkgutil.resolve_name(self.home)
        shelf: Iterable[Any] = found() if callable(found) else found
        return shelf

    def entries(self) -> list[tuple[str, str]]:
        """The name of each plug-in, and the first sentence about it."""
        return [(item.name, _first_sentence(_doc_of(item))) for item in self.items()]


KINDS = (
    Kind("emitters", "operators that can be written as ONNX", "spokeshave.engines.onnx:EMITTERS"),
    Kind("engines", "what runs a model", "spokeshave.engines.available:engines"),
    Kind("models", "nets by name", "spokeshave.models:NETS"),
    Kind("observers", "how calibration finds a range (`--observer`)", "spokeshave.quant.observers:OBSERVERS"),
    Kind("ops", "operators whose costs and channels are known", "spokeshave.ops:OPS"),
    Kind("passes", "rewrites of a model", "spokeshave.program:PASSES"),
    Kind("quantizers", "how a scale is had while training", "spokeshave.quant.quantizers:QUANTIZERS"),
    Kind("targets", "what each engine wants quantized (`--target`)", "spokeshave.targets:TARGETS"),
)


def kind_named(name: str) -> Kind:
    """The kind of that name."""
    by_name = {kind.name: kind for kind in KINDS}
    if name not in by_name:
        raise UnknownName(what="kind of plug-in", name=name, nearest=nearest(name, by_name))
    return by_name[name]


def on_shelf(kind: str) -> Callable[[click.Context, click.Parameter, str], str]:
    """A callback for an option that refuses at once what is not on a shelf, one that is light to look at."""

    def check(ctx: click.Context, param: click.Parameter, value: str) -> str:
        shelf: Shelf[Any] = pkgutil.resolve_name(kind_named(kind).home)
        name: str = shelf[value].name
        return name

    return check


def _doc_of(item: Any) -> str:
    if isinstance(item, EngineInfo):
        return f"Version {item.version}." if item.is_installed else f"Not installed: `{item.install}`."
    own = getattr(item, "doc", None)
    documented = item if inspect.isclass(item) else type(item)
    return own if isinstance(own, str) else inspect.getdoc(documented) or ""


def _first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, on one line."""
    return " ".join(re.split(r"(?<=[.!?])\s+(?=[A-Z`])|\n\n", text.strip(), maxsplit=1)[0].split())
