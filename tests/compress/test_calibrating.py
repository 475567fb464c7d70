"""`quantize` writes a whole folder or nothing, the same bytes each time, and says what it cannot take."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

import spokeshave
from spokeshave import models
from spokeshave.compress import Quantized, freeze, prepare
from spokeshave.data import digits
from spokeshave.errors.data import (
    BatchDoesNotFit,
    BatchNotFinite,
    DataNotReadable,
    DtypeDoesNotFit,
    NoData,
    NotPositive,
    ReaderFailed,
)
from spokeshave.errors.engines import OpNotExportable
from spokeshave.errors.files import CannotWrite, FolderHoldsOtherFiles
from spokeshave.errors.program import ModelNotFound
from spokeshave.errors.quant import AlreadyQuantized, NothingToQuantize, ObserverSawNaN
from spokeshave.errors.registry import UnknownName
from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.files import check_sums
from spokeshave.program import Model, capture, for_inference, load
from spokeshave.quant import QuantPlan, apply, observe, plan
from spokeshave.report import Report
from spokeshave.seams import write_tensor
from spokeshave.targets import TARGETS

FILES = {
    "SHA256SUMS",
    *(f"{form}/model.{kind}" for form in ("float", "int8") for kind in ("json", "pdiparams", "sha256")),
    "onnx/model.onnx",
    "plan.json",
    "report.json",
}
IMAGES = digits("test")[0][:40]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a LeNet with fresh weights."""
    paddle.seed(3)
    with paddle.utils.unique_name.guard():
        net = models.create("lenet", num_classes=10, in_channels=1)
    net.eval()
    folder: Path = tmp_path_factory.mktemp("lenet")
    paddle.jit.save(
        net, str(folder / "model"), [paddle.static.InputSpec([None, 1, 28, 28], "float32", "image")]
    )
    return folder


@pytest.fixture(scope="module")
def written(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Quantized, Path]:
    """What `quantize` gave, and where it wrote."""
    out = tmp_path_factory.mktemp("out") / "quantized"
    return spokeshave.quantize(saved, "digits", out, limit=64), out


def content(folder: Path) -> dict[str, str]:
    """The digest of each file below a folder."""
    files = [f for f in folder.rglob("*") if f.is_file()]
    return {f.relative_to(folder).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_the_folder_holds_what_is_promised(written: tuple[Quantized, Path]) -> None:
    _, out = written
    assert set(content(out)) == FILES
    check_sums(out / "SHA256SUMS")


def test_the_files_are_what_was_returned(written: tuple[Quantized, Path]) -> None:
    result, out = written
    assert QuantPlan.load(out / "plan.json") == result.plan
    assert Report.from_json((out / "report.json").read_bytes()) == result.report
    assert result.artifact.path == out / "onnx/model.onnx"
    assert hashlib.sha256(result.artifact.path.read_bytes()).hexdigest() == result.artifact.digest
    for name, form in (("float", result.simulation), ("int8", result.packed)):
        for output, array in load(out / name).run({"image": IMAGES}).items():
            np.testing.assert_array_equal(array, form.run({"image": IMAGES})[output])


def test_both_paddle_forms_compute_the_same(written: tuple[Quantized, Path]) -> None:
    result, _ = written
    ours, theirs = (m.run({"image": IMAGES}) for m in (result.simulation, result.packed))
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])


def test_two_runs_write_the_same_bytes(saved: Path, written: tuple[Quantized, Path], tmp_path: Path) -> None:
    spokeshave.quantize(str(saved / "model"), "digits", str(tmp_path / "again"), limit=64)
    assert content(tmp_path / "again") == content(written[1])


