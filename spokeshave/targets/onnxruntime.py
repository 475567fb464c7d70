"""ONNX Runtime on x86 CPUs."""

from spokeshave.numerics import INT8, INT8_NARROW, UINT8
from spokeshave.targets._placements import OUT, Placement, Rule, Target


def _activation(op: str, operand: str, rule: Rule) -> Placement:
    return Placement(op, operand, INT8, rule, nonnegative=UINT8)


def _weighted(op: str, data: str, weight: str) -> tuple[Placement, ...]:
    rule = Rule.CONSTANT_WEIGHT
    return (
        _activation(op, data, rule),
        Placement(op, weight, INT8_NARROW, rule, per_channel=True),
        _activation(op, OUT, rule),
    )


ONNXRUNTIME = Target(
    name="onnxruntime",
    doc=(
        "Pairs at every input and output of convolutions, products, residual adds, pools and concats, so that the "
        "integer kernels form; signed weights per output channel; unsigned activations where nothing is negative."
    ),
    placements=(
        *_weighted("pd_op.conv2d", "input", "filter"),
        *_weighted("pd_op.depthwise_conv2d", "input", "filter"),
        *_weighted("pd_op.matmul", "x", "y"),
        *(_activation("pd_op.add", operand, Rule.BETWEEN_ACTIVATIONS) for operand in ("x", "y", OUT)),
        *(_activation("pd_op.pool2d", operand, Rule.ALWAYS) for operand in ("x", OUT)),
        *(_activation("pd_op.concat", operand, Rule.ALWAYS) for operand in ("x", OUT)),
    ),
)
