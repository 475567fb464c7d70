"""`doctor`: what is missing is said, with its cost and its cure."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from importlib.metadata import version

import pytest
from click.testing import Result

from spokeshave.engines import EngineInfo, engines
from spokeshave.engines.available import ARM_FEATURES, X86_FEATURES
from spokeshave.seams import TESTED_VERSIONS

pytest_plugins = ["cli_fixtures"]

Run = Callable[..., Result]
doctor = importlib.import_module("spokeshave.cli.doctor")
KEYS = ["versions", "tested_paddle", "paddle_is_tested", "cpu", "engines", "missing"]


def without(name: str) -> Callable[[], tuple[EngineInfo, ...]]:
    left = (EngineInfo(e.name, None if e.name == name else e.version, e.install) for e in engines())
    found = tuple(left)
    return lambda: found


def test_the_tested_versions_are_those_of_the_seams() -> None:
    assert doctor.TESTED_PADDLE == TESTED_VERSIONS


def test_every_feature_that_is_looked_for_has_its_cost() -> None:
    assert set(doctor.COSTS) == {*X86_FEATURES, *ARM_FEATURES}


def test_json_has_the_documented_keys(run: Run) -> None:
    document = json.loads(run("doctor", "--json").stdout)
    assert list(document) == KEYS
    documented = run("doctor", "--help").output.split("JSON keys:")[1]
    assert [key for key in KEYS if f" {key} " not in documented] == []


def test_versions_are_those_that_are_installed(run: Run) -> None:
    document = json.loads(run("doctor", "--json").stdout)
    found = {name: version(name) for name in ("numpy", "onnx", "onnxruntime")}
    assert {name: document["versions"][name] for name in found} == found
    assert document["versions"]["paddle"] == version("paddlepaddle")
    assert document["paddle_is_tested"] == (version("paddlepaddle") in TESTED_VERSIONS)


def test_all_is_well_here(run: Run) -> None:
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (0, "")


def test_what_nothing_runs_without_makes_exit_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "engines", without("onnxruntime"))
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (1, "does not hold: missing: onnxruntime\n")
    assert "missing, and needed" in result.stdout
    assert "pip install onnxruntime" in result.stdout


def test_an_engine_that_may_be_missing_is_no_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "engines", without("openvino"))
    result = run("doctor")
    assert result.exit_code == 0
    assert "pip install 'spokeshave[openvino]'" in result.stdout


def test_another_paddle_is_told_from_a_tested_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "engines", lambda: (EngineInfo("paddle", "9.9", ""), *engines()[1:]))
    assert "not tested; tested with 3.3.1" in run("doctor").stdout


@pytest.mark.parametrize(
    ("has", "says"),
    [
        ({"avx2": False}, doctor.COSTS["avx2"]),
        ({"avx512_vnni": False, "avx_vnni": False}, doctor.COSTS["avx_vnni"]),
        ({"avx512_vnni": False, "avx_vnni": True}, "not needed, the other VNNI is there"),
        ({}, "does not say which instructions"),
    ],
)
def test_a_missing_instruction_is_shown_with_its_cost(
    run: Run, monkeypatch: pytest.MonkeyPatch, has: dict[str, bool], says: str
) -> None:
    monkeypatch.setattr(doctor, "cpu_features", lambda: has)
    assert says in run("doctor").stdout


def test_one_vnni_is_enough(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "cpu_features", lambda: {"avx512_vnni": False, "avx_vnni": True})
    assert doctor.COSTS["avx512_vnni"] not in run("doctor").stdout
