"""`name_scope` that leaves its name on what is built inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from compat_nets import switched
from paddle import nn, static

import spokeshave
from spokeshave import compat
from spokeshave.program import Model
from spokeshave.slim import quant


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    with switched(True):
        yield


def scopes(program: Any) -> list[str]:
    found = [op.str_attr("struct_name") for op in program.global_block().ops if op.has_attr("struct_name")]
    return list(dict.fromkeys(found))


def net() -> tuple[Any, Any, Any]:
    """Three linear layers, the second of which is built in a scope."""
    program, startup = static.Program(), static.Program()
    with paddle.utils.unique_name.guard(), static.program_guard(program, startup):
        values = nn.Linear(4, 4)(static.data("x", [None, 4], "float32"))
        with static.name_scope("skip_quant"):
            values = nn.Linear(4, 4)(values)
        values = nn.Linear(4, 4)(values)
    return program, startup, values


def test_ops_built_inside_carry_the_name_before_the_path_of_their_layer() -> None:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [None, 4], "float32")
        before = paddle.tanh(x)
        with static.name_scope("a"):
            inside = paddle.tanh(before)
            with static.name_scope("b"):
                innermost = paddle.tanh(inside)
                layer = nn.Linear(4, 4)(innermost)
        after = paddle.tanh(layer)
    ops = [v.get_defining_op() for v in (before, inside, innermost, layer, after)]
    found = [op.str_attr("struct_name") if op.has_attr("struct_name") else "" for op in ops]
    assert [path.rstrip("0123456789_/") for path in found] == ["", "/a", "/a/b", "/a/b/Linear", ""]


def test_a_scope_that_fails_inside_still_names_what_was_built() -> None:
    def fails(x: Any) -> None:
        with static.name_scope("a"):
            raise ZeroDivisionError(paddle.tanh(x).name)

    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [4], "float32")
        with pytest.raises(ZeroDivisionError, match="tanh_0"):
            fails(x)
    assert scopes(program) == ["/a/"]


@pytest.mark.parametrize(("pattern", "rounded"), [(["skip_quant"], [True, False, True]), ([], [True] * 3)])
def test_quant_aware_leaves_what_is_in_the_scope_alone(pattern: list[str], rounded: list[bool]) -> None:
    program, startup, _ = net()
    scope = static.Scope()
    with static.scope_guard(scope):
        static.Executor(paddle.CPUPlace()).run(startup)
    quantized = quant.quant_aware(program, scope=scope, config={"not_quant_pattern": pattern})
    products = [op for op in quantized.global_block().ops if op.name() == "pd_op.matmul"]
    weights = [op.operand_source(1).get_defining_op().name() for op in products]
    assert [name != "builtin.parameter" for name in weights] == rounded


def test_scopes_survive_a_clone_and_saving(tmp_path: Path) -> None:
    program, startup, values = net()
    scope = static.Scope()
    executor = static.Executor(paddle.CPUPlace())
    copy = program.clone(for_test=True)
    assert scopes(copy) == scopes(program)
    with static.scope_guard(scope):
        executor.run(startup)
        static.save_inference_model(str(tmp_path / "paddle"), ["x"], [values], executor, program=copy)
    spokeshave.save(Model.of(program, {"y": values}, scope), tmp_path / "ours")
    for prefix in ("paddle", "ours"):
        found = spokeshave.load(tmp_path / prefix).view.nodes
        assert sum("/skip_quant/" in node.scope for node in found) == 2


def test_in_dygraph_it_does_nothing() -> None:
    paddle.disable_static()
    with static.name_scope("a"):
        found = paddle.tanh(paddle.zeros([2]))
    np.testing.assert_array_equal(found.numpy(), np.zeros(2))


def test_off_no_name_is_left() -> None:
    compat.disable()
    assert not [scope for scope in scopes(net()[0]) if "skip_quant" in scope]