def test_a_second_run_replaces_the_first(saved: Path, tmp_path: Path) -> None:
    spokeshave.quantize(saved, IMAGES, tmp_path / "out")
    before = content(tmp_path / "out")
    spokeshave.quantize(saved, IMAGES * 2, tmp_path / "out")
    after = content(tmp_path / "out")
    assert after.keys() == before.keys()
    assert after["plan.json"] != before["plan.json"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_weights_shrink_to_a_quarter(written: tuple[Quantized, Path], saved: Path) -> None:
    result, out = written
    before, after = ((p / "model.pdiparams").stat().st_size for p in (saved, out / "int8"))
    # Scales and float biases stand beside the int8 weights.
    assert before / after > 3.8
    assert result.report.facts["weights_smaller_times"] == pytest.approx(before / after, rel=0.02)


def test_digits_are_verified_on_their_test_split(written: tuple[Quantized, Path]) -> None:
    assert written[0].verdict.samples == 397
    assert written[0].verdict.accuracy is not None


def test_other_data_is_verified_on_itself_within_the_limit(saved: Path, tmp_path: Path) -> None:
    result = spokeshave.quantize(saved, IMAGES, tmp_path / "out", limit=24)
    assert result.verdict.samples == 24
    assert result.verdict.accuracy is None
    assert "accuracy_int8" not in result.report.facts


def test_data_that_runs_only_once_will_do(saved: Path, tmp_path: Path) -> None:
    result = spokeshave.quantize(saved, (IMAGES[i : i + 8] for i in range(0, 40, 8)), tmp_path / "out")
    assert result.verdict.samples == 40


def test_other_data_may_be_given_to_verify_on(saved: Path, tmp_path: Path) -> None:
    result = spokeshave.quantize(saved, IMAGES, tmp_path / "out", verify_data="digits:test", limit=8)
    assert result.verdict.samples == 397


def test_the_report_tells_of_everything(written: tuple[Quantized, Path]) -> None:
    report = written[0].report
    assert {"weights_quantized", "engine", "onnx_sha256", "source"} <= set(report.facts)
    assert {row.did for row in report.rows} >= {"weight", "activation", "against simulation", "against float"}


def test_exclude_leaves_a_layer_in_float_and_says_so(saved: Path, tmp_path: Path) -> None:
    result = spokeshave.quantize(saved, IMAGES, tmp_path / "out", exclude=["linear_2.w_0"])
    assert "linear_2.w_0" not in {site.id for site in result.plan.sites}
    assert [r.code for r in result.report.reasons if r.subject == "matmul_2"] == ["excluded"]
    assert result.verdict.holds


def test_another_target_writes_the_same_kind_of_folder(saved: Path, tmp_path: Path) -> None:
    result = spokeshave.quantize(saved, IMAGES, tmp_path / "out", target="paddle")
    assert set(content(tmp_path / "out")) == FILES
    assert result.plan.target == "paddle"
    assert result.verdict.holds


def test_the_callers_mode_is_left_alone(saved: Path, tmp_path: Path) -> None:
    paddle.enable_static()
    try:
        spokeshave.quantize(saved, IMAGES, tmp_path / "out")
        assert not paddle.in_dynamic_mode()
    finally:
        paddle.disable_static()


def program_in_training() -> Model:
    """A program of a user's own, with batch norm in training mode, its loss and its backward."""
    paddle.enable_static()
    try:
        program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
            image = paddle.static.data("image", [None, 1, 28, 28], "float32")
            hidden = paddle.nn.BatchNorm2D(4)(paddle.nn.Conv2D(1, 4, 3, stride=3)(image))
            scores = paddle.nn.Linear(324, 10)(paddle.flatten(paddle.nn.functional.relu(hidden), 1))
            paddle.optimizer.SGD(0.1).minimize(paddle.mean(scores * scores))
        with paddle.static.scope_guard(scope):
            paddle.static.Executor(paddle.CPUPlace()).run(startup)
        return Model.of(program, {"scores": scores}, scope)
    finally:
        paddle.disable_static()


def test_a_program_in_a_users_scope_is_quantized_and_left_alone(tmp_path: Path) -> None:
    model = program_in_training()
    before, ops = model.weights(), len(model.program.global_block().ops)
    held = set(model.scope.local_var_names())
    result = spokeshave.quantize(model, IMAGES, tmp_path / "out")
    assert result.verdict.holds
    assert [row.subject for row in result.report.rows if row.did == "fold-batch-norm"] == ["batch_norm_0"]
    assert set(model.scope.local_var_names()) == held
    assert len(model.program.global_block().ops) == ops
    for name, array in model.weights().items():
        np.testing.assert_array_equal(array, before[name])


def test_preparing_folds_and_untransposes_and_tells_of_it() -> None:
    model = program_in_training()
    prepared, report = prepare(for_inference(model).owned())
    assert [row.did for row in report.rows] == ["fold-batch-norm"]
    kinds = {node.op for node in prepared.view.nodes}
    assert "pd_op.batch_norm_" not in kinds
    assert "pd_op.batch_norm_" in {node.op for node in model.view.nodes}


# What goes wrong leaves nothing behind


def failing(batches: int) -> Iterator[Any]:
    """Good batches, and an error in the place of the last."""
    for start in range(batches):
        yield IMAGES[start * 8 : start * 8 + 8]
    raise OSError("the disk is gone")


@pytest.fixture
def old(saved: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder that was written before, and what is in it."""
    spokeshave.quantize(saved, IMAGES, tmp_path / "old")
    return tmp_path / "old", content(tmp_path / "old")


@pytest.mark.parametrize("data", [{"data": 1}, {"verify_data": 1}], ids=["calibrating", "verifying"])
def test_data_that_fails_in_its_last_batch_leaves_the_old_folder(
    saved: Path, old: tuple[Path, dict[str, str]], data: dict[str, Any]
) -> None:
    out, before = old
    feeds: dict[str, Any] = {"data": IMAGES, **dict.fromkeys(data, failing(4))}
    with pytest.raises(ReaderFailed, match="the disk is gone"):
        spokeshave.quantize(saved, output=out, **feeds)
    assert content(out) == before
    assert [p.name for p in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("data", [{"data": 1}, {"verify_data": 1}], ids=["calibrating", "verifying"])
def test_data_that_fails_in_its_last_batch_leaves_no_folder(
    saved: Path, tmp_path: Path, data: dict[str, Any]
) -> None:
    feeds: dict[str, Any] = {"data": IMAGES, **dict.fromkeys(data, failing(4))}
    with pytest.raises(ReaderFailed, match="batch 4"):
        spokeshave.quantize(saved, output=tmp_path / "out", **feeds)
    assert list(tmp_path.iterdir()) == []


def bad_batches() -> dict[str, tuple[Any, type[Exception], str]]:
    with_nan = IMAGES.copy()
    with_nan[-1, 0, 3, 3] = np.nan
    return {
        "of another shape": (IMAGES[:, :, :14], BatchDoesNotFit, "shape"),
        "with channels last": (IMAGES.transpose(0, 2, 3, 1), BatchDoesNotFit, "channels seem to come last"),
        "of whole numbers": ((IMAGES * 255).astype(np.uint8), DtypeDoesNotFit, "uint8"),
        "of doubles": (IMAGES.astype(np.float64), DtypeDoesNotFit, "float64"),
        "with NaN in the last batch": (with_nan, BatchNotFinite, "NaN"),
        "without a sample": (IMAGES[:0], NoData, "no batch"),
        "without a batch": ([], NoData, "no batch"),
        "that yields nothing": (iter(()), NoData, "no batch"),
        "in no file": ("no.npy", DataNotReadable, "no.npy"),
    }


@pytest.mark.parametrize("name", bad_batches())
def test_data_is_refused(saved: Path, tmp_path: Path, name: str) -> None:
    data, error, says = bad_batches()[name]
    with pytest.raises(error, match=says):
        spokeshave.quantize(saved, data, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_data_to_verify_on_is_looked_at_before_the_work_begins(saved: Path, tmp_path: Path) -> None:
    seen = []

    def batches() -> Iterator[Any]:
        for start in range(0, 40, 8):
            seen.append(start)
            yield IMAGES[start : start + 8]

    with pytest.raises(BatchDoesNotFit):
        spokeshave.quantize(saved, batches, tmp_path / "out", verify_data=IMAGES[:, :, :14])
    assert seen == [0]


@pytest.mark.parametrize(("name", "value"), [("batch_size", 0), ("limit", 0)])
def test_sizes_that_are_no_sizes_are_refused(saved: Path, tmp_path: Path, name: str, value: int) -> None:
    sizes: dict[str, Any] = {name: value}
    with pytest.raises(NotPositive, match=name):
        spokeshave.quantize(saved, IMAGES, tmp_path / "out", **sizes)


@pytest.mark.parametrize("form", ["float", "int8"])
def test_what_was_quantized_is_not_quantized_again(
    written: tuple[Quantized, Path], tmp_path: Path, form: str
) -> None:
    with pytest.raises(AlreadyQuantized):
        spokeshave.quantize(written[1] / form, IMAGES, tmp_path / "out")


def test_the_folder_that_was_written_is_no_model_but_holds_some(
    written: tuple[Quantized, Path], tmp_path: Path
) -> None:
    with pytest.raises(ModelNotFound, match="float, int8"):
        spokeshave.quantize(written[1], IMAGES, tmp_path / "out")


def test_leaving_everything_out_is_an_error(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingToQuantize, match="excluded"):
        spokeshave.quantize(saved, IMAGES, tmp_path / "out", exclude=["type:*"])


def test_a_rule_that_matches_nothing_is_an_error(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(RuleMatchedNothing, match=r"linear_2\.w_0"):
        spokeshave.quantize(saved, IMAGES, tmp_path / "out", include=["linear_2.w"])


@pytest.mark.parametrize(
    ("setting", "near"), [({"target": "onnx-runtime"}, "onnxruntime"), ({"observer": "absmax"}, "abs-max")]
)
def test_an_unknown_name_is_refused_with_the_nearest(
    saved: Path, tmp_path: Path, setting: dict[str, Any], near: str
) -> None:
    with pytest.raises(UnknownName, match=near):
        spokeshave.quantize(saved, IMAGES, tmp_path / "out", **setting)


def test_a_model_that_makes_nan_is_an_error(saved: Path, tmp_path: Path) -> None:
    model = load(saved)
    write_tensor(model.scope, "linear_1.b_0", np.full(84, np.nan, np.float32))
    with pytest.raises(ObserverSawNaN, match=r"linear_1\.b_0"):
        spokeshave.quantize(model, IMAGES, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_of_others_is_not_replaced(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("mine", "utf-8")
    with pytest.raises(FolderHoldsOtherFiles, match=r"thesis\.txt"):
        spokeshave.quantize(saved, IMAGES, tmp_path / "out")
    assert content(tmp_path / "out").keys() == {"thesis.txt"}


def test_a_file_is_no_folder_to_write(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", "utf-8")
    with pytest.raises(CannotWrite):
        spokeshave.quantize(saved, IMAGES, tmp_path / "out")


def test_an_output_that_is_no_scores_is_compared_all_the_same(saved: Path, tmp_path: Path) -> None:
    model = load(saved)
    inner = replace(model, fetches=(("map", model.target("relu_1.out")),), _executors=[])
    result = spokeshave.quantize(inner, "digits", tmp_path / "out", limit=32)
    assert result.verdict.holds
    assert result.verdict.accuracy is None
    assert "output-not-rounded" in {r.code for r in result.plan.left_out}


class NotWritable(paddle.nn.Layer):  # type: ignore[misc]
    """A product behind something that ONNX has no operator for."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        """The product of what is not writable."""
        return self.linear(paddle.erfinv(paddle.tanh(x)))


def unread() -> Iterator[Any]:
    """Data that tells when it is read."""
    raise AssertionError("the data was read")
    yield


def test_what_cannot_be_exported_is_refused_before_any_data_is_read(tmp_path: Path) -> None:
    net = NotWritable()
    net.eval()
    model = capture(net, [paddle.static.InputSpec([None, 4], "float32", "x")])
    with pytest.raises(OpNotExportable, match=r"pd_op\.erfinv \(erfinv_0\)"):
        spokeshave.quantize(model, unread, tmp_path / "out")
    drawn = plan(model.view, TARGETS["onnxruntime"])
    trained = apply(model, drawn.settled(observe(model, drawn, [{"x": np.ones((2, 4), np.float32)}])))
    with pytest.raises(OpNotExportable, match=r"pd_op\.erfinv \(erfinv_0\)"):
        freeze(trained, unread, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
