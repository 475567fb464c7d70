"""The map holds, and the rules that guard it can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rules_arrows import violations
from walking import ROOT, check_none, check_reports, plant

MAP = {
    "imports": {"floor": [], "middle": ["floor"], "top": ["floor", "middle"], "spokeshave": []},
    "paddle": ["top", "middle.engine"],
    "paddle_internals": ["top"],
    "light": [],
}


def found_in(root: Path, files: dict[str, str], table: object = MAP) -> list[str]:
    return violations(plant(root, {"docs/map.json": json.dumps(table), **files}))


def test_imports_follow_the_map() -> None:
    check_none(violations(ROOT))


def test_a_house_in_order_is_left_alone(tmp_path: Path) -> None:
    files = {
        "spokeshave/floor.py": "import json\n",
        "spokeshave/middle/engine.py": "import paddle\nfrom spokeshave import floor\nx = paddle.nn.ReLU\n",
        "spokeshave/top/a.py": "import paddle\nfrom spokeshave.middle import engine\nx = paddle.pir.core\n",
    }
    check_none(found_in(tmp_path, files))


@pytest.mark.parametrize(
    "text",
    [
        "import spokeshave.top\n",
        "from spokeshave import top\n",
        "from spokeshave.top.a import name\n",
        "def f() -> None:\n    from spokeshave.top import a\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from spokeshave.top import a\n",
        "from importlib import import_module\nimport_module('spokeshave.top')\n",
    ],
)
def test_an_import_that_goes_up_is_reported(tmp_path: Path, text: str) -> None:
    check_reports(found_in(tmp_path, {"spokeshave/floor.py": text}), "floor may not import top")


def test_importing_the_package_itself_is_reported(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"spokeshave/floor.py": "from spokeshave import load\n"})
    check_reports(found, "spokeshave/floor.py:1", "floor may not import spokeshave")


def test_a_room_off_the_map_is_reported(tmp_path: Path) -> None:
    check_reports(found_in(tmp_path, {"spokeshave/attic/a.py": ""}), "spokeshave/attic", "not on the map")


def test_a_loop_in_the_map_is_reported(tmp_path: Path) -> None:
    table = {**MAP, "imports": {"floor": ["top"], "top": ["floor"]}}
    check_reports(found_in(tmp_path, {}, table), "the map: a loop", "floor")


def test_a_loop_between_modules_of_one_room_is_reported(tmp_path: Path) -> None:
    files = {
        "spokeshave/top/a.py": "from spokeshave.top.b import g\n",
        "spokeshave/top/b.py": "def g() -> None:\n    from spokeshave.top import a\n",
    }
    check_reports(found_in(tmp_path, files), "modules: a loop", "spokeshave.top.a")


def test_a_relative_import_is_reported(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"spokeshave/floor/a.py": "from . import b\n"})
    check_reports(found, "floor/a.py:1", "relative import")


@pytest.mark.parametrize(
    "text", ["import paddle\n", "from paddle.nn import ReLU\n", "import paddle.nn as nn\n"]
)
def test_paddle_in_a_room_without_it_is_reported(tmp_path: Path, text: str) -> None:
    check_reports(found_in(tmp_path, {"spokeshave/middle/other.py": text}), "may not import Paddle")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import paddle.base\n", "paddle.base"),
        ("from paddle import pir\n", "paddle.pir"),
        ("import paddle\ndef f() -> None:\n    paddle.pir.core.x()\n", "paddle.pir"),
        ("import paddle as p\np._C_ops.relu(1)\n", "paddle._C_ops"),
        ("from paddle import _pir_ops\n", "paddle._pir_ops"),
        ("from paddle.framework import core\n", "paddle.framework.core"),
        ("from paddle import static\nstatic.io._normalize(1)\n", "paddle.static.io._normalize"),
    ],
)
def test_paddle_internals_outside_seams_are_reported(tmp_path: Path, text: str, name: str) -> None:
    found = found_in(tmp_path, {"spokeshave/middle/engine.py": text})
    check_reports(found, f": {name} is Paddle's own affair")


def test_the_version_of_paddle_may_be_named(tmp_path: Path) -> None:
    text = "import paddle\nprintable = paddle.__version__\n"
    check_none(found_in(tmp_path, {"spokeshave/middle/engine.py": text}))
