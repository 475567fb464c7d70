"""The package keeps its manners wherever one looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules_code import violations
from walking import ROOT, check_none, check_reports, plant


def test_the_package_keeps_its_manners() -> None:
    check_none(violations(ROOT))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("print(1)\n", "print() belongs to the command line"),
        ("def f():\n    import sys\n    sys.exit(1)\n", "sys.exit() belongs to the command line"),
        ("assert True\n", "assert; raise an error"),
        ("try:\n    pass\nexcept:\n    pass\n", "bare except"),
        ("x = 1  # FIXME: two\n", "FIXME is a wish"),
    ],
)
def test_bad_manners_are_reported(tmp_path: Path, text: str, fault: str) -> None:
    check_reports(violations(plant(tmp_path, {"spokeshave/a.py": text})), "spokeshave/a.py", fault)


def test_the_command_line_may_print_and_exit(tmp_path: Path) -> None:
    text = "import sys\nprint(1)\nsys.exit(2)\n"
    check_none(violations(plant(tmp_path, {"spokeshave/cli/a.py": text})))
