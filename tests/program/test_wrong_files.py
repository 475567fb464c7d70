"""Files that are not what they seem: each one a clear error that names the file."""

from __future__ import annotations

import json
import resource
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from program_nets import pictures

from spokeshave.errors.files import ChecksumWrong, SumsMalformed
from spokeshave.errors.formats import UnknownOperator
from spokeshave.errors.program import (
    ModelNotFound,
    NotAModel,
    SeveralModels,
    WeightsDoNotFit,
    WeightsMissing,
    WeightsTruncated,
)
from spokeshave.program import load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Saved = Callable[[str], Path]
Document = Any
HEADER = 20  # bytes before the description of a tensor


@pytest.fixture
def lenet(saved: Saved, tmp_path: Path) -> Path:
    """A copy of LeNet's files, without checksums; gives the prefix."""
    return copied(saved("lenet"), tmp_path / "m")


def copied(source: Path, target: Path) -> Path:
    target.parent.mkdir(exist_ok=True, parents=True)
    for kind in (".json", ".pdiparams"):
        shutil.copy(source.with_name(source.name + kind), target.with_name(target.name + kind))
    return target


def edited(prefix: Path, edit: Callable[[Document], None]) -> Path:
    """Edits the JSON of a model in place."""
    file = prefix.with_suffix(".json")
    document = json.loads(file.read_text())
    edit(document)
    file.write_text(json.dumps(document))
    return prefix


def ops_of(document: Document) -> list[Any]:
    ops: list[Any] = document["program"]["regions"][0]["blocks"][0]["ops"]
    return ops


def op_of(document: Document, name: str) -> Any:
    return next(op for op in ops_of(document) if op["#"] == name)


def attribute_of(document: Document, op: str, name: str) -> Any:
    return next(a for a in op_of(document, op)["A"] if a["N"] == name)


# Where the model is


@pytest.mark.parametrize(
    "asked", ["nothing", "nothing.json", "no/such/folder", "nothing.pdiparams", "nothing.pdmodel"]
)
def test_a_missing_model_is_told(tmp_path: Path, asked: str) -> None:
    with pytest.raises(ModelNotFound, match=asked):
        load(tmp_path / asked)


def test_a_folder_with_several_models_names_them(lenet: Path) -> None:
    copied(lenet, lenet.with_name("n"))
    with pytest.raises(SeveralModels, match=r"several models: m\.json, n\.json"):
        load(lenet.parent)
    assert load(lenet.with_name("n")).view.outputs


def test_a_folder_without_a_model_points_to_those_below(lenet: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="holds none"):
        load(_folder(tmp_path / "empty"))
    for name in ("float", "int8"):
        copied(lenet, tmp_path / "out" / name / "model")
    copied(lenet, tmp_path / "out" / "int8" / "other")
    with pytest.raises(ModelNotFound, match="holds none, but float, int8 in it do"):
        load(tmp_path / "out")


def test_other_json_and_folders_beside_a_model_do_not_disturb(lenet: Path) -> None:
    (lenet.parent / "plan.json").write_text('{"sites": []}')
    (lenet.parent / "report.json").write_text("")
    _folder(lenet.parent / "folder.json")
    assert load(lenet.parent).view.inputs == ("image",)


@pytest.mark.parametrize("old", ["m.pdmodel", "__model__"])
def test_a_name_of_paddle_2_beside_a_json_of_that_stem_finds_it_and_says_so(lenet: Path, old: str) -> None:
    if old == "__model__":
        copied(lenet, lenet.with_name(old))
    with pytest.warns(UserWarning, match=f"{old} is a name of Paddle 2; reading .*json beside it"):
        assert load(lenet.with_name(old)).view.inputs == ("image",)


# The program


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"a model, really", "no JSON"),
        (b"\n\n{", "no JSON"),
        (b"{}", "not the JSON of a Paddle 3 program"),
        (b"[1, 2]", "not the JSON of a Paddle 3 program"),
        (b"null", "not the JSON of a Paddle 3 program"),
        (b'{"base_code": {"magic": "pir", "version": 1}}', "not the JSON of a Paddle 3 program"),
        (
            b'{"base_code": {"magic": "onnx", "version": 1}, "program": {"regions": []}}',
            "JSON of another kind",
        ),
        (b'{"base_code": {"magic": "pir", "version": 1}, "program": {"regions": []}}', "no program"),
        (b"[" * 100_000, "not the JSON of a Paddle 3 program"),
        (b'{"base_code": ' * 100_000, "."),
        (b"\x00\xff\xfe\x01" * 100, "no JSON"),
        (b"\x89PNG\r\n\x1a\n", "no JSON"),
    ],
)
def test_what_is_no_program_is_not_read_as_one(lenet: Path, content: bytes, why: str) -> None:
    file = lenet.with_suffix(".json")
    file.write_bytes(content)
    with pytest.raises(NotAModel, match=f"(?s){file}.*{why}"):
        load(lenet)


