"""Files of Paddle 2 and fluid that are not what they seem: each one a clear error that names the file."""

from __future__ import annotations

import pickle
import resource
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from old_models import SHAPE, Old, built_old, fed, small_net
from paddle import static

from spokeshave.errors.engines import InputUnknown
from spokeshave.errors.formats import (
    InputShapesFixed,
    NameLeadsOut,
    OperatorNotServed,
    SequencesNotServed,
    UnknownOperator,
    WeightsAmbiguous,
)
from spokeshave.errors.program import (
    ModelNotFound,
    NotAModel,
    SeveralModels,
    WeightsDoNotFit,
    WeightsMissing,
    WeightsTruncated,
)
from spokeshave.program import load, run_sequences, save
from spokeshave.seams.old_programs import (
    OldAttribute,
    OldBlock,
    OldOp,
    OldProgram,
    OldVariable,
    old_bytes,
    parse_old,
)

pytest_plugins = ["program_nets", "old_models"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Edit = Callable[[OldProgram], OldProgram]


@pytest.fixture
def old(small_files: Path, tmp_path: Path) -> Path:
    """A copy of the small net's files; gives the prefix."""
    for kind in (".pdmodel", ".pdiparams"):
        shutil.copy(f"{small_files}{kind}", tmp_path / f"m{kind}")
    return tmp_path / "m"


def edited(prefix: Path, edit: Edit) -> Path:
    """Edits the program of a model in place."""
    file = prefix.with_suffix(".pdmodel")
    file.write_bytes(old_bytes(edit(parse_old(file.read_bytes()))))
    return prefix


def main_edited(program: OldProgram, **changed: Any) -> OldProgram:
    return replace(program, blocks=(replace(program.blocks[0], **changed), *program.blocks[1:]))


def with_op(program: OldProgram, type_name: str, **changed: Any) -> OldProgram:
    """The program with its first op of a type changed."""
    ops = list(program.blocks[0].ops)
    place = next(i for i, op in enumerate(ops) if op.type == type_name)
    ops[place] = replace(ops[place], **changed)
    return main_edited(program, ops=tuple(ops))


def with_variable(program: OldProgram, which: str, **changed: Any) -> OldProgram:
    variables = (replace(v, **changed) if v.name == which else v for v in program.blocks[0].variables)
    return main_edited(program, variables=tuple(variables))


# Where the model is


def test_a_folder_with_two_old_models_names_them(old: Path) -> None:
    shutil.copy(f"{old}.pdmodel", old.with_name("n.pdmodel"))
    with pytest.raises(SeveralModels, match=r"several models: m\.pdmodel, n\.pdmodel"):
        load(old.parent)


def test_an_old_and_a_new_model_of_other_names_are_two(old: Path) -> None:
    save(load(old), old.with_name("n"))
    with pytest.raises(SeveralModels, match=r"several models: m\.pdmodel, n\.json"):
        load(old.parent)


def test_a_model_filename_that_does_not_exist_tells_the_nearest(old: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"no file n\.pdmodel; nearest: .*m\.pdmodel"):
        load(old.parent, model_filename="n.pdmodel")


def test_a_params_filename_that_does_not_exist_tells_the_nearest(old: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"no file m\.pdparams; nearest: .*m\.pdiparams"):
        load(old.parent, params_filename="m.pdparams")


def test_a_text_file_named_pdmodel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.pdmodel").write_text("model { }")
    with pytest.raises(NotAModel, match=r"m\.pdmodel is not a Paddle model"):
        load(tmp_path / "m.pdmodel")
    with pytest.raises(ModelNotFound, match="holds none"):
        load(tmp_path)


def test_a_pickle_named_pdmodel_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "m.pdmodel").write_bytes(pickle.dumps({"w": np.zeros(3)}))
    with pytest.raises(NotAModel, match=r"m\.pdmodel"):
        load(tmp_path / "m")


def test_shapes_can_be_given_to_old_programs_only(old: Path) -> None:
    with pytest.raises(InputUnknown, match="no input 'y'"):
        load(old, input_shapes={"y": (1, *SHAPE)})
    with pytest.raises(NotAModel, match=r"'x' has the shape \[-7\]"):
        load(old, input_shapes={"x": (-7,)})
    with pytest.raises(OperatorNotServed, match=r"m\.pdmodel cannot become"):
        load(old, input_shapes={"x": (-1, 2, 8)})
    save(load(old), old.with_name("new"))
    with pytest.raises(InputShapesFixed, match=r"new\.json"):
        load(old.with_name("new"), input_shapes={"x": (1, *SHAPE)})


