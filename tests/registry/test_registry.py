"""Shelves: found by file, one name each, a wrong name gets the nearest; lazy names of packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spokeshave.errors.registry import NameTaken, UnknownName
from spokeshave.registry import Shelf, classes, instances, lazily, made, nearest

ROW = "class Row:\n    def __init__(self, name): self.name = name\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `shop` that is importable for one test."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__init__.py").write_text("")
    (tmp_path / "shop/_base.py").write_text(
        f"from abc import ABC, abstractmethod\n{ROW}\n"
        "class Tool(ABC):\n    @abstractmethod\n    def use(self): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "shop"
    for name in [n for n in sys.modules if n.split(".")[0] == "shop"]:
        del sys.modules[name]


def kind(name: str) -> Any:
    return getattr(importlib.import_module("shop._base"), name)


def add(shop: Path, file: str, text: str) -> None:
    (shop / file).write_text(text)
    importlib.invalidate_caches()


def test_instances_are_found_by_the_file_that_defines_them(shop: Path) -> None:
    add(shop, "b.py", "from shop._base import Row\nTWO = Row('two')\n")
    add(shop, "a.py", "from shop._base import Row\nONE = Row('one')\n")
    shelf: Shelf[Any] = Shelf("row", "shop", instances(kind("Row")))
    assert shelf.names() == ("one", "two")
    assert shelf["one"].name == "one"
    assert ("one" in shelf, "three" in shelf, len(shelf)) == (True, False, 2)
    assert shelf.get("three") is None


TOOL = "from shop._base import Tool\nclass {0}(Tool):\n    name = '{0}'\n    def use(self): return '{0}'\n"


def test_classes_are_kept_and_made_ones_are_made_and_abstract_ones_left(shop: Path) -> None:
    add(shop, "saw.py", TOOL.format("Saw") + "class Half(Tool):\n    name = 'half'\n")
    kept: Shelf[Any] = Shelf("tool", "shop", classes(kind("Tool")))
    ready: Shelf[Any] = Shelf("tool", "shop", made(kind("Tool")))
    assert [c.__name__ for c in kept] == ["Saw"]
    assert [t.use() for t in ready] == ["Saw"]


def test_a_class_that_a_module_only_imports_is_not_found_twice(shop: Path) -> None:
    add(shop, "saw.py", TOOL.format("Saw"))
    add(shop, "user.py", "from shop.saw import Saw\n")
    shelf: Shelf[Any] = Shelf("tool", "shop", classes(kind("Tool")))
    assert shelf.names() == ("Saw",)


def test_modules_with_an_underscore_are_not_looked_into(shop: Path) -> None:
    add(shop, "_hidden.py", "from shop._base import Row\nONE = Row('one')\n")
    assert len(Shelf("row", "shop", instances(kind("Row")))) == 0


def test_an_unknown_name_gets_the_nearest(shop: Path) -> None:
    add(shop, "a.py", "from shop._base import Row\nONE = Row('hammer')\nTWO = Row('tongs')\n")
    shelf: Shelf[Any] = Shelf("row", "shop", instances(kind("Row")))
    with pytest.raises(UnknownName, match=r"no row named 'hamer'.*hammer"):
        shelf["hamer"]


def test_two_files_cannot_share_a_name(shop: Path) -> None:
    add(shop, "a.py", "from shop._base import Row\nONE = Row('one')\n")
    add(shop, "b.py", "from shop._base import Row\nONE = Row('one')\n")
    with pytest.raises(NameTaken, match=r"'one' in shop\.b"):
        Shelf("row", "shop", instances(kind("Row"))).names()


def test_nearest_shows_all_when_nothing_is_like_it() -> None:
    assert nearest("zzz", ("one", "two")) == "one, two"
    assert nearest("zzz", ()) == "none"


def test_lazy_names_load_their_module_at_first_use(shop: Path) -> None:
    add(shop, "heavy.py", "LOADED = True\n")
    get, names = lazily("shop", {"LOADED": "shop.heavy"})
    assert "shop.heavy" not in sys.modules
    assert get("LOADED") is True
    assert "shop.heavy" in sys.modules
    assert names() == ["LOADED"]


def test_a_lazy_name_that_is_not_there_is_an_attribute_error() -> None:
    get, _ = lazily("shop", {})
    with pytest.raises(AttributeError, match="module 'shop' has no attribute 'ABSENT'"):
        get("ABSENT")
