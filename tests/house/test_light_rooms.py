"""Selecting, costing and planning start in milliseconds, without any engine installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules_light import violations
from walking import ROOT, check_none, check_reports, load_map, plant


def test_light_rooms_need_no_framework() -> None:
    check_none(violations(ROOT, load_map(ROOT).light))


@pytest.mark.parametrize("heavy", ["paddle", "onnx", "onnxruntime"])
def test_a_heavy_import_is_reported(tmp_path: Path, heavy: str) -> None:
    files = {
        "spokeshave/__init__.py": "",
        "spokeshave/ops/__init__.py": "",
        "spokeshave/ops/conv.py": f"import {heavy}\n",
        "spokeshave/program/__init__.py": f"import {heavy}\n",
    }
    check_reports(violations(plant(tmp_path, files), ["ops"]), f"spokeshave.ops.conv: needs {heavy}")


def test_a_command_may_be_heavy_and_the_door_may_not(tmp_path: Path) -> None:
    files = {
        "spokeshave/__init__.py": "",
        "spokeshave/cli/__init__.py": "",
        "spokeshave/cli/main.py": "",
        "spokeshave/cli/export.py": "import onnx\n",
    }
    check_none(violations(plant(tmp_path, files), ["cli"]))
    plant(tmp_path, {"spokeshave/cli/main.py": "from spokeshave.cli import export\n"})
    check_reports(violations(tmp_path, ["cli"]), "spokeshave.cli.main: needs onnx")