# The program


@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.99])
def test_a_truncated_old_program_is_told(old: Path, part: float) -> None:
    file = old.with_suffix(".pdmodel")
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * part)])
    with pytest.raises(NotAModel, match=str(file)):
        load(old)


def test_a_custom_op_is_named(old: Path) -> None:
    edited(old, lambda p: with_op(p, "relu", type="relu_of_tomorrow"))
    with pytest.raises(
        UnknownOperator, match=r"m\.pdmodel has operators .* not know: relu_of_tomorrow\. Nearest"
    ):
        load(old)


def test_an_op_that_paddle_3_has_no_more_is_named(old: Path) -> None:
    edited(old, lambda p: with_op(p, "relu", type="c_wait_comm", attributes={}))
    with pytest.raises(OperatorNotServed, match="c_wait_comm"):
        load(old)


def _without_variable(program: OldProgram) -> OldProgram:
    gone = next(op for op in program.blocks[0].ops if op.type == "relu")
    name = next(gone.makes)
    return main_edited(program, variables=tuple(v for v in program.blocks[0].variables if v.name != name))


def _backwards(program: OldProgram) -> OldProgram:
    return main_edited(program, ops=tuple(reversed(program.blocks[0].ops)))


def _twice(program: OldProgram) -> OldProgram:
    return main_edited(program, variables=(*program.blocks[0].variables, *program.blocks[0].variables))


def _trains(program: OldProgram) -> OldProgram:
    return with_op(program, "relu", type="relu_grad")


def _updates(program: OldProgram) -> OldProgram:
    return with_op(program, "relu", type="sgd")


def _inner(op: str, **attributes: OldAttribute) -> Edit:
    def edit(program: OldProgram) -> OldProgram:
        return with_op(program, op, attributes=attributes)

    return edit


def _in_itself(program: OldProgram) -> OldProgram:
    block = OldBlock(1, 0, (), ())
    loop = OldOp("while", {}, {}, {"sub_block": OldAttribute("BLOCK", 1)})
    return OldProgram((main_edited(program, ops=(*program.blocks[0].ops, loop, loop)).blocks[0], block))


def _nowhere(program: OldProgram) -> OldProgram:
    return OldProgram((replace(program.blocks[0], parent=3),))


def _kept_inside(program: OldProgram) -> OldProgram:
    inner = OldBlock(1, 0, (OldVariable("inner", shape=(2,), is_persistable=True),), ())
    return OldProgram((program.blocks[0], inner))


def _selects_one(program: OldProgram) -> OldProgram:
    relu = next(op for op in program.blocks[0].ops if op.type == "relu")
    inputs = {"X": tuple(relu.reads), "Mask": tuple(relu.reads)}
    return with_op(program, "relu", type="select_input", inputs=inputs, attributes={})


def _splits_wrong(program: OldProgram) -> OldProgram:
    return with_op(program, "relu", type="split", attributes={"num": OldAttribute("INT", 2)})


