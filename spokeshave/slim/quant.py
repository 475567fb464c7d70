"""`slim.quant`: quantization-aware training on Programs, in the user's own scope."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import paddle

from spokeshave.compat import program_in
from spokeshave.errors.compat import NotAProgram
from spokeshave.errors.quant import SettingNotServed
from spokeshave.errors.select import RuleMatchedNothing
from spokeshave.graph import GraphView
from spokeshave.program import Model
from spokeshave.quant import apply, freeze, pack, plan, transform
from spokeshave.quant.freezing import refuse_backward
from spokeshave.registry import nearest
from spokeshave.seams import PROGRAM, Program, Scope
from spokeshave.select import choose
from spokeshave.select.choosing import Rule
from spokeshave.targets import TARGETS, Target

# Old op names; `mul` is any product with a constant weight.
OP_TYPES = {
    "conv2d": "pd_op.conv2d",
    "depthwise_conv2d": "pd_op.depthwise_conv2d",
    "mul": "pd_op.matmul",
    "matmul": "pd_op.matmul",
    "matmul_v2": "pd_op.matmul",
}
DEFAULTS: Mapping[str, Any] = {
    "weight_quantize_type": "channel_wise_abs_max",
    "activation_quantize_type": "moving_average_abs_max",
    "weight_bits": 8,
    "activation_bits": 8,
    "not_quant_pattern": ["skip_quant"],
    "quantize_op_types": ["conv2d", "depthwise_conv2d", "mul"],
    "dtype": "int8",
    "moving_rate": 0.9,
    "onnx_format": True,
    "window_size": 10000,  # of `range_abs_max`, which is not served: it says nothing about the others
    "for_tensorrt": False,
    "is_full_quantize": False,
    "quant_post_first": False,
    "scale_trainable": True,
    "deploy_backend": None,
}
# What a setting may be: those that stand here alone are not passed over, they are refused.
SERVED: Mapping[str, tuple[Any, ...]] = {
    "weight_quantize_type": ("channel_wise_abs_max",),
    "activation_quantize_type": ("moving_average_abs_max",),
    "weight_bits": (8,),
    "activation_bits": (8,),
    "dtype": ("int8",),
    "moving_rate": (0.9,),
    "onnx_format": (True, False),
    "for_tensorrt": (False,),
    "is_full_quantize": (False,),
    "quant_post_first": (False,),
    "scale_trainable": (True,),
    "deploy_backend": (None,),
}


def quant_aware(
    program: Program,
    place: Any = None,
    config: Mapping[str, Any] | None = None,
    scope: Scope | None = None,
    for_test: bool = False,
) -> Program:
    """A program that computes with rounded weights and activations, to be run in place of `program`.

    Same feeds, same fetches, and where `program` has its backward and an optimizer, they go on working. A
    training program and its test program (`for_test=True`) share scales through the scope, by the names of
    their weights. `program` itself stays as it is. `place` is where the Executor runs; it changes nothing.
    """
    settings = _settings(config)
    program = _program_of(program)
    model = Model(program, scope or paddle.static.global_scope(), borrows=True)
    if for_test:
        refuse_backward(program, "quant_aware(for_test=True)")
    view = model.view
    drawn = plan(view, _target(settings), choose(view, exclude=_skipped(view, settings)))
    return transform(model, drawn, is_training=not for_test).program


def convert(
    program: Program,
    place: Any = None,
    config: Mapping[str, Any] | None = None,
    scope: Scope | None = None,
    save_int8: bool = False,
) -> Program | tuple[Program, Program]:
    """The trained test program, frozen: weights on the INT8 grid as float32; with `save_int8` also as int8.

    Both load and run. All that they read is written into the scope under names of its own, so that training
    may go on and they stay as they are until the next `convert`, which writes those names anew. `place` and
    `config` are taken for the sake of old scripts; the program says it all.
    """
    _settings(config)
    model = Model(_program_of(program), scope or paddle.static.global_scope(), borrows=True)
    bare, learned = freeze(model)
    frozen = apply(bare, learned).program
    return (frozen, pack(bare, learned).program) if save_int8 else frozen


def _program_of(given: Any) -> Program:
    program = program_in(given)
    if not isinstance(program, PROGRAM):
        raise NotAProgram(found=type(given).__name__)
    return program


def _settings(config: Mapping[str, Any] | None) -> dict[str, Any]:
    if config is not None and not isinstance(config, Mapping):
        raise SettingNotServed(name="config", value=repr(config), served="a mapping of names to values")
    settings = {**DEFAULTS, **(config or {})}
    for name, value in settings.items():
        if name not in DEFAULTS:
            raise SettingNotServed(
                name=str(name), value=repr(value), served=nearest(str(name), dict(DEFAULTS))
            )
        if name in SERVED and (isinstance(value, np.ndarray) or value not in SERVED[name]):
            raise SettingNotServed(name=name, value=repr(value), served=", ".join(map(repr, SERVED[name])))
    for name in ("quantize_op_types", "not_quant_pattern"):
        settings[name] = _names(name, settings[name])
    for kind in settings["quantize_op_types"]:
        if kind not in OP_TYPES:
            raise SettingNotServed(name="quantize_op_types", value=repr(kind), served=", ".join(OP_TYPES))
    return settings


def _names(setting: str, given: Any) -> tuple[str, ...]:
    """One name, several, or None for the lack of any."""
    if isinstance(given, str):
        return (given,) if given else ()
    names = tuple(given) if isinstance(given, (list, tuple, set)) else (given,) * (given is not None)
    if not all(isinstance(name, str) for name in names):
        raise SettingNotServed(name=setting, value=repr(given), served="a name, or a list of names")
    return names


def _target(settings: Mapping[str, Any]) -> Target:
    wanted = {OP_TYPES[kind] for kind in settings["quantize_op_types"]}
    target = TARGETS["paddle"]
    return Target(target.name, target.doc, tuple(p for p in target.placements if p.op in wanted))


def _skipped(view: GraphView, settings: Mapping[str, Any]) -> list[Rule]:
    """Rules for the layers that are to stay float; of the patterns only the default may match nothing."""
    patterns = settings["not_quant_pattern"]
    scopes = dict.fromkeys(node.scope for node in view.nodes if node.scope)
    found = {p: [scope for scope in scopes if fnmatchcase(scope, f"*{p}*")] for p in patterns}
    for pattern, matching in found.items():
        if not matching and pattern not in DEFAULTS["not_quant_pattern"]:
            layers = dict.fromkeys(layer for scope in scopes for layer in scope.strip("/").split("/"))
            raise RuleMatchedNothing(rule=pattern, nearest=nearest(pattern, layers))
    skipped = {scope for matching in found.values() for scope in matching}
    return [lambda _, node: node.scope in skipped] if skipped else []
