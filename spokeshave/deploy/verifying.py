"""The proof that a deployed file computes what the model does that it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from spokeshave.data import Batch
from spokeshave.deploy.artifact import Artifact
from spokeshave.engines import OnnxRunner
from spokeshave.graph import GraphView, roundings
from spokeshave.measure import Comparer, Comparison, OutputComparison, correct
from spokeshave.ops import OPS
from spokeshave.program import Model
from spokeshave.report import Cell, Reason, Report, Row

# An engine rounds a few values to the neighbouring code, where its sum differs in the last bit from Paddle's.
LEAST_AGREEMENT, LEAST_SNR_DB = 0.995, 25.0


@dataclass(frozen=True)
class Verdict:
    """Whether a deployed model is the one that was quantized, and what the quantization cost.

    `to_simulation` compares the engine with the frozen program, `to_float` with the model before. The
    accuracies are top-1 and there where the data has labels and the first output is scores.
    """

    engine: str
    samples: int
    to_simulation: Comparison
    to_float: Comparison
    accuracy_float: float | None = None
    accuracy: float | None = None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What speaks against the deployed model: outputs that are not those of the simulation."""
        return tuple(r for output in self.to_simulation.outputs for r in _faults(output))

    @property
    def holds(self) -> bool:
        """Whether every output agrees with the simulation."""
        return not self.reasons

    def report(self) -> Report:
        """The verdict as a report: a row for each output and each comparison."""
        facts: dict[str, Cell] = {
            "engine": self.engine,
            "verified_samples": self.samples,
            "agrees_with_simulation": self.holds,
            "accuracy_float": self.accuracy_float,
            "accuracy_int8": self.accuracy,
        }
        pairs = (("simulation", self.to_simulation), ("float", self.to_float))
        rows = tuple(_row(o, f"against {name}") for name, c in pairs for o in c.outputs)
        return Report("Verdict", facts, rows, self.reasons)


def verify(original: Model, simulation: Model, artifact: Artifact, batches: Iterable[Batch]) -> Verdict:
    """Runs the deployed file beside the frozen program and the original on the same data.

    Costs one pass through each of the three; memory is that of one batch.
    """
    runner = OnnxRunner(artifact.path)
    try:
        return _compared(original, simulation, runner, batches)
    finally:
        runner.close()


def _compared(original: Model, simulation: Model, runner: OnnxRunner, batches: Iterable[Batch]) -> Verdict:
    to_simulation, to_float = Comparer(step=_last_steps(simulation)), Comparer()
    hits = _Hits()
    samples = 0
    for batch in batches:
        ours, simulated = runner.run(batch.inputs), simulation.run(batch.inputs)
        reference = original.run(batch.inputs)
        to_simulation.watch(simulated, ours)
        to_float.watch(reference, ours)
        hits.watch(reference, ours, batch.labels)
        samples += batch.size
    return Verdict(
        runner.engine,
        samples,
        to_simulation.result(),
        to_float.result(),
        hits.share("float"),
        hits.share("ours"),
    )


class _Hits:
    """Counts right answers of both models, for as long as there are labels."""

    def __init__(self) -> None:
        self._right = {"float": 0, "ours": 0}
        self._seen = 0

    def watch(
        self, reference: Mapping[str, np.ndarray], ours: Mapping[str, np.ndarray], labels: np.ndarray | None
    ) -> None:
        first = next(iter(reference))
        if labels is None or reference[first].ndim != 2 or reference[first].shape[1] < 2:
            return
        self._right["float"] += int(correct(reference[first], labels).sum())
        self._right["ours"] += int(correct(ours[first], labels).sum())
        self._seen += len(labels)

    def share(self, whose: str) -> float | None:
        return self._right[whose] / self._seen if self._seen else None


def _last_steps(simulation: Model) -> dict[str, float]:
    """For each output, the step of the quantizer that is nearest to it on the way back."""
    view = simulation.view
    scales = {r.out: r.scale for r in roundings(view)}
    found = {name: _nearest_scale(view, value, scales) for name, value in view.outputs}
    return {name: float(simulation.weight(s).max()) for name, s in found.items() if s is not None}


def _nearest_scale(view: GraphView, value: str, scales: Mapping[str, str]) -> str | None:
    front, seen = [value], {value}
    while front:
        current = front.pop(0)
        if current in scales:
            return scales[current]
        maker = view.maker(current)
        facts = OPS.get(maker.op) if maker else None
        before = [
            v for name in (facts.data if facts else ()) for v in (maker.operands(name) if maker else ())
        ]
        front += [v for v in before if v not in seen]
        seen.update(before)
    return None


def _faults(output: OutputComparison) -> list[Reason]:
    if output.top1_agreement is not None and output.top1_agreement < LEAST_AGREEMENT:
        text = f"the same class for {output.top1_agreement:.2%} of the samples, below {LEAST_AGREEMENT:.1%}"
        return [Reason("disagrees", text, output.name)]
    if output.top1_agreement is None and output.snr_db < LEAST_SNR_DB:
        text = f"{output.snr_db:.1f} dB against the simulation, below {LEAST_SNR_DB:.0f} dB"
        return [Reason("disagrees", text, output.name)]
    return []


def _row(output: OutputComparison, did: str) -> Row:
    snr = None if output.is_equal else round(output.snr_db, 2)
    return Row(
        output.name,
        did,
        {
            "top1_agreement": output.top1_agreement,
            "cosine": output.cosine,
            "snr_db": snr,
            "worst": output.worst,
            "worst_steps": output.worst_steps,
        },
    )
