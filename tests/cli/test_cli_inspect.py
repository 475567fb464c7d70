"""`inspect`: the numbers of a net counted by hand, as text and as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from spokeshave.graph import ViewBuilder, cost

pytest_plugins = ["cli_fixtures"]

Run = Callable[..., Result]
inspect_module = importlib.import_module("spokeshave.cli.inspect")

PARAMETERS = 61_610
# Convolutions: outputs x channels x taps in; products: in x out.
CONV_MACS = 28 * 28 * 6 * 9 + 10 * 10 * 16 * 6 * 25
MATMUL_MACS = 400 * 120 + 120 * 84 + 84 * 10
KEYS = ["model", "format", "inputs", "outputs", "parameters", "buffers", "parameter_bytes", "shapes", "macs"]
KEYS += ["uncounted", "ops", "heaviest", "files"]


@pytest.fixture
def document(run: Run, lenet: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(run("inspect", lenet, "--json").stdout)
    return found


def test_json_has_the_documented_keys(run: Run, document: dict[str, object]) -> None:
    assert list(document) == KEYS
    documented = run("inspect", "--help").output.split("JSON keys:")[1].split("Options:")[0]
    assert [key for key in KEYS if f" {key} " not in documented.replace(",", " ")] == []


def test_the_counts_are_those_of_the_net(document: dict[str, object]) -> None:
    assert document["parameters"] == PARAMETERS
    assert document["parameter_bytes"] == 4 * PARAMETERS
    assert document["macs"] == CONV_MACS + MATMUL_MACS
    assert document["uncounted"] == []


def test_inputs_and_outputs_are_named_with_open_batch(document: dict[str, object]) -> None:
    assert document["inputs"] == [{"name": "image", "dtype": "float32", "shape": [-1, 1, 28, 28]}]
    outputs = document["outputs"]
    assert isinstance(outputs, list)
    assert [output["shape"] for output in outputs] == [[-1, 10]]


def test_ops_come_by_kind_with_the_heaviest_first(document: dict[str, object]) -> None:
    ops = document["ops"]
    assert isinstance(ops, list)
    assert ops[0] == {"op": "pd_op.conv2d", "count": 2, "macs": CONV_MACS, "parameters": 54 + 2400}
    assert ops[1]["op"] == "pd_op.matmul"
    assert ops[1]["macs"] == MATMUL_MACS


def test_the_heaviest_nodes_lead(document: dict[str, object]) -> None:
    heaviest = document["heaviest"]
    assert isinstance(heaviest, list)
    assert [node["node"] for node in heaviest[:2]] == ["conv2d_1", "matmul_0"]
    assert all(node["macs"] for node in heaviest)


def test_every_file_is_listed_with_its_bytes(document: dict[str, object], lenet: Path) -> None:
    files = [lenet.with_suffix(suffix) for suffix in (".json", ".pdiparams")]
    assert document["files"] == {file.name: file.stat().st_size for file in files}


def test_text_says_the_same(run: Run, lenet: Path) -> None:
    text = run("inspect", lenet).stdout
    assert "input image: float32 [any, 1, 28, 28]" in text
    assert f"parameters: {PARAMETERS:,} ({4 * PARAMETERS:,} bytes)" in text
    assert f"multiply-accumulates for one sample: {CONV_MACS + MATMUL_MACS:,}" in text


@pytest.mark.parametrize("ending", ["", ".json", ".pdiparams"])
def test_a_model_may_be_named_by_any_of_its_files(run: Run, lenet: Path, ending: str) -> None:
    result = run("inspect", f"{lenet}{ending}")
    assert result.exit_code == 0
    assert run("inspect", lenet.parent).stdout.splitlines()[1:] == result.stdout.splitlines()[1:]


def test_ops_that_cannot_be_counted_are_named() -> None:
    build = ViewBuilder()
    x = build.input("x", (-1, 4))
    y = build.node("pd_op.mystery", {"x": x}, {"out": (-1, 4)})
    counted = cost(build.view({"y": y}))
    totals = inspect_module._totals(counted)
    portrait = inspect_module.Portrait(
        "m", "paddle-3", (), (), 0, 0, 0, {}, 0, counted.uncounted, totals, (), {}
    )
    text = "\n".join(inspect_module._text(portrait))
    assert totals[0].macs is None
    assert "at least 0" in text
    assert "Not counted, as nobody knows their cost: mystery" in text


def test_a_file_that_is_no_model_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("hello")
    result = run("inspect", file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error [not-a-model]: {file}")


OTHERS = {
    "PP-LCNet_x0_25_textline_ori": ("paddle-3", ["inference.json", "inference.pdiparams"]),
    "ch_PP-OCRv3_det": ("paddle-2", ["inference.pdmodel", "inference.pdiparams"]),
    "ch_ppocr_mobile_v2.0_cls": ("paddle-2", ["inference.pdmodel", "inference.pdiparams"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_models_of_others_are_told_with_their_format(run: Run, shared: Path, name: str) -> None:
    found = json.loads(run("inspect", shared / "models/paddle" / name, "--json").stdout)
    assert (found["format"], list(found["files"])) == OTHERS[name]
    assert [tensor["name"] for tensor in found["inputs"]] == ["x"]
    assert found["parameters"] > 50_000


def test_an_open_model_is_counted_for_the_shape_that_is_given(run: Run, shared: Path) -> None:
    folder = shared / "models/paddle/ch_PP-OCRv3_det"
    assert "multiply-accumulates with open sizes of 1 (give --shape):" in run("inspect", folder).stdout
    macs = []
    for side in (64, 128):
        done = run("inspect", folder, "--shape", f"x=1,3,{side},{side}", "--json")
        found = json.loads(done.stdout)
        assert found["shapes"] == {"x": [1, 3, side, side]}
        macs.append(found["macs"])
    # Four times the picture; what works on pooled values alone stays.
    assert macs[1] == pytest.approx(4 * macs[0], rel=0.01)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("1,28,28", "'1,28,28' is no name with a shape"),
        ("image=1,x", "'image=1,x' is no name with a shape"),
        ("image=1,0,28,28", "'image=1,0,28,28' is no name with a shape"),
        ("picture=1,1,28,28", "no input 'picture'"),
        ("image=1,1", "image"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(run: Run, lenet: Path, given: str, words: str) -> None:
    result = run("inspect", lenet, "--shape", given)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_folder_of_fluid_is_told_with_a_file_for_each_parameter(run: Run, shared: Path) -> None:
    folder = shared / "models/paddle/lac_seg_fluid"
    found = json.loads(run("inspect", folder, "--json").stdout)
    assert found["format"] == "paddle-2"
    assert len(found["files"]) == 1 + 20
    # For one word: four products into gates, the scores of tags, and four recurrent layers 96 wide.
    assert found["macs"] == 2 * 96 * 288 + 2 * 192 * 288 + 192 * 4 + 4 * 96 * 288
    assert found["uncounted"] == []
    assert "and 18 more" in run("inspect", folder).stdout
    # Embedding, six products, four recurrent layers, the transitions of tags.
    assert found["parameter_bytes"] == 4 * found["parameters"]


def test_files_in_a_folder_may_be_named(run: Run, shared: Path) -> None:
    folder = shared / "models/paddle/ch_PP-OCRv3_det"
    named = run(
        "inspect", folder, "--model-filename", "inference.pdmodel", "--params_filename", "inference.pdiparams"
    )
    assert named.stdout == run("inspect", folder).stdout
    missing = run("inspect", folder, "--model_filename", "model")
    assert missing.exit_code == 2
    assert missing.stderr.startswith("error [model-not-found]:")


def test_the_text_says_the_format(run: Run, lenet: Path) -> None:
    assert "  format: paddle-3\n" in run("inspect", lenet).stdout
