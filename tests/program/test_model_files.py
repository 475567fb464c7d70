"""Load, save, load, run: bit for bit the same, here and in Paddle's own loaders."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import inference, nn, static
from program_nets import IMAGES, dynamic_mode, pictures, save_branching, save_net

from spokeshave.errors.capturing import NothingToCompute
from spokeshave.errors.program import FetchUnknown
from spokeshave.graph import diff
from spokeshave.program import Model, capture, for_inference, load, save

pytest_plugins = ["program_nets"]
pytestmark = pytest.mark.usefixtures("in_dynamic_mode")

Saved = Callable[[str], Path]
NETS = ["lenet", "mobilenet", "hand"]
KINDS = [".json", ".pdiparams", ".sha256"]

every_net = pytest.mark.parametrize("name", NETS)


def files(prefix: Path) -> list[bytes]:
    return [prefix.with_name(prefix.name + kind).read_bytes() for kind in KINDS]


def check_same(found: Any, wanted: Any) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)


def in_static_paddle(prefix: Path, name: str) -> list[Any]:
    paddle.enable_static()
    with static.scope_guard(static.Scope()):
        executor = static.Executor(paddle.CPUPlace())
        program, feeds, fetches = static.load_inference_model(str(prefix), executor)
        assert feeds == ["image"]
        outputs = list(executor.run(program, feed=pictures(name), fetch_list=fetches))
    paddle.disable_static()
    return outputs


def in_dynamic_paddle(prefix: Path, name: str) -> list[Any]:
    with dynamic_mode():
        outputs = paddle.jit.load(str(prefix))(paddle.to_tensor(pictures(name)["image"]))
    return [tensor.numpy() for tensor in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def in_paddle_inference(prefix: Path, name: str) -> list[Any]:
    config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
    config.disable_gpu()
    config.disable_mkldnn()
    config.switch_ir_optim(False)
    config.disable_glog_info()
    runner = inference.create_predictor(config)
    runner.get_input_handle("image").copy_from_cpu(pictures(name)["image"])
    runner.run()
    return [runner.get_output_handle(n).copy_to_cpu() for n in runner.get_output_names()]


@every_net
def test_load_save_load_run_is_equal_to_the_bit(saved: Saved, tmp_path: Path, name: str) -> None:
    first = load(saved(name))
    save(first, tmp_path / "again")
    check_same(
        list(load(tmp_path / "again").run(pictures(name)).values()),
        list(first.run(pictures(name)).values()),
    )


@every_net
def test_what_paddle_saved_runs_here_as_in_paddle(saved: Saved, name: str) -> None:
    check_same(list(load(saved(name)).run(pictures(name)).values()), in_static_paddle(saved(name), name))


@every_net
@pytest.mark.parametrize("run", [in_static_paddle, in_dynamic_paddle])
def test_what_we_saved_runs_in_paddle_as_here(saved: Saved, tmp_path: Path, name: str, run: Any) -> None:
    model = load(saved(name))
    save(model, tmp_path / "ours")
    check_same(run(tmp_path / "ours", name), list(model.run(pictures(name)).values()))


@every_net
def test_what_we_saved_runs_in_paddle_inference(saved: Saved, tmp_path: Path, name: str) -> None:
    model = load(saved(name))
    save(model, tmp_path / "ours")
    wanted = list(model.run(pictures(name)).values())
    for one, other in zip(in_paddle_inference(tmp_path / "ours", name), wanted):
        # It picks kernels of its own, which add in another order.
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@every_net
def test_names_shapes_and_graph_survive(saved: Saved, tmp_path: Path, name: str) -> None:
    model = load(saved(name))
    save(model, tmp_path / "again")
    again = load(tmp_path / "again")
    assert [(v.id, v.shape, v.dtype) for v in again.inputs] == [("image", (-1, *IMAGES[name]), "float32")]
    assert [n for n, _ in again.view.outputs] == [n for n, _ in model.view.outputs]
    assert diff(model.view, again.view) == ""
    assert len(again.view.outputs) == (2 if name == "hand" else 1)


@every_net
def test_two_saves_write_the_same_bytes(saved: Saved, tmp_path: Path, name: str) -> None:
    model = load(saved(name))
    save(model, tmp_path / "one" / "m")
    save(model, tmp_path / "two" / "m")
    save(load(tmp_path / "one" / "m"), tmp_path / "three" / "m")
    assert files(tmp_path / "one" / "m") == files(tmp_path / "two" / "m") == files(tmp_path / "three" / "m")


@every_net
def test_weights_are_written_as_paddle_writes_them(saved: Saved, tmp_path: Path, name: str) -> None:
    save(load(saved(name)), tmp_path / "ours")
    theirs = saved(name).with_suffix(".pdiparams").read_bytes()
    assert (tmp_path / "ours.pdiparams").read_bytes() == theirs


def test_save_gives_the_files_it_wrote(saved: Saved, tmp_path: Path) -> None:
    wanted = [tmp_path / "a.b" / f"v1.2{kind}" for kind in (".pdiparams", ".json", ".sha256")]
    assert list(save(load(saved("lenet")), tmp_path / "a.b" / "v1.2")) == wanted
    assert sorted((tmp_path / "a.b").iterdir()) == sorted(wanted)
    assert len(load(tmp_path / "a.b" / "v1.2").weights()) == 10


def test_chosen_outputs_are_saved_and_no_more(saved: Saved, tmp_path: Path) -> None:
    model = load(saved("hand"))
    second, inner = model.view.outputs[1][0], "relu_0.out"
    save(model, tmp_path / "m", outputs=[inner, second])
    again = load(tmp_path / "m")
    assert [n for n, _ in again.view.outputs] == [inner, second]
    assert "lying" not in again.weights()
    check_same(
        list(again.run(pictures("hand")).values()),
        list(model.run(pictures("hand"), [inner, second]).values()),
    )


def test_an_unknown_output_is_not_saved(saved: Saved, tmp_path: Path) -> None:
    with pytest.raises(FetchUnknown, match="no value 'score'"):
        save(load(saved("lenet")), tmp_path / "m", outputs=["score"])
    assert list(tmp_path.iterdir()) == []


def test_what_comes_from_jit_save_and_from_save_inference_model_loads(saved: Saved) -> None:
    by_layer, by_program = load(saved("lenet")), load(saved("hand"))
    assert by_layer.view.inputs == by_program.view.inputs == ("image",)
    assert not by_layer.borrows
    assert not by_program.borrows


def test_every_way_to_name_a_model_finds_it(saved: Saved, tmp_path: Path) -> None:
    save(load(saved("lenet")), tmp_path / "m")
    wanted = list(load(tmp_path / "m").run(pictures("lenet")).values())
    for path in (tmp_path, tmp_path / "m.json", tmp_path / "m.pdiparams", str(tmp_path / "m")):
        check_same(list(load(path).run(pictures("lenet")).values()), wanted)


def test_two_models_never_mix_weights_and_leave_the_global_scope_alone(tmp_path: Path) -> None:
    before = set(static.global_scope().local_var_names())
    one, other = (load(save_net("lenet", tmp_path / str(seed), seed)) for seed in (1, 2))
    assert sorted(one.weights()) == sorted(other.weights())
    first = one.run(pictures("lenet"))
    second = other.run(pictures("lenet"))
    assert not np.allclose(next(iter(first.values())), next(iter(second.values())))
    check_same(list(one.run(pictures("lenet")).values()), list(first.values()))
    assert set(static.global_scope().local_var_names()) == before


@pytest.mark.parametrize("is_static", [False, True])
def test_paddles_mode_is_left_as_it_was(saved: Saved, tmp_path: Path, is_static: bool) -> None:
    prefix = saved("lenet")
    if is_static:
        paddle.enable_static()
    model = load(prefix)
    model.run(pictures("lenet"))
    save(model, tmp_path / "m")
    model.copy().owned()
    with pytest.raises(FetchUnknown):
        model.run(pictures("lenet"), ["nothing"])
    assert paddle.in_dynamic_mode() is not is_static


def test_save_leaves_the_model_as_it_is(saved: Saved, tmp_path: Path) -> None:
    model = load(saved("hand"))
    text, ops = str(model.program), len(model.program.global_block().ops)
    weights = {name: array.copy() for name, array in model.weights().items()}
    save(model, tmp_path / "m", outputs=[model.view.outputs[0][0]])
    assert (str(model.program), len(model.program.global_block().ops)) == (text, ops)
    check_same(list(model.weights().values()), list(weights.values()))


def test_branches_loops_and_recurrent_state_load_and_save(tmp_path: Path) -> None:
    net = save_branching(tmp_path / "theirs")
    model = load(tmp_path / "theirs")
    save(model, tmp_path / "ours")
    for sign in (1, -1):
        feed = {"x": np.full((2, 4), sign, np.float32) + np.arange(4, dtype=np.float32) / 10}
        with dynamic_mode():
            wanted = [t.numpy() for t in net(paddle.to_tensor(feed["x"]))]
        for tried in (model, load(tmp_path / "ours"), model.copy()):
            for one, other in zip(tried.run(feed).values(), wanted):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
            check_same(list(tried.run(feed).values()), list(model.run(feed).values()))
    paddle.enable_static()
    with static.scope_guard(static.Scope()):
        executor = static.Executor(paddle.CPUPlace())
        program, _, fetches = static.load_inference_model(str(tmp_path / "ours"), executor)
        check_same(executor.run(program, feed=feed, fetch_list=fetches), list(model.run(feed).values()))


def test_for_inference_shares_the_scope_and_drops_what_no_output_needs(saved: Saved) -> None:
    model = load(saved("hand"))
    cut = for_inference(model, [model.view.outputs[1][0]])
    assert cut.scope is model.scope
    assert {n.op for n in model.view.nodes} - {n.op for n in cut.view.nodes} >= {
        "pd_op.matmul",
        "pd_op.flatten",
    }
    assert isinstance(cut, Model)


def test_real_models_of_others_load_save_and_run(shared: Path, tmp_path: Path) -> None:
    model = load(shared / "models/paddle/PP-LCNet_x0_25_textline_ori")
    feed = {"x": np.random.RandomState(0).rand(1, 3, 80, 160).astype(np.float32)}
    save(model, tmp_path / "m")
    check_same(list(load(tmp_path / "m").run(feed).values()), list(model.run(feed).values()))


class Repeating(nn.Layer):  # type: ignore[misc]
    """Gives one value twice, and its input."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, image: Any) -> Any:
        scores = self.linear(image)
        return scores, scores, image


