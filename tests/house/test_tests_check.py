"""A test that cannot fail is no test."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules_tests import violations
from walking import ROOT, check_none, check_reports, plant


def test_every_test_looks_at_something() -> None:
    check_none(violations(ROOT))


def test_a_test_that_checks_nothing_is_reported(tmp_path: Path) -> None:
    text = "class TestIt:\n    @given(x)\n    def test_runs(self, x):\n        run(x)\n"
    check_reports(violations(plant(tmp_path, {"tests/room/test_a.py": text})), "test_a.py:3", "test_runs")


@pytest.mark.parametrize(
    "body",
    [
        "assert run()",
        "np.testing.assert_array_equal(run(), 1)",
        "check_same(run())",
        "\n    with pytest.raises(ValueError):\n        run()",
        "\n    with warns(UserWarning):\n        run()",
    ],
)
def test_a_visible_check_is_seen(tmp_path: Path, body: str) -> None:
    check_none(violations(plant(tmp_path, {"tests/test_a.py": f"def test_it(): {body}\n"})))
