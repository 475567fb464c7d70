"""An export is the model as it stands, under its own names, the same bytes each time."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from deploy_forms import Forms, quantized

from spokeshave.deploy import export
from spokeshave.engines import OnnxRunner


@pytest.fixture
def forms() -> Forms:
    return quantized(1)


def test_names_size_and_digest_are_those_of_the_file(forms: Forms, tmp_path: Path) -> None:
    artifact = export(forms.packed, tmp_path / "deep/er/model.onnx")
    content = artifact.path.read_bytes()
    assert (artifact.size_bytes, artifact.digest) == (len(content), hashlib.sha256(content).hexdigest())
    assert artifact.inputs == ("image",)
    assert artifact.outputs == tuple(name for name, _ in forms.packed.view.outputs)
    assert artifact.reasons == ()
    graph = onnx.load(artifact.path).graph
    assert [i.name for i in graph.input] == list(artifact.inputs)
    assert [o.name for o in graph.output] == list(artifact.outputs)
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param


def test_the_same_model_gives_the_same_bytes(forms: Forms, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    one, two = export(forms.packed, tmp_path / "m.onnx"), export(forms.packed, tmp_path / "b/m.onnx")
    assert one.digest == two.digest


def test_an_older_file_is_replaced(forms: Forms, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    assert export(forms.packed, str(path)).path == path
    onnx.checker.check_model(onnx.load(path))


def test_a_float_model_stays_float(forms: Forms, tmp_path: Path) -> None:
    artifact = export(forms.original, tmp_path / "float.onnx")
    kinds = Counter(node.op_type for node in onnx.load(artifact.path).graph.node)
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(kinds)
    images = next(iter(forms.feed())).inputs
    runner = OnnxRunner(artifact.path)
    for name, array in forms.original.run(images).items():
        # Two engines sum in different orders: some units in the last place of the largest score.
        np.testing.assert_allclose(runner.run(images)[name], array, rtol=1e-4, atol=1e-5)
    runner.close()


def test_a_packed_model_stores_int8_weights_and_int32_biases(forms: Forms, tmp_path: Path) -> None:
    graph = onnx.load(export(forms.packed, tmp_path / "m.onnx").path).graph
    sizes = Counter({onnx.TensorProto.DataType.Name(t.data_type): 0 for t in graph.initializer})
    for tensor in graph.initializer:
        sizes[onnx.TensorProto.DataType.Name(tensor.data_type)] += int(np.prod(tensor.dims))
    floats = sum(a.size for n, a in forms.original.weights().items() if n.endswith("w_0"))
    biases = sum(a.size for n, a in forms.original.weights().items() if n.endswith("b_0"))
    assert sizes["INT8"] >= floats
    assert sizes["INT32"] == 2 * biases  # each has its zero point beside it
    assert sizes["FLOAT"] < floats / 50
