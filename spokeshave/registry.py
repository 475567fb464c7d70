"""Shelves: plug-ins of one kind, found in one folder; and names of a package that load when first used."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, get_origin

from spokeshave.errors.registry import NameTaken, UnknownName

T = TypeVar("T")


class Shelf(Generic[T]):
    """All plug-ins of one kind: what `find` sees in each module of a package, by name.

    A new one is one file in that folder; nothing else names it. Modules are imported at the first look.
    `find` is `instances(kind)`, `made(kind)` or `classes(kind)`.

    >>> from spokeshave.ops import OPS
    >>> OPS["pd_op.relu"].name
    'pd_op.relu'
    """

    def __init__(self, what: str, package: str, find: Callable[[str], list[T]]) -> None:
        self.what, self.package, self._find = what, package, find

    @cached_property
    def _items(self) -> dict[str, T]:
        found: dict[str, T] = {}
        for module in _modules(self.package):
            for item in self._find(module):
                name = item.name  # type: ignore[attr-defined]
                if found.setdefault(name, item) is not item:
                    raise NameTaken(what=self.what, name=name, module=module)
        return dict(sorted(found.items()))

    def __getitem__(self, name: str) -> T:
        if name not in self._items:
            raise UnknownName(what=self.what, name=name, nearest=nearest(name, self._items))
        return self._items[name]

    def get(self, name: str) -> T | None:
        """The plug-in of that name, or None."""
        return self._items.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(self._items)


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...] | list[str]) -> str:
    """The few known names that look most like `name`, as text for an error; else the first of them."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5) or sorted(known)[:8]
    return ", ".join(close) or "none"


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package whose public names load their module when first used.

    `homes` maps each name to the module that holds it, so that importing the package stays light.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted(homes)

    return get, names


def _modules(package: str) -> list[str]:
    folder = importlib.import_module(package)
    return [
        f"{package}.{m.name}" for m in pkgutil.iter_modules(folder.__path__) if not m.name.startswith("_")
    ]


def instances(kind: type[T]) -> Callable[[str], list[T]]:
    """Finds the objects of a kind that a module defines or lists, such as rows of a table."""
    return lambda module: [v for v in vars(importlib.import_module(module)).values() if isinstance(v, kind)]


def made(kind: type[T]) -> Callable[[str], list[T]]:
    """Finds the concrete subclasses that a module defines, and makes one of each."""
    return lambda module: [found() for found in classes(kind)(module)]


def classes(kind: type[T]) -> Callable[[str], list[type[T]]]:
    """Finds the concrete subclasses that a module defines."""

    def find(module: str) -> list[type[T]]:
        contents = vars(importlib.import_module(module)).values()
        # Before Python 3.11 an alias such as `tuple[int, ...]` passes for a class; it has an origin.
        kinds = [c for c in contents if inspect.isclass(c) and get_origin(c) is None]
        own = [c for c in kinds if issubclass(c, kind) and c.__module__ == module]
        return [c for c in own if not inspect.isabstract(c)]

    return find
