"""A new observer is one file: it appears on the shelf, the command line and in the docs; laws test it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAWS = "tests/conformance/test_observer_laws.py"

GOOD = '''"""Cover half of the way from the least to the largest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spokeshave.quant.observers._observer import Observer


class Midway(Observer):
    """The middle between the least and the largest magnitude seen.

    ## When to use it
    To see that one file is enough.

    ## Cost
    Two numbers of memory, two reductions per batch.
    """

    name = "midway"

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self._least, self._largest = float("inf"), 0.0

    def _take(self, magnitudes: npt.NDArray[np.float32]) -> None:
        self._least = min(self._least, float(magnitudes.min()))
        self._largest = max(self._largest, float(magnitudes.max()))

    def _bound(self) -> float:
        return self._least + (self._largest - self._least) / 2
'''

WRONG = {
    "forgets what came before": (
        "self._largest = max(self._largest, float(magnitudes.max()))",
        "self._largest = float(magnitudes.max())",
        "test_batching_does_not_matter",
    ),
    "reaches beyond what it saw": (
        "return self._least + (self._largest - self._least) / 2",
        "return self._largest * 1.01",
        "test_the_bound_lies_within_what_was_seen",
    ),
    "keeps the batch": (
        "self._least = min(self._least, float(magnitudes.min()))",
        "magnitudes[...] = magnitudes.max()",
        "test_one_value_is_its_own_bound",
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a checkout needs for its package, docs and laws, with a file more."""
    root: Path = tmp_path_factory.mktemp("checkout")
    skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in ("spokeshave", "docs", "benchmarks/results", "tests/conformance"):
        shutil.copytree(ROOT / folder, root / folder, ignore=skipped)
    for file in ("tests/conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / file, root / file)
    (root / "spokeshave/quant/observers/midway.py").write_text(GOOD, "utf-8")
    return root


def python(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root), "GLOG_minloglevel": "2"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def laws(root: Path) -> subprocess.CompletedProcess[str]:
    return python(root, "-m", "pytest", LAWS, "-vv", "-k", "midway", "-p", "no:cacheprovider")


def test_it_is_on_the_shelf(copy: Path) -> None:
    show = "from spokeshave.quant import OBSERVERS; print(OBSERVERS.names(), OBSERVERS['midway'].__module__)"
    answer = python(copy, "-c", show)
    assert answer.stdout.split() == ["('abs-max',", "'midway')", "spokeshave.quant.observers.midway"], (
        answer.stderr
    )


def test_it_calibrates(copy: Path) -> None:
    lines = (
        "import numpy as np",
        "from spokeshave.quant import OBSERVERS",
        "observer = OBSERVERS['midway']('site')",
        "observer.watch(np.array([1.0, -3.0], np.float32))",
        "print(observer.bound())",
    )
    assert python(copy, "-c", "\n".join(lines)).stdout.split() == ["2.0"]


def test_the_command_line_lists_it(copy: Path) -> None:
    answer = python(copy, "-m", "spokeshave.cli", "list", "observers")
    assert answer.returncode == 0, answer.stderr
    assert "midway" in answer.stdout
    assert "abs-max" in answer.stdout


def test_the_docs_have_its_page(copy: Path, tmp_path: Path) -> None:
    answer = python(copy, "docs/build.py", "--out", str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    page = (tmp_path / "docs/reference/observers.md").read_text("utf-8")
    assert "## `midway`\n\nThe middle between the least and the largest magnitude seen." in page
    assert "To see that one file is enough." in page


def test_the_laws_are_tested_for_it_and_hold(copy: Path) -> None:
    answer = laws(copy)
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.count("[midway] PASSED") > 10


@pytest.mark.parametrize("fault", WRONG)
def test_the_laws_catch_one_that_is_wrong(copy: Path, tmp_path: Path, fault: str) -> None:
    right, wrong, law = WRONG[fault]
    assert right in GOOD
    root = tmp_path / "checkout"
    shutil.copytree(copy, root)
    (root / "spokeshave/quant/observers/midway.py").write_text(GOOD.replace(right, wrong), "utf-8")
    answer = laws(root)
    assert answer.returncode == 1, answer.stdout
    assert law in answer.stdout