@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_a_truncated_program_is_told(lenet: Path, part: float) -> None:
    file = lenet.with_suffix(".json")
    text = file.read_bytes()
    file.write_bytes(text[: int(len(text) * part)])
    with pytest.raises(NotAModel, match=str(file)):
        load(lenet)


def _reads_later(document: Document) -> None:
    op_of(document, "1.relu")["I"][0]["%"] = ops_of(document)[-1]["O"][0]["%"]


def _reads_nothing(document: Document) -> None:
    op_of(document, "1.relu")["I"][0]["%"] = 10**6


def _makes_twice(document: Document) -> None:
    op_of(document, "1.relu")["O"][0]["%"] = 1


def _long_number(document: Document) -> None:
    op_of(document, "1.relu")["I"][0]["%"] = 2**70


def _unknown_dialect(document: Document) -> None:
    op_of(document, "1.relu")["#"] = "99.relu"


def _no_operands(document: Document) -> None:
    del op_of(document, "1.relu")["I"]


def _too_few_operands(document: Document) -> None:
    op_of(document, "1.conv2d")["I"].pop()


def _absent_operand(document: Document) -> None:
    op_of(document, "1.relu")["I"][0]["%"] = 0


def _no_attribute(document: Document) -> None:
    pool = op_of(document, "1.pool2d")
    pool["A"] = [a for a in pool["A"] if a["N"] != "adaptive"]


def _attribute_of_another_type(document: Document) -> None:
    attribute_of(document, "1.pool2d", "adaptive")["AT"] = {"#": "0.a_i32", "D": 1}


def _unknown_type(document: Document) -> None:
    op_of(document, "1.relu")["O"][0]["TT"]["D"][0]["#"] = "0.t_f33"


def _tensor_of_tensors(document: Document) -> None:
    tensor = op_of(document, "1.relu")["O"][0]["TT"]
    tensor["D"][0] = json.loads(json.dumps(tensor))


def _mixed_list(document: Document) -> None:
    attribute_of(document, "1.conv2d", "strides")["AT"]["D"][1] = {"#": "0.a_bool", "D": True}


def _two_results_of_a_parameter(document: Document) -> None:
    op_of(document, "p")["O"] = [op_of(document, "p")["O"]] * 2


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_reads_later, r"operator \d+ \(1.relu\) reads value \d+, which nothing before it makes"),
        (_reads_nothing, "reads value 1000000, which nothing before it makes"),
        (_makes_twice, "makes value 1, which is made already"),
        (_long_number, "not the JSON of a Paddle 3 program"),
        (_unknown_dialect, "Paddle refuses its program: .*Unknown id 99"),
        (_no_operands, "has not the form of its kind"),
        (_too_few_operands, "Paddle refuses its program: .*size of inputs"),
        (_absent_operand, "Paddle refuses its program: .*validation failed"),
        (_no_attribute, "Paddle refuses its program: .*adaptive does not exist"),
        (_attribute_of_another_type, "Paddle refuses its program: .*adaptive is not"),
        (_unknown_type, "Paddle refuses its program: .*t_f33"),
        (_tensor_of_tensors, "Paddle refuses its program: "),
        (_mixed_list, "1.conv2d strides is a list of different kinds"),
        (_two_results_of_a_parameter, "has not the form of its kind"),
    ],
)
def test_a_program_that_would_end_the_process_is_refused(
    lenet: Path, edit: Callable[[Document], None], why: str
) -> None:
    edited(lenet, edit)
    with pytest.raises(NotAModel, match=f"{lenet}.json .*{why}"):
        load(lenet)


