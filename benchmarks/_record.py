"""What every benchmark shares: the machine, the versions, a table, and a file of results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spokeshave.report import table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"
PACKAGES = ("spokeshave", "paddlepaddle", "numpy", "onnx", "onnxruntime")
AT_MOST, AT_LEAST = "<=", ">="


@dataclass(frozen=True)
class Row:
    """One measured figure; with a bar it says whether it holds. `spread` is the range of the repeats."""

    case: str
    metric: str
    value: float
    unit: str = ""
    spread: tuple[float, float] | None = None
    bar: float | None = None
    sense: str = AT_MOST

    @property
    def holds(self) -> bool | None:
        """Whether the figure is on the right side of its bar."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.sense == AT_MOST else self.value >= self.bar


def options(doc: str) -> argparse.Namespace:
    """The options that every benchmark takes."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller nets; marked as such")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    return parser.parse_args()


def finish(name: str, rows: Sequence[Row], chosen: argparse.Namespace, *, seeds: Sequence[int] = ()) -> None:
    """Prints the table and writes `results/NAME.json`, or `NAME.quick.json`, which is not kept."""
    quick: bool = chosen.quick
    shown = [(r.case, r.metric, r.value, r.unit, _range(r), _bar(r), _verdict(r)) for r in rows]
    print(f"{name}{' (quick)' if quick else ''} on {machine()['cpu']}, {machine()['cores']} cores")
    print(table(("case", "metric", "value", "unit", "spread", "bar", "holds"), shown))
    record: dict[str, Any] = {
        "quick": quick,
        "machine": machine(),
        "versions": versions(),
        "commit": _commit(),
        "seeds": list(seeds),
        "rows": [{**asdict(row), "holds": row.holds} for row in rows],
    }
    chosen.results.mkdir(parents=True, exist_ok=True)
    file = chosen.results / (f"{name}.quick.json" if quick else f"{name}.json")
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """The CPU and how many cores of it there are."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(), "cores": os.cpu_count() or 1}


def versions() -> dict[str, str]:
    """What was measured with what."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            print(f"{package} is not installed", file=sys.stderr)
    return found


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _range(row: Row) -> str:
    return "" if row.spread is None else f"{row.spread[0]:.4g} .. {row.spread[1]:.4g}"


def _bar(row: Row) -> str:
    return "" if row.bar is None else f"{row.sense} {row.bar:g}"


def _verdict(row: Row) -> str:
    return "" if row.holds is None else "yes" if row.holds else "NO"
