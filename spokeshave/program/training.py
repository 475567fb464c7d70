"""What trains a program: its losses, its optimizer and what that remembers; found, and appended anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import paddle

from spokeshave.errors.training import LossUnknown, OptimizerUnknown, OptimizerUsed
from spokeshave.program.model import Model
from spokeshave.program.roles import SEED, training_ops
from spokeshave.seams import (
    Operation,
    Value,
    attributes,
    has_tensor,
    is_absent,
    operand_names,
    read_tensor,
    run_startup,
    scheduler_of,
    serves_a_program,
    static_mode,
    stop_gradients_at_set_values,
    write_tensor,
)

PARAM, GRAD, RATE = "param", "grad", "learning_rate"
L1, L2 = "l1", "l2"


@dataclass(frozen=True)
class Regularizer:
    """What pulls a parameter towards zero: `coefficient` times its sign (l1) or itself (l2)."""

    kind: str
    coefficient: float


@dataclass(frozen=True)
class Update:
    """How an optimizer changes one parameter.

    `settings` are its numbers (`mu`, `beta1` …), `state` names the tensors in which it remembers, by their
    role (`velocity`, `moment1` …). The rate is `rate_factor` times the tensor `learning_rate`.
    """

    parameter: str
    settings: Mapping[str, Any]
    state: Mapping[str, str]
    learning_rate: str
    rate_factor: float = 1.0
    regularizer: Regularizer | None = None


@dataclass(frozen=True)
class Training:
    """What trains a program. `optimizer` is the kind (`momentum`, `adam` …), empty where nothing is updated.

    `losses` are ids in the view; `clip` names the op that gradients are clipped by, with its bound;
    `scheduler` is the object that moves the learning rate, where there is one.
    """

    losses: tuple[str, ...]
    optimizer: str = ""
    updates: tuple[Update, ...] = ()
    clip: tuple[str, float] | None = None
    scheduler: Any = field(default=None, compare=False)

    def update(self, parameter: str) -> Update | None:
        """How a parameter is updated, None for one that is not."""
        return next((u for u in self.updates if u.parameter == parameter), None)


def training_of(model: Model) -> Training | None:
    """Finds what trains the program of a model; None where it has no backward."""
    ops = training_ops(model.program)
    if not ops:
        return None
    found = [op for op in ops if op.name().startswith("pd_op.") and {PARAM, GRAD} <= set(operand_names(op))]
    kinds = {op.name().split(".")[1].rstrip("_") for op in found}
    clips = {clip for clip in (_clip(_operands(op)[GRAD]) for op in found) if clip}
    return Training(
        tuple(_losses(model, ops)),
        "+".join(sorted(kinds)),
        tuple(_update(op) for op in found),
        min(clips) if clips else None,
        scheduler_of(model.program),
    )


def append_training(model: Model, loss: str, optimizer: Any, *, carry: Training | None = None) -> Model:
    """The model with a backward from `loss` and the updates of an optimizer that has served no program yet.

    `loss` is the name of an output or the id of a value. What the optimizer remembers begins at zero in the
    scope of the model, or where `carry` left it: the training of a program that this one was made from. Of
    what it remembers, all is carried whose parameter and role (`velocity` …) that training has, too.
    """
    if serves_a_program(optimizer):
        raise OptimizerUsed(optimizer=type(optimizer).__name__)
    kept = _remembered(model, carry)
    program, mapping = model.cloned_program()
    fetches = tuple((name, mapping.look_up(value)) for name, value in model.fetches)
    target = mapping.look_up(_checked_loss(model, loss))
    startup = paddle.static.Program()
    with static_mode(), paddle.static.program_guard(program, startup):
        stop_gradients_at_set_values(program)
    with static_mode(), paddle.static.program_guard(program, startup):
        optimizer.minimize(target)
    trained = replace(model, program=program, fetches=fetches)
    _check_updates(trained, loss)
    run_startup(startup, model.scope)
    for update in _training(trained).updates:
        for role, name in update.state.items():
            if (update.parameter, role) in kept:
                write_tensor(model.scope, name, kept[update.parameter, role])
    return trained


def optimizer_like(training: Training, model: Model) -> Any:
    """A new optimizer that does what trained a program: kind, settings, regularizer, clipping, rate.

    A scheduler goes on from where it is, the very object; a rate without one is read from the scope.
    """
    if training.optimizer not in _MAKERS:
        raise _unknown(f"its kind is {training.optimizer or 'none'!r}")
    first = training.updates[0]
    for update in training.updates:
        if update.settings != first.settings or update.rate_factor != 1:
            raise _unknown(f"{update.parameter!r} has settings of its own")
    settings = dict(_MAKERS[training.optimizer](first.settings))
    if training.optimizer != "adamw":  # which decays by a setting of its own
        settings["weight_decay"] = _decay(training)
    rate, clipper = _rate(training, first, model), _clipper(training)
    with static_mode():  # in dynamic mode an optimizer must be told its parameters
        return _CLASSES[training.optimizer](learning_rate=rate, grad_clip=clipper, **settings)


def _training(model: Model) -> Training:
    found = training_of(model)
    if found is None:
        raise LossUnknown(value="the loss", found="no parameter that may be trained leads to it")
    return found


def _losses(model: Model, training: list[Operation]) -> Iterator[str]:
    """The values whose gradient begins as one."""
    for op in training:
        if op.name() != SEED or _constant(op.operands_source()[1]) != 1.0:
            continue
        value_id = model.picture.id_of(op.operand_source(0))
        if value_id is not None:
            yield value_id


def _update(op: Operation) -> Update:
    operands = _operands(op)
    settings = attributes(op)
    settings.update({n: c for n, c in ((n, _constant(v)) for n, v in operands.items()) if c is not None})
    state = {n: _name(v) for n, v in operands.items() if n not in (PARAM, GRAD, RATE)}
    rate, factor = _rate_of(operands[RATE])
    return Update(
        _name(operands[PARAM]) or "",
        settings,
        {role: name for role, name in state.items() if name},
        rate,
        factor,
        _regularizer(settings, operands[GRAD]),
    )


def _operands(op: Operation) -> dict[str, Value]:
    named = zip(operand_names(op), op.operands_source())
    return {name: value for name, value in named if not is_absent(value)}


def _name(value: Value) -> str | None:
    """The name under which a scope keeps a value, None for one that is computed."""
    attrs = value.get_defining_op().attrs()
    found = attrs.get("parameter_name") or (attrs.get("name") if attrs.get("persistable") == [True] else None)
    return str(found) if found else None


def _constant(value: Value) -> float | None:
    maker = value.get_defining_op()
    return float(maker.attrs()["value"]) if maker.name() == "pd_op.full" else None


def _rate_of(value: Value) -> tuple[str, float]:
    """The tensor of the learning rate, and what it is multiplied by for this parameter."""
    factor = 1.0
    while _name(value) is None:
        maker = value.get_defining_op()
        if maker.name() == "pd_op.scale":
            factor *= _constant(maker.operand_source(1)) or 1.0
        value = maker.operand_source(0)
    return _name(value) or "", factor


def _regularizer(settings: Mapping[str, Any], gradient: Value) -> Regularizer | None:
    """That of the op itself, or the term that is added to the gradient."""
    method = settings.get("regularization_method")
    if method:
        return Regularizer(L2, float(settings["regularization_coeff"]))
    if settings.get("with_decay"):
        return Regularizer(L2, float(settings["coeff"]))
    for term in _terms(gradient):
        maker = term.get_defining_op()
        if maker.name() == "pd_op.scale":
            source, size = maker.operand_source(0), _constant(maker.operand_source(1))
            is_sign = source.get_defining_op().name() == "pd_op.sign"
            if size is not None and _name(source.get_defining_op().operand_source(0) if is_sign else source):
                return Regularizer(L1 if is_sign else L2, size)
    return None


def _terms(gradient: Value) -> list[Value]:
    maker = gradient.get_defining_op()
    if maker.name() != "pd_op.add_n":
        return []
    return list(maker.operand_source(0).get_defining_op().operands_source())


def _clip(gradient: Value) -> tuple[str, float] | None:
    """How a gradient is clipped before a regularizer is added: by what, and the bound."""
    for value in (gradient, *_terms(gradient)):
        maker = value.get_defining_op()
        if maker.name() == "pd_op.clip_by_norm":
            return "norm", float(maker.attrs()["max_norm"])
        if maker.name() == "pd_op.multiply" and _is_gradient(maker.operand_source(0)):
            ratio = maker.operand_source(1).get_defining_op()
            bound = _constant(ratio.operand_source(0)) if ratio.name() == "pd_op.divide" else None
            return ("global norm", bound) if bound is not None else ("what is not known", 0.0)
    return None


def _is_gradient(value: Value) -> bool:
    return bool(value.get_defining_op().name().rstrip("_").endswith("_grad"))


def _remembered(model: Model, training: Training | None) -> dict[tuple[str, str], Any]:
    """Copies of what an optimizer remembers, by parameter and role."""
    states = [
        (u.parameter, role, n) for u in (training.updates if training else ()) for role, n in u.state.items()
    ]
    return {(p, role): read_tensor(model.scope, n) for p, role, n in states if has_tensor(model.scope, n)}


def _checked_loss(model: Model, loss: str) -> Value:
    value = model.target(loss)
    shape = tuple(value.shape)
    if prod(shape) != 1:
        raise LossUnknown(value=loss, found=f"it has the shape {list(shape)}, not that of one number")
    if value.stop_gradient:
        raise LossUnknown(value=loss, found="no parameter that may be trained leads to it")
    return value


def _check_updates(model: Model, loss: str) -> None:
    if not _training(model).updates:
        raise LossUnknown(value=loss, found="no parameter that may be trained leads to it")


def _rate(training: Training, first: Update, model: Model) -> Any:
    if training.scheduler is not None:
        return training.scheduler
    return float(read_tensor(model.scope, first.learning_rate).reshape(-1)[0])


def _decay(training: Training) -> Any:
    """One regularizer for all; where parameters differ, the optimizer cannot be made again."""
    found = {update.regularizer for update in training.updates}
    if len(found) > 1:
        raise _unknown("its parameters have different regularizers")
    [decay] = found
    if decay is None:
        return None
    kinds = {L1: paddle.regularizer.L1Decay, L2: paddle.regularizer.L2Decay}
    return kinds[decay.kind](decay.coefficient)


def _clipper(training: Training) -> Any:
    if training.clip is None:
        return None
    kind, bound = training.clip
    known: dict[str, Callable[[float], Any]] = {
        "norm": paddle.nn.ClipGradByNorm,
        "global norm": paddle.nn.ClipGradByGlobalNorm,
    }
    if kind not in known:
        raise _unknown("its gradients are clipped in a way that is not known")
    return known[kind](bound)


def _unknown(found: str) -> OptimizerUnknown:
    return OptimizerUnknown(found=found, known=", ".join(_MAKERS))


def _adam(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: settings[name] for name in ("beta1", "beta2", "epsilon", "lazy_mode", "amsgrad")}
    return {**found, "multi_precision": settings["multi_precision"]}


def _adamw(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**_adam(settings), "weight_decay": settings["coeff"]}


def _momentum(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: settings[name] for name in ("use_nesterov", "multi_precision", "rescale_grad")}
    return {**found, "momentum": settings["mu"]}


def _rmsprop(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: settings[name] for name in ("epsilon", "momentum", "centered")}
    return {**found, "rho": settings["decay"]}


def _sgd(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"multi_precision": settings["multi_precision"]}


_MAKERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "adam": _adam,
    "adamw": _adamw,
    "momentum": _momentum,
    "rmsprop": _rmsprop,
    "sgd": _sgd,
}
_CLASSES: dict[str, Any] = {
    "adam": paddle.optimizer.Adam,
    "adamw": paddle.optimizer.AdamW,
    "momentum": paddle.optimizer.Momentum,
    "rmsprop": paddle.optimizer.RMSProp,
    "sgd": paddle.optimizer.SGD,
}
