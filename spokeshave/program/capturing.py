"""A layer into a `Model`, as its modes stand or in the form that is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle

from spokeshave.errors.capturing import LayerNotCapturable, NotALayer, SpecNotUnderstood
from spokeshave.program.layering import ProgramLayer
from spokeshave.program.model import Model
from spokeshave.seams import (
    Traced,
    Value,
    dynamic_mode,
    is_value,
    modes_kept,
    rename_parameter,
    trace,
    write_tensor,
    written_forward,
)

OUTPUT = "output"


def capture(layer: Any, specs: Any = (), *, training: bool | None = None) -> Model:
    """What a layer computes as a model of its own, with a copy of its numbers; the layer stays as it is.

    `specs` describe the arguments of `forward`, in order or by name: an `InputSpec`, a shape (None where any
    size fits), a tensor or array to take the shape and type from, or containers of these. What is no tensor
    is passed as it is. `training` puts every sublayer into that mode for the while; None leaves the modes as
    they are. Outputs are called `output`, or after their place: `output_0`, `scores`, `boxes_1`.

    >>> net = paddle.nn.Linear(4, 2)                       # doctest: +SKIP
    >>> model = capture(net, [[None, 4]], training=False)  # doctest: +SKIP
    """
    if not isinstance(layer, paddle.nn.Layer):
        raise NotALayer(given=type(layer).__name__)
    if isinstance(layer, ProgramLayer):
        return layer.model(training=layer.training if training is None else training)
    with _mode(layer, training), dynamic_mode():
        traced = _trace(layer, _input_specs(layer, specs))
    return _model_of(layer, traced)


@contextmanager
def _mode(layer: Any, training: bool | None) -> Iterator[None]:
    with modes_kept(layer):
        if training is not None:
            (layer.train if training else layer.eval)()
        yield


def _trace(layer: Any, specs: Sequence[Any]) -> Traced:
    try:
        return trace(layer, specs)
    except Exception as error:
        raise LayerNotCapturable(layer=type(layer).__name__, detail=_last_words(error)) from error


def _last_words(error: Exception) -> str:
    """What an error says, on one line; Paddle puts what matters last, behind an excerpt of the code."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("[Hint", "(at ", "File "))]
    words = said[-1] if said else ""
    return f"{type(error).__name__}: {words}".rstrip(" .:")


def _model_of(layer: Any, traced: Traced) -> Model:
    fetches = tuple(_named(traced.outputs, ""))
    if not fetches:
        raise LayerNotCapturable(layer=type(layer).__name__, detail="its forward gives no tensor")
    scope = paddle.static.Scope()
    for name, tensor in _parameter_names(traced):
        write_tensor(scope, name, np.asarray(tensor.numpy()))
    return Model(traced.program, scope, fetches)


def _parameter_names(traced: Traced) -> Iterator[tuple[str, Any]]:
    """A name for each parameter; where two layers gave the same one, the second gets another.

    A program reads parameters by name, so that one of the two would be lost.
    """
    taken: set[str] = set()
    for tensor, value in traced.parameters:
        name, count = tensor.name, 0
        while name in taken:
            count += 1
            name = f"{tensor.name}.{count}"
        if name != tensor.name:
            rename_parameter(value, name)
        taken.add(name)
        yield name, tensor


def _named(nested: Any, name: str) -> Iterator[tuple[str, Value]]:
    """The values in what `forward` gave, each with a name that tells its place."""
    if is_value(nested):
        yield name or OUTPUT, nested
    elif isinstance(nested, Mapping):
        for key, part in nested.items():
            yield from _named(part, f"{name}_{key}" if name else str(key))
    elif isinstance(nested, (list, tuple)):
        for i, part in enumerate(nested):
            yield from _named(part, f"{name or OUTPUT}_{i}")


def _input_specs(layer: Any, specs: Any) -> list[Any]:
    """Specs as Paddle takes them, each with a name."""
    arguments = _arguments(layer)
    if isinstance(specs, Mapping):
        unknown = [name for name in specs if name not in arguments]
        if unknown:
            detail = f"its forward has no argument {unknown[0]!r}; it has {', '.join(arguments) or 'none'}"
            raise LayerNotCapturable(layer=type(layer).__name__, detail=detail)
        last = max(arguments.index(name) for name in specs) if specs else -1
        missing = [name for name in arguments[: last + 1] if name not in specs]
        if missing:
            detail = f"there is no spec for its argument {missing[0]!r}"
            raise LayerNotCapturable(layer=type(layer).__name__, detail=detail)
        specs = [specs[name] for name in arguments[: last + 1]]
    names = [*arguments, *(f"x{i}" for i in range(len(specs)))]
    return [_spec(spec, name) for spec, name in zip(specs, names)]


def _arguments(layer: Any) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(written_forward(layer)).parameters.values() if p.kind in kinds][
        1:
    ]


def _spec(given: Any, name: str) -> Any:
    if isinstance(given, paddle.static.InputSpec):
        return paddle.static.InputSpec(
            list(given.shape), given.dtype, given.name or name, given.stop_gradient
        )
    if _is_shape(given):
        return paddle.static.InputSpec(list(given), "float32", name)
    if isinstance(given, (paddle.Tensor, np.ndarray)):
        return paddle.static.InputSpec(list(given.shape), str(given.dtype).rsplit(".", 1)[-1], name)
    return _container(given, name)


def _container(given: Any, name: str) -> Any:
    if isinstance(given, Mapping):
        return {key: _spec(part, str(key)) for key, part in given.items()}
    if isinstance(given, (list, tuple)) and given:
        return type(given)(_spec(part, f"{name}_{i}") for i, part in enumerate(given))
    if given is None or isinstance(given, (bool, int, float, str)):
        return given
    raise SpecNotUnderstood(input=name, given=repr(given)[:60])


def _is_shape(given: Any) -> bool:
    is_list = isinstance(given, (list, tuple)) and len(given) > 0
    return is_list and all(n is None or (isinstance(n, int) and not isinstance(n, bool)) for n in given)