def _slices_wrong(program: OldProgram) -> OldProgram:
    relu = next(op for op in program.blocks[0].ops if op.type == "relu")
    told = {"axes": (0, 1), "starts": (0, 0), "ends": (1,)}
    attributes = {name: OldAttribute("INTS", numbers) for name, numbers in told.items()}
    return with_op(program, "relu", type="slice", inputs={"Input": tuple(relu.reads)}, attributes=attributes)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_without_variable, "which nobody declares"),
        (_backwards, "which nothing before it makes"),
        (_twice, "is declared twice"),
        (_trains, "a program that trains"),
        (_updates, "a program that trains"),
        (_in_itself, "operator .*while"),
        (_nowhere, "block 0 is called 0 and lies in 3"),
        (_kept_inside, "'inner' is kept in a file, in block 1"),
        (_selects_one, "does not select between two"),
        (_splits_wrong, "splits into 2 and gives 1"),
        (lambda p: main_edited(p, ops=()), "it has no operators"),
        (lambda p: main_edited(p, ops=p.blocks[0].ops[:-2]), "it has no outputs"),
        (lambda p: with_op(p, "relu", inputs={}), "lacks its input 'X'"),
        (lambda p: with_op(p, "relu", outputs={"Y": ("x",)}), "has no output 'Y'"),
        (lambda p: with_op(p, "relu", inputs={"X": ("x", "x")}), "has 2 variables as its input 'X'"),
        (lambda p: with_op(p, "fetch", attributes={"col": OldAttribute("INT", -1)}), "are numbered"),
        (_inner("conv2d", strides=OldAttribute("STRING", "2")), "'strides' as string, not ints"),
        (_inner("conv2d", dilations=OldAttribute("INTS", ())), "has 0 dilations"),
        (_inner("conv2d", groups=OldAttribute("INT", 0)), "has 0 groups"),
        (_slices_wrong, "has 1 ends for 2 axes"),
        (lambda p: with_variable(p, "x", kind="READER"), "is of the kind reader"),
        (lambda p: with_variable(p, "x", dtype="pstring"), "has the element type pstring"),
        (lambda p: with_variable(p, "x", shape=(-7, 3)), r"has the shape \[-7, 3\]"),
        (lambda p: with_variable(p, "x", shape=(2**40, 2**40)), "has the shape"),
        (lambda p: with_variable(p, "x", shape=(1,) * 12), "has the shape"),
        (lambda p: with_variable(p, "x", sequence_levels=99), "has 99 levels of sequences"),
        (lambda p: with_variable(p, "x", name="\0"), "no name that a variable can have"),
    ],
)
def test_an_old_program_that_would_end_the_process_is_refused(old: Path, edit: Edit, why: str) -> None:
    edited(old, edit)
    with pytest.raises(NotAModel, match=rf"m\.pdmodel is not a Paddle model: .*{why}"):
        load(old)


def test_absurd_shapes_take_no_memory(old: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    edited(old, lambda p: with_variable(p, "conv2d_0.w_0", shape=(2**26, 2**26)))
    with pytest.raises(WeightsDoNotFit, match=r"conv2d_0\.w_0"):
        load(old)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


# The weights


def test_a_model_without_its_weights_is_told(old: Path, small_old: Old) -> None:
    old.with_suffix(".pdiparams").unlink()
    with pytest.raises(WeightsMissing, match=r"m\.pdmodel needs its weights in .*m\.pdiparams"):
        load(old)
    folder = small_old.save_fluid(old.parent / "fluid")
    (folder / "linear_0.w_0").unlink()
    with pytest.raises(WeightsMissing, match=r"__model__ needs its weights in .*linear_0\.w_0"):
        load(folder)


def test_several_files_that_look_like_weights_are_named(small_old: Old, tmp_path: Path) -> None:
    folder = small_old.save_fluid(tmp_path, params="one")
    shutil.copy(folder / "one", folder / "two")
    with pytest.raises(WeightsAmbiguous, match="in any of one, two"):
        load(folder)
    assert load(folder, params_filename="two").weights()


def test_weights_of_another_old_model_are_told(old: Path) -> None:
    other = built_old(small_net, 5).save(old.with_name("other"))
    file = old.with_suffix(".pdiparams")
    text = file.read_bytes()
    file.write_bytes(text + other.with_suffix(".pdiparams").read_bytes())
    with pytest.raises(WeightsDoNotFit, match="goes on after"):
        load(old)
    edited(old, lambda p: with_variable(p, "conv2d_0.w_0", shape=(4, 2, 3, 1)))
    file.write_bytes(text)
    with pytest.raises(WeightsDoNotFit, match=r"'conv2d_0\.w_0' should be float32\[4, 2, 3, 1\]"):
        load(old)


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.999])
def test_truncated_old_weights_are_told(old: Path, part: float) -> None:
    file = old.with_suffix(".pdiparams")
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * part)])
    with pytest.raises(WeightsTruncated, match=str(file)):
        load(old)


def test_int8_in_place_of_floats_is_taken_only_where_it_is_dequantized(old: Path) -> None:
    file = old.with_suffix(".pdiparams")
    text = file.read_bytes()
    file.write_bytes(text.replace(b"\x08\x05\x10\x04\x10\x02", b"\x08\x15\x10\x04\x10\x02", 1))
    with pytest.raises(WeightsDoNotFit, match="is int8"):
        load(old)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "a/../../outside", ".", "a/.."])
def test_names_do_not_lead_out_of_the_folder(small_old: Old, tmp_path: Path, name: str) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid")
    shutil.copy(folder / "linear_0.w_0", tmp_path / "outside")
    _rename(folder, "linear_0.w_0", name)
    with pytest.raises(NameLeadsOut, match="__model__ has a parameter named"):
        load(folder)