class Bare(nn.Layer):  # type: ignore[misc]
    """Has no weights."""

    def forward(self, image: Any) -> Any:
        return image * 2


ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)


def test_an_output_that_is_another_or_an_input_is_one_for_paddle_inference(tmp_path: Path) -> None:
    model = capture(Repeating(), [[None, 4]])
    wanted = list(model.run({"image": ROWS}).values())
    save(model, tmp_path / "m")
    config = inference.Config(str(tmp_path / "m.json"), str(tmp_path / "m.pdiparams"))
    config.disable_glog_info()
    runner = inference.create_predictor(config)
    runner.get_input_handle("image").copy_from_cpu(ROWS)
    runner.run()
    found = [runner.get_output_handle(n).copy_to_cpu() for n in runner.get_output_names()]
    assert len(found) == len(wanted) == 3
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)  # another matrix library
    check_same(list(load(tmp_path / "m").run({"image": ROWS}).values()), wanted)


def test_a_model_without_weights_has_no_file_of_them_also_where_one_lay(tmp_path: Path) -> None:
    save(capture(Repeating(), [[None, 4]]), tmp_path / "m")
    written = save(capture(Bare(), [[None, 4]]), tmp_path / "m")
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert {path.suffix for path in written} == {".json", ".sha256"}
    with dynamic_mode():
        found = paddle.jit.load(str(tmp_path / "m"))(paddle.to_tensor(ROWS))
    np.testing.assert_array_equal(found.numpy(), ROWS * 2)
    np.testing.assert_array_equal(load(tmp_path / "m").run({"image": ROWS})["output"], ROWS * 2)


def test_a_model_without_outputs_is_not_saved(tmp_path: Path) -> None:
    model = capture(Bare(), [[None, 4]])
    with pytest.raises(NothingToCompute):
        save(model, tmp_path / "m", outputs=[])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_static", [True, False])
def test_threads_load_and_run_side_by_side(tmp_path: Path, is_static: bool) -> None:
    save(capture(Repeating(), [[None, 4]]), tmp_path / "m")
    wanted = list(load(tmp_path / "m").run({"image": ROWS}).values())

    def work(_: int) -> list[Any]:
        return list(load(tmp_path / "m").run({"image": ROWS}).values())

    if is_static:
        paddle.enable_static()
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(work, range(24)):
            check_same(found, wanted)
    paddle.disable_static()
