"""Post-training quantization from end to end, and the last part that training shares with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spokeshave.data import Feed, open_data, preflight
from spokeshave.deploy import Artifact, Verdict, check_exportable, export, verify
from spokeshave.files import SUMS, AtomicFolder, check_replaceable
from spokeshave.program import PASSES, Model, for_inference, load, rewrite, save
from spokeshave.quant import QuantPlan, apply, observe, pack, plan
from spokeshave.quant import freeze as frozen
from spokeshave.report import Cell, Report
from spokeshave.select import choose
from spokeshave.select.choosing import Rule
from spokeshave.targets import TARGETS

PREPARING = (
    "fold-constants",
    "drop-dropout",
    "drop-identities",
    "fold-batch-norm",
    "untranspose-weight",
    "drop-dead-ops",
)
FLOAT, INT8, ONNX = "float/model", "int8/model", "onnx/model.onnx"
PLAN, REPORT = "plan.json", "report.json"
WRITES = {
    f"{FLOAT}.json": "the frozen program: a rounding at every activation site",
    f"{FLOAT}.pdiparams": "its weights, on their grids, as float32",
    f"{FLOAT}.sha256": "checksums of the two, in the form that `sha256sum -c` takes; loading checks them",
    f"{INT8}.json": "the same program with its weights unpacked from int8",
    f"{INT8}.pdiparams": "its weights as int8, a quarter of the bytes",
    f"{INT8}.sha256": "checksums of the two",
    ONNX: "int8 weights, int32 biases, pairs of QuantizeLinear and DequantizeLinear",
    PLAN: "every site with its grid and scale, and why other operators stay float",
    REPORT: "what was done and left out, sizes, and the verdict",
    SUMS: "checksums of all files in the folder",
}


@dataclass(frozen=True)
class Quantized:
    """A quantized model in its three forms, the plan they follow, the proof, and the report of it all."""

    simulation: Model
    packed: Model
    artifact: Artifact
    plan: QuantPlan
    verdict: Verdict
    report: Report


def quantize(
    model: Model | str | Path,
    data: Any,
    output: str | Path,
    *,
    target: str = "onnxruntime",
    observer: str = "abs-max",
    include: Sequence[Rule] = (),
    exclude: Sequence[Rule] = (),
    batch_size: int = 32,
    limit: int | None = None,
    verify_data: Any = None,
) -> Quantized:
    """Quantizes a model by calibration and writes it to a folder: Paddle files, ONNX, plan and report.

    `model` is a `Model` or the path of one, `data` whatever `data.open_data` takes. The result is verified
    on `verify_data`: by default the test split of the digits when they calibrate, else the same batches.
    Nothing is written unless all went well, and what cannot be exported is refused before any data is read.
    Costs one pass of the data through the model, three to verify.
    """
    check_replaceable(Path(output))
    original = for_inference(model if isinstance(model, Model) else load(model)).owned()
    feed = open_data(data, inputs=original.inputs, batch_size=batch_size, limit=limit)
    other = _proof_for(data, verify_data)
    proof = feed if other is None else open_data(other, inputs=original.inputs, batch_size=batch_size)
    prepared, prepared_report = prepare(original)
    drawn = plan(prepared.view, TARGETS[target], choose(prepared.view, include, exclude))
    check_exportable(prepared)
    checked = preflight(feed, original.inputs)
    if proof is not feed:
        preflight(proof, original.inputs)
    settled = drawn.settled(observe(prepared, drawn, (batch.inputs for batch in feed), observer))
    return finish(original, prepared, settled, proof, output, (prepared_report, checked))


def freeze(
    model: Model,
    data: Any,
    output: str | Path,
    *,
    batch_size: int = 32,
    limit: int | None = None,
) -> Quantized:
    """Freezes a trained test model with quantizers in it and writes the same folder as `quantize`.

    `model` is `Model.of(program, outputs)` of what `quant_aware(program, place, for_test=True)` gave,
    trained; the user's scope stays as it is. It is verified on `data` against itself without quantizers.
    """
    check_replaceable(Path(output))
    bare, learned = frozen(for_inference(model).owned())
    check_exportable(bare)
    feed = open_data(data, inputs=bare.inputs, batch_size=batch_size, limit=limit)
    checked = preflight(feed, bare.inputs)
    return finish(bare, bare, learned, feed, output, (checked,))


def prepare(model: Model) -> tuple[Model, Report]:
    """The model after the passes of `PREPARING`, its batch norms folded, and what they left alone."""
    reports = []
    for name in PREPARING:
        result = rewrite(model, PASSES[name])
        model = result.model
        reports.append(result.report())
    return model, reports[0].joined(*reports[1:])


def finish(
    original: Model,
    prepared: Model,
    settled: QuantPlan,
    proof: Feed,
    output: str | Path,
    before: Sequence[Report] = (),
) -> Quantized:
    """From a settled plan to files: freezes, packs, exports, verifies, writes the folder whole or not."""
    simulation = apply(prepared, settled)
    packed = pack(prepared, settled)
    with AtomicFolder(Path(output)) as staging:
        save(simulation, staging / FLOAT)
        save(packed, staging / INT8)
        artifact = export(packed, staging / ONNX)
        settled.save(staging / PLAN)
        verdict = verify(original, simulation, artifact, proof)
        report = _report(original, packed, settled, artifact, verdict, before)
        (staging / REPORT).write_bytes(report.to_json())
    artifact = replace(artifact, path=Path(output) / ONNX)
    return Quantized(simulation, packed, artifact, settled, verdict, report)


def _proof_for(data: Any, verify_data: Any) -> Any:
    """The data to verify on, None where it is the very batches that calibrate: a generator runs only once."""
    if verify_data is not None:
        return verify_data
    return "digits:test" if isinstance(data, str) and data == "digits" else None


def _report(
    original: Model,
    packed: Model,
    settled: QuantPlan,
    artifact: Artifact,
    verdict: Verdict,
    before: Sequence[Report],
) -> Report:
    before_bytes, after_bytes = _weight_bytes(original), _weight_bytes(packed)
    sizes: dict[str, Cell] = {
        "weights_before_bytes": before_bytes,
        "weights_after_bytes": after_bytes,
        "weights_smaller_times": round(before_bytes / after_bytes, 3),
        "onnx_bytes": artifact.size_bytes,
        "onnx_sha256": artifact.digest,
    }
    parts = (*before, settled.report(), verdict.report(), Report("ONNX", reasons=artifact.reasons))
    return Report("Quantized", sizes).joined(*(_without_nothing(part) for part in parts))


def _without_nothing(report: Report) -> Report:
    return replace(report, facts={name: cell for name, cell in report.facts.items() if cell is not None})


def _weight_bytes(model: Model) -> int:
    return sum(array.nbytes for array in model.weights().values())
