"""`spokeshave inspect`: what a model is made of and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

import spokeshave
from spokeshave import graph, program
from spokeshave.cli import _late, _options, _output
from spokeshave.report import table

SHOWN_FILES = 3


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
    buffers: int
    parameter_bytes: int
    shapes: dict[str, tuple[int, ...]]
    macs: int
    uncounted: tuple[str, ...]
    ops: tuple[OpTotal, ...]
    heaviest: tuple[graph.NodeCost, ...]
    files: dict[str, int]


@click.command
@click.argument("model")
@click.option("--model-filename", "--model_filename", help="The program, where MODEL is a folder.")
@click.option("--params-filename", "--params_filename", help="The file of its weights.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    callback=lambda _, __, given: dict(map(_shape, given)),
    metavar="NAME=1,3,640,640",
    help="Count the cost for an input of that shape; repeat it for several inputs.",
)
@_options.as_json
def command(
    model: str,
    model_filename: str | None,
    params_filename: str | None,
    shapes: dict[str, tuple[int, ...]],
    as_json: bool,
) -> None:
    """Shows a model's inputs, outputs, operators, size and cost.

    MODEL is a folder that holds one model of Paddle 3, Paddle 2 or fluid, a path without ending, or a file
    of the model; what it is, is seen by what it holds.

    \b
    Example:
        spokeshave inspect demo/lenet
        spokeshave inspect inference.pdmodel --shape x=1,3,640,640
        spokeshave inspect old --model-filename model --params-filename weights

    \b
    JSON keys:
        model            the path that was given
        format           paddle-3, or paddle-2 (fluid's too)
        inputs, outputs  name, dtype and shape of each; -1 is any size
        parameters       how many weights the model has
        buffers          how many other numbers it stores, such as statistics of batch norms
        parameter_bytes  how many bytes the weights take
        shapes           the shapes of inputs that were given
        macs             multiply-accumulates for them, by default for one sample with open sizes of 1
        uncounted        kinds of op whose macs nobody knows; macs leaves them out
        ops              op, count, macs (null: unknown) and parameters of each kind, most macs first
        heaviest         the ten heaviest ops: node, op, macs, parameters, bytes
        files            name of each file of the model: its bytes
    """
    portrait = portrait_of(model, model_filename, params_filename, shapes)
    if as_json:
        _output.echo_json(asdict(portrait))
    else:
        click.echo("\n\n".join(_text(portrait)))


def portrait_of(
    path: str,
    model_filename: str | None = None,
    params_filename: str | None = None,
    shapes: dict[str, tuple[int, ...]] | None = None,
) -> Portrait:
    """Loads a model and counts what it has, for inputs of these shapes or a batch of one."""
    model = spokeshave.load(path, model_filename=model_filename, params_filename=params_filename)
    files = _late.find_files(path, model_filename=model_filename, params_filename=params_filename)
    cost = graph.cost(_late.shaped(model, shapes) if shapes else model.view)
    return Portrait(
        path,
        files.format,
        tuple(Tensor(v.id, v.dtype, v.shape) for v in model.inputs),
        tuple(_tensor(model, name, value) for name, value in model.view.outputs),
        cost.parameters,
        cost.buffers,
        cost.parameter_bytes,
        shapes or {},
        cost.macs,
        cost.uncounted,
        _totals(cost),
        tuple(node for node in cost.heaviest(10) if node.macs),
        {file.name: file.stat().st_size for file in (files.program, *files.weights)},
    )


def _shape(given: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = given.rpartition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(","))
    except ValueError:
        shape = ()
    if not name or min(shape, default=0) < 1:
        raise click.BadParameter(f"{given!r} is no name with a shape, such as x=1,3,640,640.")
    return name, shape


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
    sizes = [f"{name} {size:,} bytes" for name, size in portrait.files.items()]
    more = f" and {len(sizes) - SHOWN_FILES} more" if len(sizes) > SHOWN_FILES else ""
    is_lower_bound = "at least " if portrait.uncounted else ""
    return "\n".join(
        (
            portrait.model,
            f"  format: {portrait.format}",
            *(f"  input {_show(tensor)}" for tensor in portrait.inputs),
            *(f"  output {_show(tensor)}" for tensor in portrait.outputs),
            f"  parameters: {portrait.parameters:,} ({portrait.parameter_bytes:,} bytes){_buffers(portrait)}",
            f"  multiply-accumulates {_counted_for(portrait)}: {is_lower_bound}{portrait.macs:,}",
            f"  files: {', '.join(sizes[:SHOWN_FILES])}{more}",
        )
    )


def _buffers(portrait: Portrait) -> str:
    return f", and {portrait.buffers:,} other numbers" if portrait.buffers else ""


def _counted_for(portrait: Portrait) -> str:
    """What the cost was counted for; sizes that are left open count as one, which is to be seen."""
    if portrait.shapes:
        shapes = (f"{name} [{', '.join(map(str, shape))}]" for name, shape in portrait.shapes.items())
        return f"for {', '.join(shapes)}"
    is_open = any(size < 0 for tensor in portrait.inputs for size in tensor.shape[1:])
    return "with open sizes of 1 (give --shape)" if is_open else "for one sample"


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