def test_numbers_written_over_a_slice_that_are_not_there_are_noticed(tmp_path: Path) -> None:
    class Overwriting(paddle.nn.Layer):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            y = x * 2
            y[:, 0] = 7.0
            return y

    spec = [paddle.static.InputSpec([None, 3], "float32", "x")]
    paddle.jit.save(Overwriting(), str(tmp_path / "m"), spec)
    load(tmp_path)

    def edit(document: Document) -> None:
        attribute_of(document, "1.set_value_", "values")["AT"]["D"] = []

    edited(tmp_path / "m", edit)
    with pytest.raises(NotAModel, match="a set_value without its numbers"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["1.relu_next", "3.my_relu"])
def test_operators_that_paddle_does_not_know_are_named(lenet: Path, name: str) -> None:
    def edit(document: Document) -> None:
        op_of(document, "1.relu")["#"] = name

    edited(lenet, edit)
    with pytest.raises(UnknownOperator, match=rf"not know: {name[2:]}\. Nearest that it knows: .*relu"):
        load(lenet)


@pytest.mark.parametrize("depth", [300, 100_000])
@pytest.mark.parametrize("kind", ['{"#": "0.t_vec", "D": [', '{"#": "0.a_array", "D": ['])
def test_a_program_without_a_bottom_is_refused(lenet: Path, kind: str, depth: int) -> None:
    deep = kind * depth + "]}" * depth
    key = "TT" if "t_vec" in kind else "AT"
    file = lenet.with_suffix(".json")
    text = json.dumps(json.loads(file.read_text()))
    start = text.index(f'"{key}": ', text.index('"1.relu"')) + len(f'"{key}": ')
    file.write_text(text[:start] + deep + f', "was": {text[start:]}')
    with pytest.raises(NotAModel, match=str(file)):
        load(lenet)


# The weights


def test_missing_weights_are_told(lenet: Path) -> None:
    lenet.with_suffix(".pdiparams").unlink()
    with pytest.raises(WeightsMissing, match=rf"{lenet}.json needs its weights in {lenet}.pdiparams"):
        load(lenet)


def _cuts(text: bytes) -> dict[str, int]:
    description = HEADER + struct.unpack("<i", text[16:20])[0]
    return {
        "nothing left": 0,
        "in the first header": 7,
        "after the first header": HEADER,
        "in the first description": description - 1,
        "before the first numbers": description,
        "in the first numbers": description + 3,
        "in the middle": len(text) // 2,
        "before the last byte": len(text) - 1,
    }


@pytest.mark.parametrize("place", _cuts(bytes(HEADER)))
def test_truncated_weights_are_told_with_the_tensor_they_end_in(lenet: Path, place: str) -> None:
    file = lenet.with_suffix(".pdiparams")
    text = file.read_bytes()
    file.write_bytes(text[: _cuts(text)[place]])
    with pytest.raises(WeightsTruncated, match=rf"{file} breaks off at tensor '.*' \(number \d+ of 10\)"):
        load(lenet)


def test_weights_that_go_on_are_told(lenet: Path) -> None:
    file = lenet.with_suffix(".pdiparams")
    file.write_bytes(file.read_bytes() + b"\0")
    with pytest.raises(WeightsDoNotFit, match="goes on after the 10 tensors"):
        load(lenet)


def test_weights_of_another_model_are_told(saved: Saved, lenet: Path) -> None:
    shutil.copy(saved("mobilenet").with_suffix(".pdiparams"), lenet.with_suffix(".pdiparams"))
    with pytest.raises(WeightsDoNotFit, match=rf"{lenet}.pdiparams does not belong to {lenet}.json"):
        load(lenet)


def header(dtype: int, *shape: int) -> bytes:
    """The head of a tensor record, written down once more."""
    dims = b"".join(b"\x10" + _varint(n) for n in shape)
    description = b"\x08" + bytes([dtype]) + dims
    return struct.pack("<IQIi", 0, 0, 0, len(description)) + description


def _varint(value: int) -> bytes:
    out, value = bytearray(), value % (1 << 64)
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def with_first_tensor(prefix: Path, head: bytes, numbers: bytes = b"") -> Path:
    """Replaces the first record, `conv2d_0.b_0` of six floats."""
    file = prefix.with_suffix(".pdiparams")
    rest = file.read_bytes()[len(header(5, 6)) + 24 :]
    file.write_bytes(head + numbers + rest)
    return prefix


def test_a_record_is_what_these_tests_think(lenet: Path) -> None:
    wanted = load(lenet).weights()
    with_first_tensor(lenet, header(5, 6), np.arange(6, dtype="<f4").tobytes())
    found = load(lenet).weights()
    np.testing.assert_array_equal(found.pop("conv2d_0.b_0"), np.arange(6))
    for name, array in found.items():
        np.testing.assert_array_equal(array, wanted[name])


