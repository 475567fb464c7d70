"""What the base costs: importing, starting the command line, a pass, loading and saving."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import paddle
from _record import Row, finish, options

from spokeshave import models
from spokeshave.files import _disk, sums
from spokeshave.program import PASSES, Editor, Model, load, rewrite, rewriting, save, saving
from spokeshave.program import model as model_room

SEED = 0
LAYERS = 100  # of convolution, batch norm and ReLU: 300 ops
REPEATS, QUICK_REPEATS = 15, 3
Times = list[float]
ARRAYS = [("arrays", home, f"{act}_tensor") for home in (model_room, rewriting) for act in ("read", "write")]
ARRAYS += [("arrays", home, name) for home, name in ((model_room, "view_tensor"), (rewriting, "view_tensor"))]
ARRAYS.append(("arrays", rewriting, "write_rows"))
DISK = [("disk", _disk, "sync"), ("checksums", sums, "digest"), ("checksums", saving, "sums_text")]


def main() -> None:
    """Measures all."""
    chosen = options(__doc__ or "")
    repeats = QUICK_REPEATS if chosen.quick else REPEATS
    paddle.seed(SEED)
    rows = [*starting(repeats), *passes(repeats)]
    with tempfile.TemporaryDirectory() as folder:
        rows += storage(Path(folder), repeats)
        rows += memory(Path(folder))
    finish("program", rows, chosen, seeds=[SEED])


def starting(repeats: int) -> Iterator[Row]:
    """Whole processes, the interpreter's own start included."""
    commands = {
        "import spokeshave": [sys.executable, "-c", "import spokeshave"],
        "spokeshave --help": [sys.executable, "-m", "spokeshave.cli", "--help"],
    }
    times = taken_in_turns({name: partial(ran, command) for name, command in commands.items()}, repeats)
    for name, seconds in times.items():
        yield row("start", name, seconds, "s", 0.5)


def ran(command: list[str]) -> None:
    """One process, to its end."""
    subprocess.run(command, check=True, capture_output=True)


def passes(repeats: int) -> Iterator[Row]:
    """Passes over 300 ops whose arrays are tiny, so that what is left is the pass itself."""
    model = deep_model()
    yield Row("pass over a long program", "ops", op_count(model))
    work: dict[str, Callable[[], object]] = {
        "a pass that finds nothing": partial(rewrite, model, PASSES["untranspose-weight"]),
        "an edit that changes nothing": lambda: Editor(model).finish("nothing"),
    }
    for name, layer in LAYERS_FOR.items():
        busy = long_model(layer, OPS_IN[name])
        changed = len(rewrite(busy, PASSES[name]).changed)
        yield Row("pass over a long program", f"{name}, ops", op_count(busy))
        yield Row("pass over a long program", f"{name}, places changed", changed)
        work[name] = partial(rewrite, busy, PASSES[name])
    for what, call in work.items():
        call()
        own: Times = []
        arrays: Times = []
        for _ in range(repeats):
            with apart(ARRAYS) as spent:
                total = seconds_of(call)
            arrays.append(1000 * spent["arrays"])
            own.append(1000 * total - arrays[-1])
        yield row("pass over a long program", f"{what}, its arrays apart", own, "ms", 50)
        yield row("pass over a long program", f"{what}, its arrays", arrays, "ms")


def op_count(model: Model) -> int:
    """How many ops a model has, constants apart."""
    return sum(not node.op.startswith("pd_op.full") for node in model.view.nodes)


def dead(x: Any) -> Any:
    """Something that nobody reads beside something that is."""
    paddle.tanh(x)
    return paddle.exp(x)


# For each pass a layer, of [any, 2, 8, 8], that gives it something to do, and how many ops that has.
LAYERS_FOR: dict[str, Callable[[Any], Any]] = {
    "drop-dead-ops": dead,
    "drop-dropout": lambda x: paddle.nn.functional.dropout(paddle.exp(x), 0.5),
    "drop-identities": lambda x: paddle.assign(paddle.exp(x)),
    "fold-batch-norm": lambda x: paddle.exp(
        paddle.nn.BatchNorm2D(2)(paddle.nn.Conv2D(2, 2, 1, bias_attr=False)(x))
    ),
    "fold-constants": lambda x: paddle.reshape(x, [paddle.shape(x)[0], -1, 8, 8]),
    "untranspose-weight": lambda x: paddle.matmul(x, paddle.t(paddle.create_parameter([8, 8], "float32"))),
}
OPS_IN = {**dict.fromkeys(LAYERS_FOR, 2), "fold-batch-norm": 3, "fold-constants": 4}


