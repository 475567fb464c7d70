"""`save_inference_model` by values of the program that the saved one was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compat_nets import Trained, classifier
from paddle import static

import spokeshave
from spokeshave.errors.compat import ValueOfAnotherProgram
from spokeshave.errors.program import FetchUnknown
from spokeshave.slim import quant

pytest_plugins = ["compat_nets"]
pytestmark = pytest.mark.usefixtures("compat_on")

IMAGE = {"image": np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)}


def save(net: Trained, prefix: Path, program: Any, fetches: Any, feeds: Any = None) -> None:
    with static.scope_guard(net.scope):
        static.save_inference_model(
            path_prefix=str(prefix),
            feed_vars=[net.image] if feeds is None else feeds,
            fetch_vars=fetches,
            executor=net.executor,
            program=program,
        )


def run_of(net: Trained, prefix: Path) -> np.ndarray:
    with static.scope_guard(static.Scope()):
        program, _, fetches = static.load_inference_model(str(prefix), net.executor)
        return np.asarray(net.executor.run(program, feed=IMAGE, fetch_list=fetches)[0])


def expected(net: Trained, program: Any) -> np.ndarray:
    feed = {**IMAGE, "label": np.zeros((2, 1), np.int64)}
    with static.scope_guard(net.scope):
        return np.asarray(net.executor.run(program, feed=feed, fetch_list=[net.scores])[0])


def test_a_clone_is_saved_by_values_of_the_program_it_came_from(trained: Trained, tmp_path: Path) -> None:
    tested = trained.program.clone(for_test=True)
    save(trained, tmp_path / "m", tested, [trained.scores])
    np.testing.assert_array_equal(run_of(trained, tmp_path / "m"), expected(trained, tested))


def test_names_will_do_and_one_need_not_be_in_a_list(trained: Trained, tmp_path: Path) -> None:
    tested = trained.program.clone(for_test=True)
    save(trained, tmp_path / "m", tested, trained.scores.name, feeds="image")
    np.testing.assert_array_equal(run_of(trained, tmp_path / "m"), expected(trained, tested))


def test_a_compiled_program_is_saved(trained: Trained, tmp_path: Path) -> None:
    tested = trained.program.clone(for_test=True)
    save(trained, tmp_path / "m", static.CompiledProgram(tested), [trained.scores])
    np.testing.assert_array_equal(run_of(trained, tmp_path / "m"), expected(trained, tested))


def test_both_converted_programs_are_saved_by_a_value_of_one(trained: Trained, tmp_path: Path) -> None:
    quant_program = quant.quant_aware(trained.program, scope=trained.scope)
    for_test = quant.quant_aware(trained.program.clone(for_test=True), scope=trained.scope, for_test=True)
    for _ in range(3):
        trained.run(quant_program, [trained.loss])
    frozen, packed = quant.convert(for_test, scope=trained.scope, save_int8=True)
    scores = frozen.global_block().var(trained.scores.name)
    for name, program in (("float", frozen), ("int8", packed)):
        save(trained, tmp_path / name, program, [scores])
        # one float32 sum may be taken in another order after saving
        np.testing.assert_allclose(run_of(trained, tmp_path / name), expected(trained, frozen), atol=1e-6)


def test_what_was_saved_loads_in_spokeshave_names_or_not(trained: Trained, tmp_path: Path) -> None:
    tested = trained.program.clone(for_test=True)
    trained.scores.name = "prob"
    save(trained, tmp_path / "m", tested, [trained.scores])
    assert "value_name" not in (tmp_path / "m.json").read_text()
    model = spokeshave.load(tmp_path / "m")
    np.testing.assert_array_equal(next(iter(model.run(IMAGE).values())), expected(trained, tested))


def test_without_a_program_it_is_paddles_own(trained: Trained, tmp_path: Path) -> None:
    tested = trained.program.clone(for_test=True)
    image, scores = (tested.global_block().var(v.name) for v in (trained.image, trained.scores))
    with static.scope_guard(trained.scope), static.program_guard(tested):
        static.save_inference_model(str(tmp_path / "m"), [image], [scores], trained.executor)
    np.testing.assert_array_equal(run_of(trained, tmp_path / "m"), expected(trained, tested))


def test_a_value_of_neither_is_an_error(trained: Trained, tmp_path: Path) -> None:
    tested, other = trained.program.clone(for_test=True), classifier()
    with pytest.raises(ValueOfAnotherProgram, match=r"fetch_vars\[1\]"):
        save(trained, tmp_path / "m", tested, [trained.scores, other.scores])
    with pytest.raises(ValueOfAnotherProgram, match=r"feed_vars\[0\]"):
        save(trained, tmp_path / "m", tested, [trained.scores], feeds=[other.image])
    with pytest.raises(FetchUnknown, match="softmax_0"):
        save(trained, tmp_path / "m", tested, ["softmax_1.tmp_0"])
    assert not list(tmp_path.iterdir())
