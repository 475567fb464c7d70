"""ONNX Runtime on x86 CPUs."""

from spokeshave.numerics import INT8, INT8_NARROW, UINT8
from spokeshave.targets._placements import OUT, Placement, Rule, Target


def _activation(op: str, operand: str, rule: Rule) -> Placement:
    return Placement(op, operand, INT8, rule, nonnegative=UINT8)


def _weighted(op: str, data: str, weight: str) -> tuple[Placement, ...]:
    rule = Rule.CONSTANT_WEIGHT
    return _activation(op, data, rule), Placement(op, weight, INT8_NARROW, rule, per_channel=True)


ONNXRUNTIME = Target(
    name="onnxruntime",
    doc=(
        "Pairs at every input and output of convolutions, residual adds, pools and concats, and at the input "
        "of products, so that the integer kernels form; signed weights per output channel; unsigned "
        "activations where nothing is negative. HardSwish and HardSigmoid run in float between pairs: "
        "without the pair before it their convolution would be a float one, and MobileNetV3 took three times "
        "as long. So does the product of squeeze-excite: pairs round it made nothing faster there and cost "
        "up to 0.4 dB."
    ),
    placements=(
        *_weighted("pd_op.conv2d", "input", "filter"),
        _activation("pd_op.conv2d", OUT, Rule.CONSTANT_WEIGHT),
        *_weighted("pd_op.depthwise_conv2d", "input", "filter"),
        _activation("pd_op.depthwise_conv2d", OUT, Rule.CONSTANT_WEIGHT),
        # The integer product gives float by itself; rounding the logits would only cost accuracy.
        *_weighted("pd_op.matmul", "x", "y"),
        *(_activation("pd_op.add", operand, Rule.BETWEEN_ACTIVATIONS) for operand in ("x", "y", OUT)),
        *(_activation("pd_op.pool2d", operand, Rule.ALWAYS) for operand in ("x", OUT)),
        *(_activation("pd_op.concat", operand, Rule.ALWAYS) for operand in ("x", OUT)),
    ),
)