def long_model(layer: Callable[[Any], Any], ops: int) -> Model:
    """A layer over and over, until there are 300 ops, in test mode."""
    program, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    paddle.enable_static()
    with paddle.static.program_guard(program, startup), paddle.static.scope_guard(scope):
        x = paddle.static.data("x", [None, 2, 8, 8], "float32")
        for _ in range(3 * LAYERS // ops):
            x = layer(x)
        paddle.static.Executor(paddle.CPUPlace()).run(startup)
    paddle.disable_static()
    program.set_is_test_attr()
    return Model.of(program, {"y": x}, scope).owned()


def deep_model() -> Model:
    """Convolution, batch norm and ReLU, a hundred times over, two channels wide."""
    layers: list[Any] = []
    for _ in range(LAYERS):
        layers += [
            paddle.nn.Conv2D(2, 2, 3, padding=1, bias_attr=False),
            paddle.nn.BatchNorm2D(2),
            paddle.nn.ReLU(),
        ]
    return saved_and_loaded(paddle.nn.Sequential(*layers), [None, 2, 8, 8])


def saved_and_loaded(net: Any, shape: list[int | None]) -> Model:
    """A net in test mode, by way of the disk."""
    net.eval()
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(net, f"{folder}/model", [paddle.static.InputSpec(shape, "float32", "image")])
        return load(folder)


def storage(folder: Path, repeats: int) -> Iterator[Row]:
    """Loading and saving ResNet50 beside Paddle's own calls, in turns; checksums and disk apart."""
    model = saved_and_loaded(models.create("resnet50"), [None, 3, 224, 224])
    save(model, folder / "ours")
    paddle.enable_static()
    executor = paddle.static.Executor(paddle.CPUPlace())
    feeds = [model.picture.values[name] for name in model.view.inputs]
    fetches = [value for _, value in model.fetches]

    def paddle_load() -> None:
        with paddle.static.scope_guard(paddle.static.Scope()):
            paddle.static.load_inference_model(str(folder / "ours"), executor)

    def paddle_save() -> None:
        with paddle.static.scope_guard(model.scope):
            path = str(folder / "theirs")
            paddle.static.save_inference_model(path, feeds, fetches, executor, program=model.program)

    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "load": (lambda: load(folder / "ours"), paddle_load),
        "save": (lambda: save(model, folder / "ours"), paddle_save),
    }
    for what, (ours, theirs) in pairs.items():
        yield from against_paddle(f"{what} ResNet50", ours, theirs, repeats)
    paddle.disable_static()


# What runs in a process of its own: one step, and what it took at its peak beyond what was there before.
STEP = """
import sys
from pathlib import Path
from dataclasses import replace
from spokeshave.program import PASSES, Editor, load, rewrite, save
def kilobytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(field + ":")))
step, path, warm = sys.argv[1:]
save(rewrite(load(warm), PASSES["fold-batch-norm"]).model, f"{warm}/again/m")
model = None if step == "load" else load(path)
if model:
    # An edit that copies no weights: what programs and views take is there from then on.
    Editor(replace(model, borrows=True)).finish("nothing")
before = kilobytes("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
if step == "load":
    load(path)
elif step == "save":
    save(model, f"{path}-saved")
else:
    folded = rewrite(model, PASSES[step]).model
print(1024 * (kilobytes("VmHWM") - before))
"""


def memory(folder: Path) -> Iterator[Row]:
    """How often the weights of ResNet50 lie in memory at most, while it is loaded, saved, rewritten."""
    (folder / "warm").mkdir()
    small = paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.BatchNorm2D(8))
    small.eval()
    spec = [paddle.static.InputSpec([None, 3, 8, 8], "float32", "image")]
    paddle.jit.save(small, str(folder / "warm/m"), spec)
    weights = (folder / "ours.pdiparams").stat().st_size
    for step in ("load", "save", "fold-batch-norm"):
        command = [sys.executable, "-c", STEP, step, str(folder / "ours"), str(folder / "warm")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        taken = int(done.stdout.split()[-1]) / weights
        # What is there before is one copy, but when it is only being loaded. To a tenth, which is the size of
        # the largest layer: the process grows by what its allocator pads tensors with, too.
        copies = round(taken + (step != "load"), 1)
        yield Row("memory, ResNet50", f"{step}, copies of the weights", copies, "x", None, 2.0)
        yield Row("memory, ResNet50", f"{step}, growth of the process", taken, "x")


def against_paddle(
    case: str, ours: Callable[[], object], theirs: Callable[[], object], repeats: int
) -> Iterator[Row]:
    """One call beside Paddle's, without the checksums and waits that Paddle's does not have."""
    own: Times = []
    checksums: Times = []
    waits: Times = []
    others: Times = []
    for call in (ours, theirs):
        call()
    for _ in range(repeats):
        with apart(DISK) as spent:
            total = seconds_of(ours)
        checksums.append(1000 * spent["checksums"])
        waits.append(1000 * spent["disk"])
        own.append(1000 * total - checksums[-1] - waits[-1])
        others.append(1000 * seconds_of(theirs))
    yield row(case, "ours, without checksums and waits", own, "ms")
    yield row(case, "Paddle's", others, "ms")
    yield row(case, "ours to Paddle's", [a / b for a, b in zip(own, others)], "x", 2.0)
    yield row(case, "checksums", checksums, "ms")
    yield row(case, "waits for the disk", waits, "ms")


@contextmanager
def apart(places: Sequence[tuple[str, Any, str]]) -> Iterator[dict[str, float]]:
    """Times what is called inside at these places (what it is, where it stands, its name), by what it is."""
    spent = dict.fromkeys((what for what, _, _ in places), 0.0)

    def timed(what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*args)
            finally:
                spent[what] += time.perf_counter() - start

        return run

    with ExitStack() as stack:
        for what, home, name in places:
            stack.enter_context(mock.patch.object(home, name, timed(what, getattr(home, name))))
        yield spent


def taken_in_turns(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, Times]:
    """Seconds of each call, in turns, several times over, after one that does not count."""
    for call in calls.values():
        call()
    found: dict[str, Times] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            found[name].append(seconds_of(call))
    return found


def seconds_of(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def row(case: str, metric: str, times: Times, unit: str, bar: float | None = None) -> Row:
    """The median of the repeats, with a tenth of them below and above the spread."""
    low, high = (float(q) for q in np.quantile(times, (0.1, 0.9)))
    return Row(case, metric, statistics.median(times), unit, (low, high), bar)


if __name__ == "__main__":
    main()
