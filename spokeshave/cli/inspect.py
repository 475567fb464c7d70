"""`spokeshave inspect`: what a model is made of and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

import spokeshave
from spokeshave import graph, program
from spokeshave.cli import _late, _options, _output
from spokeshave.report import table


@dataclass(frozen=True)
class Tensor:
    """An input or output; -1 stands for any size."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class OpTotal:
    """All ops of one kind together. `macs` is None where they cannot be counted."""

    op: str
    count: int
    macs: int | None
    parameters: int


@dataclass(frozen=True)
class Portrait:
    """What `inspect` tells; the fields are the keys of its JSON."""

    model: str
    format: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parameters: int
    parameter_bytes: int
    macs: int
    uncounted: tuple[str, ...]
    ops: tuple[OpTotal, ...]
    heaviest: tuple[graph.NodeCost, ...]
    files: dict[str, int]


@click.command
@click.argument("model")
@click.option("--model-filename", "--model_filename", help="The program, where MODEL is a folder.")
@click.option("--params-filename", "--params_filename", help="The file of its weights.")
@_options.as_json
def command(model: str, model_filename: str | None, params_filename: str | None, as_json: bool) -> None:
    """Shows a model's inputs, outputs, operators, size and cost.

    MODEL is a folder that holds one model of Paddle 3, Paddle 2 or fluid, a path without ending, or a file
    of the model; what it is, is seen by what it holds.

    \b
    Example:
        spokeshave inspect demo/lenet
        spokeshave inspect inference.pdmodel
        spokeshave inspect old --model-filename model --params-filename weights

    \b
    JSON keys:
        model            the path that was given
        format           paddle-3, or paddle-2 (fluid's too)
        inputs, outputs  name, dtype and shape of each; -1 is any size
        parameters       how many numbers the model stores
        parameter_bytes  and how many bytes they take
        macs             multiply-accumulates for one sample
        uncounted        kinds of op whose macs nobody knows; macs leaves them out
        ops              op, count, macs (null: unknown) and parameters of each kind, most macs first
        heaviest         the ten heaviest ops: node, op, macs, parameters, bytes
        files            name of each file of the model: its bytes
    """
    portrait = portrait_of(model, model_filename, params_filename)
    if as_json:
        _output.echo_json(asdict(portrait))
    else:
        click.echo("\n\n".join(_text(portrait)))


def portrait_of(path: str, model_filename: str | None = None, params_filename: str | None = None) -> Portrait:
    """Loads a model and counts what it has, for a batch of one."""
    model = spokeshave.load(path, model_filename=model_filename, params_filename=params_filename)
    files = _late.find_files(path, model_filename=model_filename, params_filename=params_filename)
    cost = graph.cost(model.view)
    return Portrait(
        path,
        files.format,
        tuple(Tensor(v.id, v.dtype, v.shape) for v in model.inputs),
        tuple(_tensor(model, name, value) for name, value in model.view.outputs),
        cost.parameters,
        cost.parameter_bytes,
        cost.macs,
        cost.uncounted,
        _totals(cost),
        tuple(node for node in cost.heaviest(10) if node.macs),
        {file.name: file.stat().st_size for file in (files.program, *files.weights)},
    )


def _tensor(model: program.Model, name: str, value_id: str) -> Tensor:
    value = model.view.value(value_id)
    return Tensor(name, value.dtype, value.shape)


def _totals(cost: graph.Cost) -> tuple[OpTotal, ...]:
    kinds: dict[str, list[graph.NodeCost]] = {}
    for node in cost.nodes:
        kinds.setdefault(node.op, []).append(node)
    totals = [_total(op, nodes) for op, nodes in kinds.items()]
    return tuple(sorted(totals, key=lambda total: (-(total.macs or 0), -total.parameters, total.op)))


def _total(op: str, nodes: list[graph.NodeCost]) -> OpTotal:
    # Whether an op can be counted hangs on its kind alone, so the first speaks for all.
    macs = None if nodes[0].macs is None else sum(node.macs or 0 for node in nodes)
    return OpTotal(op, len(nodes), macs, sum(node.parameters for node in nodes))


def _text(portrait: Portrait) -> Iterator[str]:
    yield _head(portrait)
    rows = [(_short(t.op), t.count, t.macs, t.parameters) for t in portrait.ops]
    yield table(("op", "count", "macs", "parameters"), rows)
    if portrait.heaviest:
        yield _heaviest(portrait)
    if portrait.uncounted:
        yield f"Not counted, as nobody knows their cost: {', '.join(map(_short, portrait.uncounted))}"


def _head(portrait: Portrait) -> str:
    sizes = ", ".join(f"{name} {size:,} bytes" for name, size in portrait.files.items())
    is_lower_bound = "at least " if portrait.uncounted else ""
    return "\n".join(
        (
            portrait.model,
            f"  format: {portrait.format}",
            *(f"  input {_show(tensor)}" for tensor in portrait.inputs),
            *(f"  output {_show(tensor)}" for tensor in portrait.outputs),
            f"  parameters: {portrait.parameters:,} ({portrait.parameter_bytes:,} bytes)",
            f"  multiply-accumulates for one sample: {is_lower_bound}{portrait.macs:,}",
            f"  files: {sizes}",
        )
    )


def _heaviest(portrait: Portrait) -> str:
    rows = [
        (cost.node, _short(cost.op), cost.macs, f"{(cost.macs or 0) / portrait.macs:.1%}", cost.parameters)
        for cost in portrait.heaviest
    ]
    return "Heaviest:\n" + table(("node", "op", "macs", "share", "parameters"), rows)


def _show(tensor: Tensor) -> str:
    shape = ", ".join("any" if length < 0 else str(length) for length in tensor.shape)
    return f"{tensor.name}: {tensor.dtype} [{shape}]"


def _short(op: str) -> str:
    """The op as rules name it: `type:conv2d`."""
    return op.rsplit(".", 1)[-1].rstrip("_")
