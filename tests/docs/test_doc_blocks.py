"""Every block of the README and the guides runs as it stands, in the order of its page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
LONGEST_EXAMPLE = 30

# Runs the blocks of a page in one process, as a reader does at one prompt: names live on between them.
DRIVER = """
import json, subprocess, sys
names = {"__name__": "__page__"}
for kind, text, line in json.load(open(sys.argv[1])):
    if kind == "sh":
        subprocess.run(["bash", "-e", "-c", text], check=True)
    else:
        exec(compile("\\n" * line + text, sys.argv[2], "exec"), names)
"""


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """The blocks of a page that are to run: language, text, line."""
    text = page.read_text(encoding="utf-8")
    found = [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]
    return [block for block in found if block[0] in ("python", "sh")]


def run(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a page in an empty folder, with this environment's commands on the path."""
    (folder / "blocks.json").write_text(json.dumps(blocks(page)))
    binaries = Path(sys.executable).parent
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", DRIVER, "blocks.json", page.name]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    assert blocks(page), f"{page.name} has no block to run"
    done = run(page, tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_a_page_whose_block_fails_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```sh\ntrue\n```\n\n```python\nassert x == 2\n```\n")
    assert run(page, tmp_path).returncode != 0


def test_the_first_example_is_short() -> None:
    first = next(text for kind, text, _ in blocks(ROOT / "README.md") if kind == "python")
    assert len(first.splitlines()) < LONGEST_EXAMPLE