def test_names_with_slashes_are_found_in_folders_below(small_old: Old, tmp_path: Path) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid")
    wanted = load(folder).run(fed())
    (folder / "a b").mkdir()
    (folder / "linear_0.w_0").rename(folder / "a b" / "ö")
    _rename(folder, "linear_0.w_0", "a b/ö")
    found = load(folder).run(fed())
    np.testing.assert_array_equal(next(iter(found.values())), next(iter(wanted.values())))


def test_files_of_parameters_may_be_links(small_old: Old, tmp_path: Path) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid")
    (folder / "linear_0.w_0").rename(tmp_path / "blob")
    (folder / "linear_0.w_0").symlink_to(tmp_path / "blob")
    assert load(folder).holds("linear_0.w_0")


def test_a_name_that_no_file_can_have_is_missing(small_old: Old, tmp_path: Path) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid")
    _rename(folder, "linear_0.w_0", "w" * 400)
    with pytest.raises(WeightsMissing, match="w" * 400):
        load(folder)
    with pytest.raises(ModelNotFound):
        load(tmp_path / ("m" * 400))


def _rename(folder: Path, old: str, new: str) -> None:
    """Gives a parameter another name, all through the program."""
    file = folder / "__model__"
    program = parse_old(file.read_bytes())
    ops = tuple(
        replace(
            op, inputs={slot: tuple(new if n == old else n for n in ns) for slot, ns in op.inputs.items()}
        )
        for op in program.blocks[0].ops
    )
    file.write_bytes(old_bytes(with_variable(main_edited(program, ops=ops), old, name=new)))


def test_where_sequences_begin_is_read_past(small_old: Old, tmp_path: Path) -> None:
    folder = small_old.save_fluid(tmp_path / "fluid")
    wanted = load(folder).weight("linear_0.b_0")
    file = folder / "linear_0.b_0"
    text = file.read_bytes()
    levels = struct.pack("<Q3Q", 24, 0, 2, 6)
    file.write_bytes(struct.pack("<IQ", 0, 1) + levels + text[12:])
    np.testing.assert_array_equal(load(folder).weight("linear_0.b_0"), wanted)
    file.write_bytes(struct.pack("<IQ", 0, 1) + struct.pack("<Q", 2**60) + text[12:])
    with pytest.raises(WeightsTruncated, match=r"linear_0\.b_0"):
        load(folder)


# Sequences


def test_sequences_run_each_by_itself(shared: Path) -> None:
    model = load(shared / "models/paddle/lac_seg_fluid")
    words = [np.arange(5).reshape(5, 1), np.arange(40, 47).reshape(7, 1)]
    (together,) = run_sequences(model, {"words": words}).values()
    assert [len(tags) for tags in together] == [5, 7]
    for one, tags in zip(words, together):
        (alone,) = run_sequences(model, {"words": [one]}).values()
        np.testing.assert_array_equal(alone[0], tags)


def test_a_plain_array_has_no_sequences(shared: Path) -> None:
    model = load(shared / "models/paddle/lac_seg_fluid")
    with pytest.raises(SequencesNotServed, match=r"gru_0.*crf_decoding_0 need to know where sequences begin"):
        model.run({"words": np.zeros((3, 1), np.int64)})


def test_a_model_without_sequences_runs_as_one(small_files: Path) -> None:
    model = load(small_files)
    found = run_sequences(model, {"x": [fed()["x"][:1], fed()["x"][1:]]})
    wanted = model.run(fed())
    for name, parts in found.items():
        np.testing.assert_array_equal(np.concatenate(parts), wanted[name])


def test_an_op_whose_rule_would_end_the_process_is_tried_elsewhere(tmp_path: Path) -> None:
    def build() -> tuple[list[Any], list[Any]]:
        x = static.data("x", [None, 4], "float32")
        return [x], [paddle.nn.functional.relu(x)]

    def broken(program: OldProgram) -> OldProgram:
        # No axes to transform along, of which Paddle takes the last.
        told = {"axes": OldAttribute("LONGS", ()), "normalization": OldAttribute("STRING", "forward")}
        told["forward"] = OldAttribute("BOOLEAN", True)
        return with_op(program, "relu", type="fft_c2r", attributes=told)

    prefix = edited(built_old(build).save(tmp_path / "m"), broken)
    with pytest.raises(OperatorNotServed, match=r"translating it ends the process \(SIG"):
        load(prefix)
