"""Whoever meets a public name can read what it promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules_documented import violations
from walking import ROOT, check_none, check_reports, plant

PAGE = '"""What it is for."""\n'
DONE = 'def cut() -> None:\n    """Cuts."""\n'


def found_in(root: Path, files: dict[str, str]) -> list[str]:
    return violations(plant(root, {f"spokeshave/{name}": text for name, text in files.items()}))


def test_every_public_name_is_documented() -> None:
    check_none(violations(ROOT))


def test_documented_rooms_are_left_alone(tmp_path: Path) -> None:
    files = {
        "__init__.py": PAGE + 'HOMES = {"cut": "spokeshave.room.saw"}\n__all__ = ["cut"]\n',
        "room/__init__.py": PAGE
        + "from spokeshave.room.saw import cut as slice\nfrom os import path\n"
        + "from spokeshave.room import saw\n"
        + 'WIDTH = 3\n__all__ = ["WIDTH", "path", "saw", "slice"]\n',
        "room/saw.py": PAGE + DONE + "def _grip():\n    pass\n",
    }
    check_none(found_in(tmp_path, files))


@pytest.mark.parametrize("text", ["", '"""One\ntwo."""\n', '"""One.\nTwo."""\n', '"""No sentence"""\n'])
def test_a_module_without_its_line_is_reported(tmp_path: Path, text: str) -> None:
    found = found_in(tmp_path, {"a.py": text, "b.py": PAGE, "c.py": '"""One.\n\nTwo.\n"""\n'})
    check_reports(found, "spokeshave/a.py", "must open with a line")
    assert len(found) == 1


def test_a_public_name_without_docstring_is_reported(tmp_path: Path) -> None:
    text = PAGE + "class Saw:\n    pass\nasync def cut() -> None:\n    pass\n"
    found = found_in(tmp_path, {"a.py": text, "_b.py": text})
    check_reports(found, "spokeshave/a.py:2", "Saw has no docstring")
    check_reports(found, "spokeshave/a.py:4", "cut has no docstring")
    assert len(found) == 2


def test_a_name_exported_from_a_private_file_is_public(tmp_path: Path) -> None:
    files = {
        "room/__init__.py": PAGE + 'from spokeshave.room._saw import cut\n__all__ = ["cut"]\n',
        "room/_saw.py": PAGE + "def cut() -> None:\n    pass\n",
    }
    check_reports(found_in(tmp_path, files), "spokeshave/room/_saw.py:2", "cut has no docstring")


def test_an_export_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"room/__init__.py": PAGE + '__all__ = ["cut"]\n'})
    check_reports(found, "room/__init__.py", "exports cut, which it does not have")


def test_a_function_that_hides_its_module_is_reported(tmp_path: Path) -> None:
    files = {
        "room/__init__.py": PAGE + 'from spokeshave.room.cut import cut\n__all__ = ["cut"]\n',
        "room/cut.py": PAGE + DONE,
    }
    check_reports(found_in(tmp_path, files), "the function cut hides the module spokeshave.room.cut")


def test_a_lazy_verb_that_hides_a_room_is_reported(tmp_path: Path) -> None:
    files = {
        "__init__.py": PAGE + 'HOMES = {"cut": "spokeshave.cut.saw"}\n__all__ = ["cut"]\n',
        "cut/__init__.py": PAGE,
        "cut/saw.py": PAGE + DONE,
    }
    check_reports(found_in(tmp_path, files), "the function cut hides the module spokeshave.cut")
