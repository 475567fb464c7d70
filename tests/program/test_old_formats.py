"""Programs of Paddle 2 and fluid: found by content, right to the bit, ready to be rewritten and trained."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812
import pytest
from old_models import (
    SHAPE,
    STATISTICS,
    WEIGHTS,
    Build,
    Old,
    built_old,
    constant,
    fed,
    in_old_paddle,
    op_of,
    small_net,
)
from paddle import nn, static
from program_nets import dynamic_mode, pictures

from spokeshave import quantize
from spokeshave.errors.engines import InputMismatch
from spokeshave.errors.formats import OperatorNotServed
from spokeshave.errors.program import FetchUnknown
from spokeshave.graph import diff
from spokeshave.program import PASSES, Model, as_layer, load, rewrite, run_sequences, save
from spokeshave.program.loading import find_files
from spokeshave.program.trodden import TRODDEN
from spokeshave.seams import static_mode
from spokeshave.seams.old_programs import OldOp, known_old_ops, old_bytes, parse_old

pytest_plugins = ["program_nets", "old_models"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Saved = Callable[[str], Path]


def ran(model: Model, seed: int = 0) -> list[Any]:
    return list(model.run(fed(seed=seed)).values())


def check_same(found: Any, wanted: Any) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def wanted(small_files: Path) -> list[Any]:
    """What Paddle Inference computes from the old files."""
    return in_old_paddle(Path(f"{small_files}.pdmodel"), Path(f"{small_files}.pdiparams"), fed())


# What is found


def test_a_pdmodel_computes_what_paddle_computes(small_files: Path, wanted: list[Any]) -> None:
    check_same(ran(load(small_files)), wanted)


@pytest.mark.parametrize("asked", ["", "/m", "/m.pdmodel", "/m.pdiparams"])
def test_every_way_to_name_it_finds_it(small_files: Path, wanted: list[Any], asked: str) -> None:
    check_same(ran(load(f"{small_files.parent}{asked}")), wanted)


def test_a_folder_with_a_file_for_each_parameter_loads(
    small_old: Old, tmp_path: Path, wanted: list[Any]
) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid")
    for asked in (folder, folder / "__model__"):
        check_same(ran(load(asked)), wanted)
    check_same(ran(load(folder, model_filename="__model__")), wanted)


@pytest.mark.parametrize("params", ["__params__", "params", "weights.bin"])
def test_a_folder_with_one_file_of_any_name_loads(
    small_old: Old, tmp_path: Path, wanted: list[Any], params: str
) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid", params=params)
    check_same(ran(load(folder)), wanted)
    check_same(ran(load(folder, params_filename=params)), wanted)


def test_files_of_any_name_load_when_they_are_named(
    small_old: Old, tmp_path: Path, wanted: list[Any]
) -> None:
    folder = small_old.save_fluid(tmp_path / "one", model="model", params="weights")
    small_old.save_fluid(folder, model="other", params="others")
    check_same(ran(load(folder, model_filename="model", params_filename="weights")), wanted)


def test_content_decides_and_not_the_name(
    saved: Saved, small_files: Path, tmp_path: Path, wanted: list[Any]
) -> None:
    shutil.copy(saved("lenet").with_suffix(".json"), tmp_path / "new.pdmodel")
    shutil.copy(saved("lenet").with_suffix(".pdiparams"), tmp_path / "new.pdiparams")
    shutil.copy(f"{small_files}.pdmodel", tmp_path / "old.json")
    shutil.copy(f"{small_files}.pdiparams", tmp_path / "old.pdiparams")
    new = load(tmp_path / "new.pdmodel")
    check_same(
        list(new.run(pictures("lenet")).values()), list(load(saved("lenet")).run(pictures("lenet")).values())
    )
    check_same(ran(load(tmp_path / "old.json")), wanted)
    check_same(ran(load(tmp_path / "old")), wanted)


def test_a_folder_as_paddleocr_ships_it_loads(small_files: Path, tmp_path: Path, wanted: list[Any]) -> None:
    for kind in (".pdmodel", ".pdiparams"):
        shutil.copy(f"{small_files}{kind}", tmp_path / f"inference{kind}")
    (tmp_path / "inference.yml").write_text("Global:\n  model_name: small\n")
    (tmp_path / "inference.pdiparams.info").write_bytes(b"\x80\x02}q\x00.")
    check_same(ran(load(tmp_path)), wanted)


def test_an_old_program_beside_the_same_in_json_does_not_make_two(small_files: Path, tmp_path: Path) -> None:
    save(load(small_files), tmp_path / "m")
    shutil.copy(f"{small_files}.pdmodel", tmp_path / "m.pdmodel")
    assert find_files(tmp_path).format == "paddle-3"
    assert find_files(tmp_path / "m.pdmodel").format == "paddle-2"


def test_the_files_of_a_model_are_told(small_old: Old, small_files: Path, tmp_path: Path) -> None:
    found = find_files(small_files)
    assert (found.format, found.program.name) == ("paddle-2", "m.pdmodel")
    assert [file.name for file in found.weights] == ["m.pdiparams"]
    apart = find_files(small_old.save_fluid(tmp_path))
    assert sorted(file.name for file in apart.weights) == sorted(load(tmp_path).weights())


# How it arrives


def test_inputs_outputs_and_parameters_keep_their_names(small_files: Path, small_old: Old) -> None:
    model = load(small_files)
    assert [(v.id, v.shape, v.dtype) for v in model.inputs] == [("x", (-1, *SHAPE), "float32")]
    assert sorted(model.parameters) == sorted(v.name for v in small_old.parameters)
    assert len(model.fetches) == 2
    assert {op.name() for op in model.program.global_block().ops}.isdisjoint({"pd_op.feed", "pd_op.fetch"})


def test_values_have_the_names_that_they_had(small_files: Path, small_old: Old) -> None:
    model = load(small_files)
    inner = [name for op in small_old.program.global_block().ops for name in op.output_arg_names]
    relu = next(name for name in inner if name.startswith("relu"))
    assert (model.run(fed(), [relu])[relu] >= 0).all()
    folded = rewrite(model, PASSES["fold-batch-norm"]).model
    # As near as folding is.
    one, other = folded.run(fed(), [relu])[relu], model.run(fed(), [relu])[relu]
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    with pytest.raises(FetchUnknown, match=relu):
        model.run(fed(), [f"{relu}x"])


def test_other_sizes_than_declared_are_taken_until_the_model_is_rewritten(tmp_path: Path) -> None:
    def net() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 2, 8, 8], "float32")
        return [x], [F.adaptive_avg_pool2d(F.relu(nn.BatchNorm2D(3)(nn.Conv2D(2, 3, 3)(x))), 1)]

    files = built_old(net).save(tmp_path / "m")
    feed = fed((2, 2, 11, 13))
    model = load(files)
    opened = load(files, input_shapes={"x": (-1, 2, -1, -1)})
    check_same(list(model.run(feed).values()), list(opened.run(feed).values()))
    check_same(list(model.copy().run(feed).values()), list(opened.run(feed).values()))
    with pytest.raises(InputMismatch, match=r"float32 \[any, any, any, any\]"):
        model.run(fed((2, 2, 11)))
    with pytest.raises(InputMismatch, match=r"float32 \[any, 2, 8, 8\]"):
        rewrite(model, PASSES["fold-batch-norm"]).model.run(feed)


def test_weights_train_and_statistics_do_not(small_files: Path) -> None:
    program = load(small_files).program
    trained = {p.name for p in program.global_block().all_parameters() if p.trainable}
    assert set(WEIGHTS) <= trained
    assert trained.isdisjoint(STATISTICS)


def test_shapes_are_worked_out_anew_for_other_inputs(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 2, 8, 8], "float32")
        return [x], [paddle.nn.Conv2D(2, 3, 3)(x)]

    prefix = built_old(build).save(tmp_path / "m")
    model = load(prefix, input_shapes={"x": (-1, 2, 16, -1)})
    assert model.inputs[0].shape == (-1, 2, 16, -1)
    assert model.view.value(model.view.outputs[0][1]).shape == (-1, 3, 14, -1)
    assert next(iter(model.run(fed((1, 2, 16, 5))).values())).shape == (1, 3, 14, 3)


@pytest.mark.parametrize("is_static", [False, True])
def test_nothing_global_changes(small_files: Path, is_static: bool) -> None:
    if is_static:
        paddle.enable_static()
    names = set(static.global_scope().local_var_names())
    flags = paddle.get_flags(["FLAGS_enable_pir_api", "FLAGS_enable_pir_in_executor"])
    kinds = static.Program, static.program_guard, static.default_main_program
    load(small_files)
    assert paddle.in_dynamic_mode() is not is_static
    assert set(static.global_scope().local_var_names()) == names
    assert paddle.get_flags(list(flags)) == flags
    assert (static.Program, static.program_guard, static.default_main_program) == kinds


def test_two_models_never_mix_weights(tmp_path: Path) -> None:
    prefixes = [built_old(small_net, seed).save(tmp_path / str(seed)) for seed in (1, 2)]
    one, other = map(load, prefixes)
    first = ran(one)
    assert not np.allclose(first[0], ran(other)[0])
    check_same(ran(one), first)


def test_name_scopes_stay_findable(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 4], "float32")
        with static.name_scope("skip_quant"):
            y = paddle.nn.Linear(4, 3)(x)
        return [x], [paddle.nn.Linear(3, 2)(y)]

    nodes = load(built_old(build).save(tmp_path / "m")).view.nodes
    assert [(n.op, "skip_quant" in n.scope) for n in nodes if n.op in ("pd_op.matmul", "pd_op.add")] == [
        ("pd_op.matmul", True),
        ("pd_op.add", True),
        ("pd_op.matmul", False),
        ("pd_op.add", False),
    ]


# What can be done with it


def in_static_paddle(prefix: Path) -> list[Any]:
    with static_mode(), static.scope_guard(static.Scope()):
        executor = static.Executor(paddle.CPUPlace())
        program, _, fetches = static.load_inference_model(str(prefix), executor)
        return list(executor.run(program, feed=fed(), fetch_list=fetches))


def in_dynamic_paddle(prefix: Path) -> list[Any]:
    with dynamic_mode():
        return [t.numpy() for t in paddle.jit.load(str(prefix))(paddle.to_tensor(fed()["x"]))]


def test_it_saves_as_paddle_3_and_loads_everywhere(
    small_files: Path, tmp_path: Path, wanted: list[Any]
) -> None:
    model = load(small_files)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    check_same(ran(again), wanted)
    assert diff(model.view, again.view) == ""
    check_same(in_static_paddle(tmp_path / "m"), wanted)
    check_same(in_dynamic_paddle(tmp_path / "m"), wanted)
    for one, other in zip(in_old_paddle(tmp_path / "m.json", tmp_path / "m.pdiparams", fed()), wanted):
        # Its predictor picks kernels of its own for programs of Paddle 3, which add in another order.
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_batch_norm_folds(small_files: Path, wanted: list[Any]) -> None:
    folded = rewrite(load(small_files), PASSES["fold-batch-norm"]).model
    assert "pd_op.batch_norm_" not in {n.op for n in folded.view.nodes}
    for one, other in zip(ran(folded), wanted):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)  # rounding of the folded weights


def test_it_quantizes_and_exports(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, *SHAPE], "float32")
        y = paddle.nn.functional.relu(paddle.nn.BatchNorm2D(4)(paddle.nn.Conv2D(2, 4, 3)(x)))
        return [x], [paddle.nn.Linear(4 * 36, 3)(paddle.flatten(y, 1))]

    prefix = built_old(build).save(tmp_path / "m")
    np.savez(tmp_path / "data.npz", x=fed((8, *SHAPE))["x"])
    quantized = quantize(f"{prefix}.pdmodel", tmp_path / "data.npz", tmp_path / "out", batch_size=4)
    assert {site.operand for site in quantized.plan.sites} >= {"filter", "input"}
    (exact,), (rounded,) = load(prefix).run(fed()).values(), quantized.simulation.run(fed()).values()
    # Two layers with 8 bits each: a few per cent of the largest number.
    np.testing.assert_allclose(rounded, exact, atol=0.05 * np.abs(exact).max())


def trained(model: Model, steps: int) -> list[float]:
    """Appends a loss and an optimizer, turns dropout on, and gives the losses."""
    for op in model.program.global_block().ops:
        if op.name() == "pd_op.dropout":
            op.set_bool_attr("is_test", False)
    startup = static.Program()
    with static_mode(), static.program_guard(model.program, startup), static.scope_guard(model.scope):
        labels = static.data("labels", [None, 1], "int64")
        loss = paddle.nn.functional.cross_entropy(model.fetches[0][1], labels, use_softmax=False).mean()
        paddle.optimizer.Momentum(0.05, weight_decay=1e-4).minimize(loss)
        executor = static.Executor(paddle.CPUPlace())
        paddle.seed(0)
        executor.run(startup)
        feed = {**fed(), "labels": np.array([[0], [1], [2]])}
        return [float(executor.run(model.program, feed=feed, fetch_list=[loss])[0]) for _ in range(steps)]


def without_mask(prefix: Path, folder: Path) -> Path:
    """The model as Paddle 2 pruned it: dropout has no output for what it dropped."""
    program = parse_old(Path(f"{prefix}.pdmodel").read_bytes())
    (block,) = program.blocks
    ops = tuple(replace(op, outputs=_out(op)) if op.type == "dropout" else op for op in block.ops)
    (folder / "m.pdmodel").write_bytes(old_bytes(replace(program, blocks=(replace(block, ops=ops),))))
    shutil.copy(f"{prefix}.pdiparams", folder / "m.pdiparams")
    return folder


def test_it_trains_with_dropout_in_it(small_files: Path, tmp_path: Path) -> None:
    model = load(without_mask(small_files, tmp_path))
    before = model.weights()
    losses = trained(model, 30)
    assert losses[-1] < losses[0] / 2
    after = {name: model.weight(name) for name in before}
    assert all((before[name] != after[name]).any() for name in WEIGHTS)
    assert all((before[name] == after[name]).all() for name in STATISTICS)


# Operators of fluid


def test_a_batch_norm_as_paddle_2_saves_it_trains(tmp_path: Path) -> None:
    old = built_old(small_net)
    for op in old.program.global_block().ops:
        if op.type == "batch_norm":
            op.desc.remove_output("ReserveSpace")
    layer = as_layer(load(old.save(tmp_path / "m")))
    layer.train()
    with dynamic_mode():
        layer(paddle.to_tensor(fed()["x"]))[0].sum().backward()
    assert all(np.abs(p.grad.numpy()).max() > 0 for p in layer.parameters() if p.name.startswith("conv2d_1"))


def overwriting(values: list[float]) -> Build:
    """A net that writes numbers over the first channels of its input."""

    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, *SHAPE], "float32")
        told = {"axes": [1, 2], "starts": [0, 0], "ends": [1, len(values)], "steps": [1, 1], "dtype": 5}
        told |= {"shape": [1, len(values), 1], "values": values}
        return [x], op_of("set_value", {"Input": [x]}, {"Out": ("float32", x.shape)}, **told)

    return build


def test_a_number_that_is_written_over_a_slice_is_that_number(tmp_path: Path) -> None:
    model = load(built_old(overwriting([7.0])).save(tmp_path / "m"))
    wanted = fed()["x"].copy()
    wanted[:, :1, :1] = 7
    for _ in range(5):
        [found] = model.run(fed()).values()
        np.testing.assert_array_equal(found, wanted)


def test_numbers_that_are_lost_in_translation_are_refused(tmp_path: Path) -> None:
    prefix = built_old(overwriting([7.0, 8.0])).save(tmp_path / "m")
    with pytest.raises(OperatorNotServed, match="numbers of a set_value are lost"):
        load(prefix)


def test_lengths_that_hang_on_open_ones_load(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, *SHAPE], "float32")
        return [x], [paddle.flatten(x, 0, 1) * 2.0]

    old = built_old(build)
    prefix = old.save(tmp_path / "m")
    (tmp_path / "m.pdmodel").write_bytes(_with_open_products(prefix))
    [found] = load(prefix).run(fed()).values()
    np.testing.assert_array_equal(found, fed()["x"].reshape(-1, *SHAPE[1:]) * 2)


def _with_open_products(prefix: Path) -> bytes:
    """The program as Paddle 2.6 has it: lengths that are the open batch times two are -2."""
    old = parse_old(prefix.with_suffix(".pdmodel").read_bytes())
    main = old.blocks[0]
    wide = [replace(v, shape=(-2, *v.shape[1:])) if len(v.shape) == 3 else v for v in main.variables]
    assert wide != list(main.variables)
    return old_bytes(replace(old, blocks=(replace(main, variables=tuple(wide)), *old.blocks[1:])))


def test_mul_takes_axes_together(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 3, 4], "float32")
        flat, kept = constant("a", _numbers(12, 5)), constant("b", _numbers(4, 2))
        one = op_of("mul", {"X": x, "Y": flat}, {"Out": ("float32", [-1, 5])}, x_num_col_dims=1)
        two = op_of("mul", {"X": x, "Y": kept}, {"Out": ("float32", [-1, 3, 2])}, x_num_col_dims=2)
        return [x], [*one, *two]

    model = load(built_old(build).save(tmp_path / "m"))
    feed = fed((2, 3, 4))
    one, two = model.run(feed).values()
    w = model.weights()
    # Products of a few floats, added in an order that the kernel chooses.
    np.testing.assert_allclose(one, feed["x"].reshape(2, 12) @ w["a"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(two, feed["x"] @ w["b"], rtol=1e-5, atol=1e-5)


def test_lookup_table_and_shapes_of_fluid(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 3, 1], "int64")
        table = constant("table", _numbers(7, 4))
        (y,) = op_of("lookup_table", {"Ids": x, "W": table}, {"Out": ("float32", [-1, 3, 4])})
        (y,) = op_of("transpose", {"X": y}, {"Out": ("float32", [-1, 4, 3])}, axis=[0, 2, 1])
        return [x], op_of("reshape", {"X": y}, {"Out": ("float32", [-1, 12])}, shape=[0, 12])

    model = load(built_old(build).save(tmp_path / "m"))
    ids = np.array([[[1], [6], [0]], [[2], [2], [3]]])
    (found,) = model.run({"x": ids}).values()
    wanted = model.weight("table")[ids[..., 0]].transpose(0, 2, 1).reshape(2, 12)
    np.testing.assert_array_equal(found, wanted)


def test_names_that_paddle_3_has_no_more_are_those_of_their_successors(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 1, 4], "float32")
        shape = {"XShape": ("float32", [0, 1])}
        y, _ = op_of("squeeze2", {"X": x}, {"Out": ("float32", [-1, 4]), **shape}, axes=[1])
        y, _ = op_of("unsqueeze2", {"X": y}, {"Out": ("float32", [-1, 4, 1]), **shape}, axes=[2])
        y, _ = op_of("flatten2", {"X": y}, {"Out": ("float32", [-1, 4]), **shape}, axis=1)
        return [x], [y]

    prefix = built_old(build).save(tmp_path / "m")
    file = prefix.with_suffix(".pdmodel")
    program = parse_old(file.read_bytes())
    (block,) = program.blocks
    ops = tuple(replace(op, type=op.type.removesuffix("2"), outputs=_out(op)) for op in block.ops)
    assert {"squeeze", "unsqueeze", "flatten"} <= {op.type for op in ops}
    file.write_bytes(old_bytes(replace(program, blocks=(replace(block, ops=ops),))))
    feed = fed((5, 1, 4))
    (found,) = load(prefix).run(feed).values()
    np.testing.assert_array_equal(found, feed["x"][:, 0])


def test_a_variable_that_is_written_twice_is_two_values(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 4], "float32")
        block = static.default_main_program().global_block()
        y = block.create_var(name="y", dtype="float32", shape=[-1, 4])
        block.append_op(type="scale", inputs={"X": [x]}, outputs={"Out": [y]}, attrs={"scale": 2.0})
        block.append_op(type="relu", inputs={"X": [y]}, outputs={"Out": [y]})
        block.append_op(type="scale", inputs={"X": [y]}, outputs={"Out": [y]}, attrs={"bias": 1.0})
        return [x], [y]

    model = load(built_old(build).save(tmp_path / "m"))
    feed = fed((5, 4))
    (found,) = model.run(feed).values()
    np.testing.assert_array_equal(found, np.maximum(feed["x"] * np.float32(2), 0) + np.float32(1))


def test_branches_and_loops_of_an_old_program_run(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [3, 4], "float32")
        block = static.default_main_program().global_block()
        y = block.create_var(name="y", dtype="float32", shape=[3, 4])
        block.append_op(type="scale", inputs={"X": [x]}, outputs={"Out": [y]}, attrs={"scale": 1.0})
        (count,) = op_of("fill_constant", {}, {"Out": ("float32", [1])}, shape=[1], dtype=5, value=0.0)
        (end,) = op_of("fill_constant", {}, {"Out": ("float32", [1])}, shape=[1], dtype=5, value=3.0)
        (going,) = op_of("less_than", {"X": [count], "Y": [end]}, {"Out": ("bool", [1])})
        _loop(going, count, end, y)
        return [x], op_of("scale", {"X": [y]}, {"Out": ("float32", [3, 4])}, bias=1.0)

    feed = fed((3, 4))
    (found,) = load(built_old(build).save(tmp_path / "m")).run(feed).values()
    np.testing.assert_array_equal(found, feed["x"] * np.float32(8) + np.float32(1))


def _loop(going: Any, count: Any, end: Any, y: Any) -> None:
    """While `going`: doubles `y`, counts on, and compares."""
    program = static.default_main_program()
    outer = program.current_block()
    scopes = outer.create_var(name="scopes", type=paddle.base.core.VarDesc.VarType.STEP_SCOPES)
    inner = program._create_block()
    inner.append_op(type="scale", inputs={"X": [y]}, outputs={"Out": [y]}, attrs={"scale": 2.0})
    inner.append_op(type="scale", inputs={"X": [count]}, outputs={"Out": [count]}, attrs={"bias": 1.0})
    inner.append_op(type="less_than", inputs={"X": [count], "Y": [end]}, outputs={"Out": [going]})
    program._rollback()
    outer.append_op(
        type="while",
        inputs={"X": [y, count, end], "Condition": [going]},
        outputs={"Out": [y, count, going], "StepScopes": [scopes]},
        attrs={"sub_block": inner, "is_test": True},
    )


def test_a_variable_called_empty_is_none(small_files: Path, tmp_path: Path) -> None:
    program = parse_old(Path(f"{small_files}.pdmodel").read_bytes())
    (block,) = program.blocks
    ops = tuple(
        replace(op, inputs={**op.inputs, "Seed": ("@EMPTY@",)}) if op.type == "dropout" else op
        for op in block.ops
    )
    (tmp_path / "m.pdmodel").write_bytes(old_bytes(replace(program, blocks=(replace(block, ops=ops),))))
    shutil.copy(f"{small_files}.pdiparams", tmp_path / "m.pdiparams")
    check_same(ran(load(tmp_path)), ran(load(small_files)))


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_flatten_of_fluid_takes_two_ranges_together(tmp_path: Path, axis: int) -> None:
    wanted = (-1, 2 * 3 * 4) if axis < 2 else (-1, 3 * 4 if axis == 2 else 4)

    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 2, 3, 4], "float32")
        outputs = {"Out": ("float32", wanted), "XShape": ("float32", [0, 1])}
        return [x], op_of("flatten2", {"X": x}, outputs, axis=axis)[:1]

    feed = fed((5, 2, 3, 4))
    (found,) = load(built_old(build).save(tmp_path / "m")).run(feed).values()
    np.testing.assert_array_equal(found, feed["x"].reshape((1, -1) if axis == 0 else wanted))


def _out(op: OldOp) -> dict[str, tuple[str, ...]]:
    return {slot: names for slot, names in op.outputs.items() if slot == "Out"}


def _numbers(*shape: int) -> Any:
    return np.random.RandomState(1).standard_normal(shape).astype(np.float32)


def test_the_ops_that_need_no_rehearsal_are_ops() -> None:
    assert set(known_old_ops()) >= TRODDEN


# Models of others


def config_of(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.pdmodel", folder / f"{name}.pdiparams"


def test_text_is_found_as_paddle_finds_it(shared: Path, tmp_path: Path) -> None:
    folder = shared / "models/paddle/ch_PP-OCRv3_det"
    feed = fed((1, 3, 96, 64))
    model = load(folder)
    wanted = in_old_paddle(*config_of(folder, "inference"), feed)
    check_same(list(model.run(feed).values()), wanted)
    save(model, tmp_path / "m")
    check_same(list(load(tmp_path / "m").run(feed).values()), wanted)


def test_text_direction_is_what_paddle_says(shared: Path, tmp_path: Path) -> None:
    folder = shared / "models/paddle/ch_ppocr_mobile_v2.0_cls"
    feed = fed((2, 3, 48, 192))
    model = load(folder, input_shapes={"x": (-1, 3, 48, 192)})
    wanted = in_old_paddle(*config_of(folder, "inference"), feed)
    check_same(list(model.run(feed).values()), wanted)
    check_same(list(load(folder).run(feed).values()), wanted)
    save(model, tmp_path / "m")
    check_same(list(load(tmp_path / "m").run(feed).values()), wanted)


def test_words_are_segmented_as_paddle_segments_them(shared: Path, tmp_path: Path) -> None:
    folder = shared / "models/paddle/lac_seg_fluid"
    model = load(folder)
    words = [np.random.RandomState(n).randint(0, 8000, (n, 1)) for n in (9, 4, 1)]
    (wanted,) = in_old_paddle(folder, None, {"words": np.concatenate(words)}, [0, 9, 13, 14])
    (found,) = run_sequences(model, {"words": words}).values()
    check_same(found, np.split(wanted, [9, 13]))
    save(model, tmp_path / "m")
    (again,) = run_sequences(load(tmp_path / "m"), {"words": words}).values()
    check_same(again, found)
