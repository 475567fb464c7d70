"""Which engines are installed and what the CPU has, told without importing an engine."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from spokeshave.engines import available, cpu_features, engines

X86 = "processor\t: 0\nflags\t\t: fpu sse avx2 avx512_vnni\nbugs\t: none\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd asimddp\n"


def test_installed_engines_have_their_version() -> None:
    found = {engine.name: engine for engine in engines()}
    assert set(found) == {"onnxruntime", "openvino", "paddle"}
    assert found["onnxruntime"].version == metadata.version("onnxruntime")
    assert found["paddle"].is_installed


def test_a_missing_engine_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(available, "version", missing)
    openvino = next(engine for engine in engines() if engine.name == "openvino")
    assert (openvino.version, openvino.is_installed) == (None, False)
    assert openvino.install == "pip install 'spokeshave[openvino]'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (X86, {"avx2": True, "avx512_vnni": True, "avx_vnni": False, "amx_int8": False}),
        (ARM, {"asimddp": True}),
        ("nothing of use", {}),
    ],
)
def test_features_are_read_from_the_first_core(tmp_path: Path, text: str, expected: dict[str, bool]) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(text)
    assert cpu_features(cpuinfo) == expected


def test_a_system_that_does_not_say_has_no_features(tmp_path: Path) -> None:
    assert cpu_features(tmp_path / "absent") == {}


def test_looking_at_the_engines_imports_none() -> None:
    code = (
        "import sys, spokeshave.engines as e; e.engines(); e.cpu_features(); dir(e);"
        "loaded = {'onnx', 'onnxruntime', 'openvino', 'paddle'} & set(sys.modules); sys.exit(bool(loaded))"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
