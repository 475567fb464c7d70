"""Light rooms start without Paddle, onnx or ONNX Runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from walking import PACKAGE, modules

# Run in a fresh interpreter: modules that were imported before would hide a heavy import.
PROBE = """
import importlib, json, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"paddle", "onnx", "onnxruntime"}:
            raise ImportError(f"needs {name}")

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, sys.argv[1])
found = []
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        found.append(f"{name}: {error}")
print(json.dumps(found))
"""


def violations(root: Path, rooms: Sequence[str]) -> list[str]:
    """The modules of the light rooms that fail to import when the heavy packages are out of reach."""
    return _probe(root, [module.name for module in modules(root) if _is_light(module.name, rooms)])


def _is_light(name: str, rooms: Sequence[str]) -> bool:
    """All modules of a light room; of a door, only what runs at its start: the commands load when called."""
    parts = name.split(".")
    if parts[:2] == [PACKAGE, "cli"]:
        return "cli" in rooms and parts[2:] in ([], ["main"])
    return (parts[1] if len(parts) > 1 else PACKAGE) in rooms


def _probe(root: Path, names: Sequence[str]) -> list[str]:
    command = [sys.executable, "-c", PROBE, str(root), *names]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if answer.returncode:
        return answer.stderr.strip().splitlines()[-1:]
    found: list[str] = json.loads(answer.stdout)
    return found
