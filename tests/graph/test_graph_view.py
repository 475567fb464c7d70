"""Views: ids, look-ups, pickling, and no framework anywhere."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from graph_views import small_net

from spokeshave.errors.graph import NoSuchNode, NoSuchValue
from spokeshave.graph import GraphView, Value, ViewBuilder, diff, problems


def test_a_view_pickles() -> None:
    view = small_net()
    view.node("relu_0")  # fills the index by id, which travels or does not, but changes nothing
    back = pickle.loads(pickle.dumps(view))
    assert back == view
    assert diff(view, back) == ""
    assert back.node("relu_0").out == "relu_0.out"


def test_ids_are_the_short_op_name_and_a_count() -> None:
    build = ViewBuilder()
    x = build.input("x", (1,))
    made = [
        build.node(op, {"x": x}, {"out": (1,)}) for op in ("pd_op.relu", "pd_op.batch_norm_", "pd_op.relu")
    ]
    assert made == ["relu_0.out", "batch_norm_0.out", "relu_1.out"]


def test_an_unknown_node_or_value_is_refused_with_the_nearest() -> None:
    with pytest.raises(NoSuchNode, match="conv2d_0"):
        small_net().node("conv2d_1")
    with pytest.raises(NoSuchValue, match=r"first\.w"):
        small_net().value("first.v")


def test_makers_and_readers_are_those_of_the_nodes() -> None:
    view = small_net()
    maker = view.maker("relu_0.out")
    assert maker is not None
    assert maker.id == "relu_0"
    assert view.maker("image") is view.maker("head.w") is None
    assert [node.id for node in view.readers("relu_0.out")] == ["flatten_0"]


def test_a_node_that_reads_a_value_twice_is_one_reader_at_two_operands() -> None:
    build = ViewBuilder()
    x = build.input("x", (4,))
    view = build.view({"y": build.node("pd_op.add", {"x": x, "y": x}, {"out": (4,)})})
    assert len(view.readers("x")) == 1
    assert view.value("x").readers == (("add_0", "x"), ("add_0", "y"))


def test_operands_of_a_list_come_in_order() -> None:
    build = ViewBuilder()
    parts = {f"x.{i}": build.input(f"in{i}", (1, 2)) for i in range(11)}
    axis = build.node("pd_op.full", {}, {"out": (1,)})
    y = build.node("pd_op.concat", {**parts, "axis": axis}, {"out": (1, 22)})
    node = build.view({"y": y}).node("concat_0")
    assert node.operands("x") == tuple(f"in{i}" for i in range(11))
    assert node.operands("axis") == ("full_0.out",)
    assert node.operand("x") is None


def test_parameters_and_outputs_are_told_apart() -> None:
    view = small_net()
    names = [value.id for value in view.parameters]
    assert names == sorted(names)
    assert "head.w" in names
    assert view.is_parameter("head.w")
    assert not view.is_parameter("image")
    assert not view.is_parameter(None)
    assert view.is_output("matmul_0.out")
    assert not view.is_output("relu_0.out")


@pytest.mark.parametrize(("shape", "size"), [((), 1), ((-1, 3), 3), ((2, 0), 0), ((4, 5), 20)])
def test_size_counts_an_open_dimension_as_one(shape: tuple[int, ...], size: int) -> None:
    assert Value("v", shape, "float32", "inner").size == size


def test_dtypes_of_results_can_differ() -> None:
    build = ViewBuilder()
    x = build.input("x", (4,))
    build.node("pd_op.dropout", {"x": x}, {"out": (4,), "mask": (4,)}, dtypes={"mask": "uint8"})
    view: GraphView = build.view({})
    assert (view.value("dropout_0.out").dtype, view.value("dropout_0.mask").dtype) == ("float32", "uint8")
    assert problems(view) == ()


NO_FRAMEWORK = """
import sys
from graph_views import small_net
from spokeshave.graph import Step, block_of, check, cost, diff, match, to_text
view = small_net()
check(view, after="building")
assert cost(view).macs > 0
assert match(view, (Step("conv", ("pd_op.conv2d",)), Step("norm", ("pd_op.batch_norm_",))))
assert block_of(view, view.node("conv2d_0")).out
assert to_text(view) and not diff(view, view)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"paddle", "onnx", "onnxruntime"}))
"""


def test_no_framework_is_in_the_process_after_all_of_it() -> None:
    here = Path(__file__).resolve().parent
    start = f"import sys; sys.path[:0] = {[str(here), str(here.parents[1])]!r}\n"
    ran = subprocess.run(
        [sys.executable, "-c", start + NO_FRAMEWORK], capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
