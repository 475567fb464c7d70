"""Every benchmark runs, and what it says that is no timing holds; timings are for a machine that is idle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted(p for p in (ROOT / "benchmarks").glob("*.py") if not p.name.startswith("_"))
RECORD = {"quick", "machine", "versions", "commit", "seeds", "rows"}
ROW = {"case", "metric", "value", "spread", "unit", "bar", "holds"}
OF_TIME = {"s", "ms", "x", "times"}


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda path: path.stem)
def test_a_quick_run_says_what_holds(benchmark: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", str(benchmark), "--quick", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr[-3000:]
    record = json.loads((tmp_path / f"{benchmark.stem}.quick.json").read_text(encoding="utf-8"))
    assert set(record) >= RECORD
    assert record["quick"] is True
    assert record["rows"]
    assert all(set(row) >= ROW for row in record["rows"])
    fallen = [row for row in record["rows"] if row["holds"] is False and row["unit"] not in OF_TIME]
    assert fallen == []


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda path: path.stem)
def test_a_full_run_is_kept(benchmark: Path) -> None:
    record = json.loads((ROOT / f"benchmarks/results/{benchmark.stem}.json").read_text(encoding="utf-8"))
    assert record["quick"] is False
    assert {row["metric"] for row in record["rows"]}
