"""A model as a file for an engine."""

from __future__ import annotations

from pathlib import Path

from spokeshave.deploy.artifact import Artifact
from spokeshave.engines import check_writable, to_onnx
from spokeshave.files import digest, write_atomically
from spokeshave.program import Model


def export(model: Model, path: str | Path) -> Artifact:
    """Writes a model as ONNX, as it stands: int8 weights and int32 biases if it is packed, else all in float.

    Input and output names are kept, and the batch stays open. The same model gives the same bytes.
    """
    path = Path(path)
    written = to_onnx(model.view, model.weights(), name=path.stem)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, written.model.SerializeToString(deterministic=True))
    names = tuple(name for name, _ in model.view.outputs)
    return Artifact(path, digest(path), path.stat().st_size, model.view.inputs, names, written.reasons)


def check_exportable(model: Model) -> None:
    """Raises what `export` would raise of this model, or of what quantization makes of it; writes nothing.

    For those who are about to spend time on what is to be exported. Costs a copy of the weights.
    """
    check_writable(model.view, model.weights())
