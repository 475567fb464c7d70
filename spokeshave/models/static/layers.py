"""The layers that static nets are made of: parameters and values have the names that Paddle 1 gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import paddle
from paddle import ParamAttr, static
from paddle.nn import functional, initializer
from paddle.utils import unique_name

from spokeshave.errors.models import NeedsStaticMode, NotPictures, ParameterTaken
from spokeshave.seams import Program, Value, name_value, named_values, parameter_ops


class Layers:
    """Layers that land in the program being built.

    A parameter that the program has already is shared, as it was in Paddle 1. Names that are not given count
    up by kind of layer (`conv2d_0`, `fc_1`), over all programs until `paddle.utils.unique_name.guard`.
    """

    def __init__(self, images: Value) -> None:
        if paddle.in_dynamic_mode():
            raise NeedsStaticMode(net="net")
        if len(images.shape) != 4 or images.shape[1] < 1:
            raise NotPictures(found=str(list(images.shape)))
        self._program: Program = static.default_main_program()
        self._taken = set(named_values(self._program))
        self._parameters = {name: op.result(0) for name, op in parameter_ops(self._program).items()}

    def conv(
        self,
        values: Value,
        out: int,
        kernel: int,
        *,
        weights: str,
        start: Any,
        stride: int = 1,
        groups: int = 1,
        name: str | None = None,
    ) -> Value:
        """A convolution without bias, padded so that stride 1 keeps height and width."""
        into = values.shape[1]
        filters = self._parameter(weights, [out, into // groups, kernel, kernel], start)
        found = functional.conv2d(values, filters, None, stride, (kernel - 1) // 2, groups=groups)
        is_depthwise = groups == into > 1
        self._name("depthwise_conv2d" if is_depthwise else "conv2d", {0: found}, name)
        return found

    def norm(self, values: Value, parameters: str, *, name: str | None = None, relu: bool = False) -> Value:
        """Batch norm in training mode, and a ReLU behind it if wanted.

        `parameters` is what `_scale`, `_offset`, `_mean` and `_variance` are put behind.
        """
        shape = [values.shape[1]]
        found = functional.batch_norm(
            values,
            self._parameter(f"{parameters}_mean", shape, initializer.Constant(0.0), trains=False),
            self._parameter(f"{parameters}_variance", shape, initializer.Constant(1.0), trains=False),
            self._parameter(f"{parameters}_scale", shape, initializer.Constant(1.0)),
            self._parameter(f"{parameters}_offset", shape, initializer.Constant(0.0)),
            training=True,
        )
        results = functional.relu(found) if relu else found
        # Paddle 1 counted the statistics of the batch first.
        self._name("batch_norm", {2: found, 3: results} if relu else {2: found}, name)
        return results

    def relu6(self, values: Value) -> Value:
        """Values between 0 and 6."""
        found = functional.relu6(values)
        self._name("relu6", {0: found})
        return found

    def add(self, values: Value, others: Value, *, name: str | None = None, relu: bool = False) -> Value:
        """A sum, and a ReLU behind it if wanted."""
        found = values + others
        results = functional.relu(found) if relu else found
        self._name("elementwise_add", {0: found, 1: results} if relu else {0: found}, name)
        return results

    def max_pool(self, values: Value) -> Value:
        """The largest of 3 by 3, at every other pixel."""
        found = functional.max_pool2d(values, 3, 2, padding=1)
        self._name("pool2d", {0: found})
        return found

    def mean(self, values: Value) -> Value:
        """The mean of each channel, whatever height and width are."""
        found = functional.adaptive_avg_pool2d(values, 1)
        self._name("pool2d", {0: found})
        return found

    def classes(
        self,
        values: Value,
        count: int,
        *,
        start: Any,
        weights: str | None = None,
        offset: str | None = None,
        name: str | None = None,
    ) -> Value:
        """A linear layer over all channels and its softmax."""
        codes = paddle.flatten(values, 1)
        layer = name or self._next("fc")
        matrix = self._parameter(weights or f"{layer}.w_0", [codes.shape[1], count], start)
        shift = self._parameter(offset or f"{layer}.b_0", [count], initializer.Constant(0.0))
        product = paddle.matmul(codes, matrix)
        scores = product + shift
        shares = functional.softmax(scores)
        self._name("fc", {0: product, 1: scores, 2: shares}, layer)
        return shares

    def _parameter(self, name: str, shape: Sequence[int], start: Any, *, trains: bool = True) -> Value:
        if name not in self._parameters:
            attr = ParamAttr(name=name, initializer=start, trainable=trains)
            made = static.create_parameter(list(shape), "float32", attr=attr)
            made.stop_gradient = not trains
            self._parameters[name] = made
        found = self._parameters[name]
        if list(found.shape) != list(shape):
            raise ParameterTaken(name=name, found=str(list(found.shape)), wanted=str(list(shape)))
        return found

    def _name(self, kind: str, values: Mapping[int, Value], name: str | None = None) -> None:
        """Names what a layer made: `values` by the number that Paddle 1 gave each."""
        prefix = name or self._next(kind)
        shift = 0
        while any(f"{prefix}.tmp_{number + shift}" in self._taken for number in values):
            shift += 1
        for number, value in values.items():
            full = f"{prefix}.tmp_{number + shift}"
            name_value(value, full)
            self._taken.add(full)

    def _next(self, kind: str) -> str:
        prefixes = {name.rpartition(".tmp_")[0] for name in self._taken}
        while True:
            made = unique_name.generate(kind)
            if made not in prefixes:
                return str(made)
