"""ONNX Runtime on the CPU."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from spokeshave.engines.onnx._model import RENAMED
from spokeshave.engines.runner import Array, InputSpec, check_feed
from spokeshave.errors.engines import (
    EngineFileMissing,
    NotAnOnnxFile,
    RunFailed,
    RunnerClosed,
    ValueNotInEngine,
)
from spokeshave.registry import nearest

ENGINE = "onnxruntime"
QUIET = 4  # fatal only: what goes wrong is raised

# What ONNX Runtime raises has no class in common below Exception; older versions lack some of them.
_REFUSAL_NAMES = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoModel",
    "NoSuchFile",
    "NotFound",
    "NotImplemented",
    "RuntimeException",
)
_REFUSALS: tuple[type[Exception], ...] = tuple(
    getattr(failures, name) for name in _REFUSAL_NAMES if hasattr(failures, name)
)

_DTYPES = {
    "tensor(bool)": "bool",
    "tensor(uint8)": "uint8",
    "tensor(int8)": "int8",
    "tensor(int16)": "int16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(float16)": "float16",
    "tensor(float)": "float32",
    "tensor(double)": "float64",
}


class OnnxRunner:
    """An ONNX model in ONNX Runtime, on the CPU.

    `threads` is how many threads one operator may use; 0 leaves it to the engine (all cores).
    """

    engine = ENGINE

    def __init__(self, path_or_bytes: Path | bytes, *, threads: int = 0) -> None:
        self._source, self._threads = _checked(path_or_bytes), threads
        self._session: Any | None = self._open(self._source)
        self._with_inner: dict[tuple[str, ...], Any] = {}
        self._specs = tuple(_spec(i) for i in self._session.get_inputs())
        self.inputs = tuple(spec.name for spec in self._specs)
        self.outputs = tuple(o.name for o in self._session.get_outputs())

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for one batch, by name."""
        session = self._opened()
        check_feed(self._specs, feed)
        return _run(session, self.outputs, feed)

    def fetch(self, feed: Mapping[str, Array], values: Sequence[str]) -> dict[str, Array]:
        """Inner values for one batch, by the ids of the view.

        The first call for a set of values opens the model once more, with them as outputs: twice the
        memory, and the engine fuses less than in `run`.
        """
        self._opened()
        check_feed(self._specs, feed)
        names = {value: self._name_of(value) for value in values}
        wanted = tuple(sorted(set(names.values()) - set(self.inputs)))
        found = _run(self._inner(wanted), wanted, feed) if wanted else {}
        return {value: found[name] if name in found else feed[name] for value, name in names.items()}

    def close(self) -> None:
        """Gives the engine's memory back."""
        self._session = None
        self._with_inner.clear()

    def _opened(self) -> Any:
        if self._session is None:
            raise RunnerClosed(engine=ENGINE)
        return self._session

    def _open(self, source: Path | bytes) -> Any:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = QUIET
        options.intra_op_num_threads = self._threads
        held = source if isinstance(source, bytes) else str(source)
        try:
            return onnxruntime.InferenceSession(held, options, providers=["CPUExecutionProvider"])
        except _REFUSALS as error:
            raise NotAnOnnxFile(file=_title(source), detail=str(error)) from error

    def _name_of(self, value: str) -> str:
        known = self._known_names()
        if value not in known:
            raise ValueNotInEngine(value=value, nearest=nearest(value, known))
        return known[value]

    def _known_names(self) -> dict[str, str]:
        """The ONNX name behind each id: its own, or the one that the writer noted."""
        model = self._model(with_weights=False)
        made = (out for node in model.graph.node for out in node.output if out)
        known = {name: name for name in (*self.inputs, *made)}
        noted = next((p.value for p in model.metadata_props if p.key == RENAMED), "{}")
        return {**known, **json.loads(noted)}

    def _model(self, *, with_weights: bool) -> onnx.ModelProto:
        if isinstance(self._source, bytes):
            return onnx.load_from_string(self._source)
        return onnx.load(str(self._source), load_external_data=with_weights)

    def _inner(self, names: tuple[str, ...]) -> Any:
        if names not in self._with_inner:
            model = self._model(with_weights=True)
            extra = [name for name in names if name not in self.outputs]
            model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in extra)
            self._with_inner[names] = self._open(model.SerializeToString())
        return self._with_inner[names]


def _checked(source: Path | bytes) -> Path | bytes:
    """The source, once it is known to be there."""
    if isinstance(source, bytes):
        return source
    path = Path(source)
    if not path.is_file():
        raise EngineFileMissing(path=str(path))
    return path


def _title(source: Path | bytes) -> str:
    return f"{len(source)} bytes in memory" if isinstance(source, bytes) else str(source)


def _spec(info: Any) -> InputSpec:
    shape = tuple(n if isinstance(n, int) else None for n in info.shape)
    return InputSpec(info.name, _DTYPES.get(info.type, "object"), shape)


def _run(session: Any, names: Sequence[str], feed: Mapping[str, Array]) -> dict[str, Array]:
    try:
        return dict(zip(names, session.run(list(names), dict(feed))))
    except _REFUSALS as error:
        raise RunFailed(engine=ENGINE, detail=str(error)) from error
