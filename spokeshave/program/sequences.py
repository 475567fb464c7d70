"""Models of fluid that take sequences of different lengths, many in one tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import paddle

from spokeshave.graph.feeding import InputSpec, check_feed
from spokeshave.program.model import Model
from spokeshave.program.run_refused import run_refused
from spokeshave.seams import REFUSALS, static_mode
from spokeshave.seams.sequences import joined, taken_apart


def run_sequences(model: Model, feed: Mapping[str, Sequence[np.ndarray]]) -> dict[str, list[np.ndarray]]:
    """Runs a model on several sequences: for each input and output a list with an array per sequence.

    An output that has no sequences comes as a list of one array.

    >>> run_sequences(model, {"words": [np.array([[4], [2]]), np.array([[7]])]})    # doctest: +SKIP
    """
    specs = [InputSpec.of(value) for value in model.inputs]
    together = {name: np.concatenate(list(parts)) for name, parts in feed.items()}
    check_feed(specs, together)
    fed = {name: joined(together[name], [len(part) for part in parts]) for name, parts in feed.items()}
    names = [name for name, _ in model.view.outputs]
    with static_mode(), paddle.static.scope_guard(model.scope):
        executor = paddle.static.Executor(paddle.CPUPlace())
        try:
            targets = [model.target(name) for name in names]
            found = executor.run(model.program, feed=fed, fetch_list=targets, return_numpy=False)
        except REFUSALS as error:
            raise run_refused(model.view, error) from error
    return {name: taken_apart(tensor) for name, tensor in zip(names, found)}
