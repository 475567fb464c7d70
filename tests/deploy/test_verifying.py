"""A verdict holds for the model's own file, says why not for another's, and reports what it compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import paddle
import pytest
from deploy_forms import Forms, quantized

from spokeshave.data import digits
from spokeshave.deploy import Artifact, Verdict, export, verify
from spokeshave.deploy.verifying import LEAST_AGREEMENT
from spokeshave.errors.data import NoData
from spokeshave.errors.engines import EngineFileMissing
from spokeshave.errors.measure import OutputsDiffer
from spokeshave.program import Model
from spokeshave.report import Report


@pytest.fixture(scope="module")
def forms() -> Forms:
    return quantized(1)


@pytest.fixture(scope="module")
def other() -> Forms:
    """Another net of the same build."""
    return quantized(2)


@pytest.fixture(scope="module")
def artifact(forms: Forms, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return export(forms.packed, tmp_path_factory.mktemp("onnx") / "model.onnx")


@pytest.fixture(scope="module")
def verdict(forms: Forms, artifact: Artifact) -> Verdict:
    return verify(forms.original, forms.simulation, artifact, forms.feed())


def planted(model: Model, tmp_path: Path) -> Artifact:
    """The file of a model where that of another is looked for."""
    return export(model, tmp_path / "model.onnx")


def test_the_models_own_file_holds(verdict: Verdict) -> None:
    assert verdict.holds
    assert verdict.reasons == ()
    [output] = verdict.to_simulation.outputs
    assert (output.top1_agreement or 0) >= LEAST_AGREEMENT
    assert verdict.samples == 64
    assert verdict.engine == "onnxruntime"


def test_the_file_of_another_model_does_not_hold(forms: Forms, other: Forms, tmp_path: Path) -> None:
    verdict = verify(forms.original, forms.simulation, planted(other.packed, tmp_path), forms.feed())
    assert not verdict.holds
    [reason] = verdict.reasons
    assert reason.code == "disagrees"
    assert reason.subject == forms.simulation.view.outputs[0][0]
    assert "below 99.5%" in reason.text
    report = verdict.report()
    assert report.facts["agrees_with_simulation"] is False
    assert report.reasons == verdict.reasons


def test_a_float_file_is_not_the_simulation_bit_for_bit(
    forms: Forms, verdict: Verdict, tmp_path: Path
) -> None:
    floats = verify(forms.original, forms.simulation, planted(forms.original, tmp_path), forms.feed())
    assert floats.to_float.outputs[0].snr_db > verdict.to_float.outputs[0].snr_db + 20
    assert floats.to_simulation.outputs[0].snr_db < verdict.to_simulation.outputs[0].snr_db - 20


def test_a_file_with_other_outputs_is_an_error(forms: Forms, tmp_path: Path) -> None:
    inner = replace(forms.original, fetches=(("other", forms.original.fetches[0][1]),), _executors=[])
    with pytest.raises(OutputsDiffer, match="other"):
        verify(forms.original, forms.simulation, planted(inner, tmp_path), forms.feed())


def test_a_file_that_is_gone_is_an_error(forms: Forms, artifact: Artifact, tmp_path: Path) -> None:
    with pytest.raises(EngineFileMissing):
        verify(forms.original, forms.simulation, replace(artifact, path=tmp_path / "no.onnx"), forms.feed())


def test_no_batches_are_an_error(forms: Forms, artifact: Artifact) -> None:
    with pytest.raises(NoData):
        verify(forms.original, forms.simulation, artifact, forms.feed([]))


def test_the_report_has_a_row_for_each_comparison(verdict: Verdict) -> None:
    report = verdict.report()
    assert [row.did for row in report.rows] == ["against simulation", "against float"]
    assert {row.subject for row in report.rows} == {verdict.to_float.outputs[0].name}
    facts = report.rows[0].facts
    assert set(facts) == {"top1_agreement", "cosine", "snr_db", "worst", "worst_steps"}
    assert isinstance(facts["worst_steps"], float)
    assert report.rows[1].facts["worst_steps"] is None
    assert Report.from_json(report.to_json()) == report


def test_accuracy_is_that_of_the_labels(forms: Forms, artifact: Artifact, verdict: Verdict) -> None:
    images, labels = digits("test")
    hits = (
        forms.original.run({"image": images[:64]})[forms.original.view.outputs[0][0]].argmax(1)
        == labels[:64, 0]
    )
    assert verdict.accuracy_float == float(hits.mean())
    wrong = {"image": images, "label": (labels + 1) % 10}
    shifted = verify(forms.original, forms.simulation, artifact, forms.feed(wrong))
    assert shifted.accuracy_float != verdict.accuracy_float
    assert (verdict.accuracy or 0) + (shifted.accuracy or 0) <= 1


def test_without_labels_there_is_no_accuracy(forms: Forms, artifact: Artifact) -> None:
    verdict = verify(forms.original, forms.simulation, artifact, forms.feed(digits("test")[0]))
    assert (verdict.accuracy, verdict.accuracy_float) == (None, None)
    assert verdict.report().facts["accuracy_int8"] is None
    assert verdict.holds


def test_outputs_that_are_no_scores_are_judged_by_their_noise(
    forms: Forms, other: Forms, tmp_path: Path
) -> None:
    def inner(model: Model) -> Model:
        return replace(model, fetches=(("map", model.target("relu_0.out")),), _executors=[])

    one, two = (export(inner(f.packed), tmp_path / f"{i}.onnx") for i, f in enumerate((forms, other)))
    good = verify(inner(forms.original), inner(forms.simulation), one, forms.feed())
    assert good.holds
    assert good.to_simulation.outputs[0].top1_agreement is None
    assert good.accuracy is None
    bad = verify(inner(forms.original), inner(forms.simulation), two, forms.feed())
    assert [r.code for r in bad.reasons] == ["disagrees"]
    assert "below 25 dB" in bad.reasons[0].text


def test_the_last_step_is_that_of_the_quantizer_before_the_output(forms: Forms, verdict: Verdict) -> None:
    [output] = verdict.to_simulation.outputs
    scale = float(forms.simulation.weight("linear_2.w_0.x.scale")[0])
    assert output.worst_steps == pytest.approx(output.worst / scale, rel=1e-6)


def test_verifying_leaves_the_callers_mode_alone(verdict: Verdict) -> None:
    assert verdict.holds
    assert paddle.in_dynamic_mode()
