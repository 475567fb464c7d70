"""Views built by hand for the tests of this room."""

from __future__ import annotations

from spokeshave.graph import GraphView, ViewBuilder

CONV = {"strides": (1, 1), "paddings": (1, 1), "dilations": (1, 1), "groups": 1, "data_format": "NCHW"}
SIDE = 8


class Net:
    """A net that is being built: each method adds a layer and gives the id of its result."""

    def __init__(self, channels: int = 3) -> None:
        self.build = ViewBuilder()
        self.image = self.build.input("image", (-1, channels, SIDE, SIDE))

    def conv(
        self, x: str, name: str, into: int, out: int, *, has_bias: bool = True, dtype: str = "float32"
    ) -> str:
        """A convolution on a weight of its own, with its bias behind a reshape as Paddle writes it."""
        weight = self.build.parameter(f"{name}.w", (out, into, 3, 3), dtype)
        result = self.conv_on(x, weight, out, dtype=dtype)
        return self.bias(result, f"{name}.b", out) if has_bias else result

    def conv_on(self, x: str, weight: str, out: int, *, dtype: str = "float32") -> str:
        """A convolution on a weight that is there already."""
        shape = (-1, out, SIDE, SIDE)
        return self.build.node(
            "pd_op.conv2d", {"input": x, "filter": weight}, {"out": shape}, CONV, dtype=dtype
        )

    def bias(self, x: str, name: str, out: int) -> str:
        """A bias of the convolution before it."""
        where = self.build.node("pd_op.full_int_array", {}, {"out": (4,)}, {"value": (1, out, 1, 1)})
        given = {"x": self.build.parameter(name, (out,)), "shape": where}
        column = self.build.node("pd_op.reshape", given, {"out": (1, out, 1, 1)})
        return self.build.node("pd_op.add", {"x": x, "y": column}, {"out": (-1, out, SIDE, SIDE)})

    def unary(self, op: str, x: str, channels: int, **attrs: object) -> str:
        """An op of one operand that keeps the shape."""
        return self.build.node(f"pd_op.{op}", {"x": x}, {"out": (-1, channels, SIDE, SIDE)}, attrs)

    def add(self, x: str, y: str, channels: int) -> str:
        """The sum of two values."""
        return self.build.node("pd_op.add", {"x": x, "y": y}, {"out": (-1, channels, SIDE, SIDE)})

    def pad(self, x: str, channels: int, *, value: float = 0.0) -> str:
        """Two more channels on either side, filled with a number."""
        filling = self.build.node("pd_op.full", {}, {"out": (1,)}, {"shape": (1,), "value": value})
        shape = {"out": (-1, channels + 4, SIDE, SIDE)}
        attrs = {"paddings": (0, 0, 2, 2, 0, 0, 0, 0)}
        return self.build.node("pd_op.pad", {"x": x, "pad_value": filling}, shape, attrs)

    def flat(self, x: str, channels: int) -> str:
        """All but the batch in one axis."""
        shape = {"out": (-1, channels * SIDE * SIDE)}
        return self.build.node("pd_op.flatten", {"x": x}, shape, {"start_axis": 1, "stop_axis": 3})

    def product(self, x: str, y: str, out: int, **attrs: object) -> str:
        """A matrix product."""
        return self.build.node("pd_op.matmul", {"x": x, "y": y}, {"out": (-1, out)}, attrs)

    def view(self, *outputs: str) -> GraphView:
        """The finished net; its outputs are `out0`, `out1` …"""
        return self.build.view({f"out{i}": value for i, value in enumerate(outputs)})


def two_convs() -> GraphView:
    """conv with bias and relu, then conv with bias, then relu, then max pool, flatten and a product."""
    net = Net()
    first = net.unary("relu", net.conv(net.image, "first", 3, 4), 4)
    second = net.unary("relu", net.conv(first, "second", 4, 6), 6)
    pooled = net.unary("pool2d", second, 6, pooling_type="max")
    weight = net.build.parameter("head.w", (6 * SIDE * SIDE, 5))
    return net.view(net.product(net.flat(pooled, 6), weight, 5))