@pytest.mark.parametrize(
    ("head", "error", "why"),
    [
        (header(21, 6), WeightsDoNotFit, r"should be float32\[6\] and is int8\[6\]"),
        (header(6, 6), WeightsDoNotFit, r"is float64\[6\]"),
        (header(5, 6, 1), WeightsDoNotFit, r"is float32\[6, 1\]"),
        (header(5, 2**40), WeightsDoNotFit, r"is float32\[1099511627776\]"),
        (header(5, 2**62, 2**62), WeightsDoNotFit, "is float32"),
        (header(5, -6), WeightsDoNotFit, r"is float32\[-6\]"),
        (header(99, 6), WeightsTruncated, "no element type"),
        (header(5)[:HEADER] + b"\xff\xff", WeightsTruncated, "header is damaged"),
        (header(5)[:HEADER] + b"\x0d\x01", WeightsTruncated, "header is damaged"),
        (struct.pack("<IQIi", 0, 0, 0, -5), WeightsTruncated, "no tensor header here"),
        (struct.pack("<IQIi", 0, 0, 0, 2**31 - 1), WeightsTruncated, "no tensor header here"),
        (struct.pack("<IQIi", 0, 2**63, 0, 4), WeightsTruncated, "no tensor header here"),
        (struct.pack("<IQIi", 7, 0, 0, 4), WeightsTruncated, "no tensor header here"),
    ],
)
def test_a_damaged_header_is_told(lenet: Path, head: bytes, error: Any, why: str) -> None:
    with_first_tensor(lenet, head, bytes(24))
    with pytest.raises(error, match=rf"(?s){lenet}.pdiparams.*{why}"):
        load(lenet)


@pytest.mark.parametrize("shape", [[2**40], [2**32, 2**32], [2**31, 2**31, 2**31], [-6], [-1]])
def test_absurd_sizes_in_both_files_take_no_memory(lenet: Path, shape: list[int]) -> None:
    def declare(document: Document) -> None:
        parameter = next(op for op in ops_of(document) if op["#"] == "p" and "conv2d_0.b_0" in op["A"])
        parameter["O"]["TT"]["D"][1] = shape

    with_first_tensor(edited(lenet, declare), header(5, *shape), bytes(24))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((WeightsTruncated, NotAModel), match=str(lenet)):
        load(lenet)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


# Checksums


def test_swapped_weights_of_one_shape_are_seen_in_a_file_that_we_saved(saved: Saved, tmp_path: Path) -> None:
    save(load(saved("mobilenet")), tmp_path / "m")
    file = tmp_path / "m.pdiparams"
    weights = load(tmp_path / "m").weights()
    one, other = (weights[f"batch_norm2d_0.{n}"].tobytes() for n in ("b_0", "w_0"))
    text = file.read_bytes()
    assert text.count(one) == text.count(other) == 1
    file.write_bytes(text.replace(one, b"?" * len(one)).replace(other, one).replace(b"?" * len(one), other))
    with pytest.raises(
        ChecksumWrong, match=rf"{file} is missing or is not the file that {tmp_path}/m.sha256"
    ):
        load(tmp_path / "m")
    (tmp_path / "m.sha256").unlink()
    swapped = load(tmp_path / "m").weights()  # nothing else in the file tells
    np.testing.assert_array_equal(swapped["batch_norm2d_0.b_0"], weights["batch_norm2d_0.w_0"])


def test_a_changed_program_is_seen(saved: Saved, tmp_path: Path) -> None:
    save(load(saved("lenet")), tmp_path / "m")
    file = tmp_path / "m.json"
    file.write_text(file.read_text().replace('"max"', '"avg"'))
    with pytest.raises(ChecksumWrong, match=str(file)):
        load(tmp_path / "m")


def test_a_damaged_list_of_checksums_is_told(saved: Saved, tmp_path: Path) -> None:
    save(load(saved("lenet")), tmp_path / "m")
    (tmp_path / "m.sha256").write_text("what?\n")
    with pytest.raises(SumsMalformed, match=r"m\.sha256"):
        load(tmp_path / "m")


def test_the_files_as_they_are_still_load(lenet: Path) -> None:
    assert load(lenet).run(pictures("lenet"))


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
