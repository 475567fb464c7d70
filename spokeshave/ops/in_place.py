"""Ops that write their result over their first operand, as old programs have them that reuse a variable.

A program that Paddle 3 traces has none: there `relu_` of Python makes `pd_op.relu`.
"""

from __future__ import annotations

from spokeshave.ops import activation, elementwise, reduce, shape
from spokeshave.ops._facts import OpFacts, in_place


def _over_x(row: OpFacts) -> OpFacts:
    return in_place(row, {"out": "x"})


RELU = _over_x(activation.RELU)
LEAKY_RELU = _over_x(activation.LEAKY_RELU)
ELU = _over_x(activation.ELU)
HARDTANH = _over_x(activation.HARDTANH)
SIGMOID = _over_x(activation.SIGMOID)
SILU = _over_x(activation.SILU)
TANH = _over_x(activation.TANH)
SOFTMAX = _over_x(activation.SOFTMAX)
ADD = _over_x(elementwise.ADD)
SUBTRACT = _over_x(elementwise.SUBTRACT)
MULTIPLY = _over_x(elementwise.MULTIPLY)
DIVIDE = _over_x(elementwise.DIVIDE)
FLOOR_DIVIDE = _over_x(elementwise.FLOOR_DIVIDE)
REMAINDER = _over_x(elementwise.REMAINDER)
POW = _over_x(elementwise.POW)
SCALE = _over_x(elementwise.SCALE)
CLIP = _over_x(elementwise.CLIP)
ABS = _over_x(elementwise.ABS)
ROUND = _over_x(elementwise.ROUND)
FLOOR = _over_x(elementwise.FLOOR)
CEIL = _over_x(elementwise.CEIL)
SQUARE = _over_x(elementwise.SQUARE)
SQRT = _over_x(elementwise.SQRT)
RSQRT = _over_x(elementwise.RSQRT)
RECIPROCAL = _over_x(elementwise.RECIPROCAL)
EXP = _over_x(elementwise.EXP)
LOG = _over_x(elementwise.LOG)
ERF = _over_x(elementwise.ERF)
SIN = _over_x(elementwise.SIN)
COS = _over_x(elementwise.COS)
DROPOUT = _over_x(elementwise.DROPOUT)
RESHAPE = _over_x(shape.RESHAPE)
FLATTEN = _over_x(shape.FLATTEN)
SQUEEZE = _over_x(shape.SQUEEZE)
UNSQUEEZE = _over_x(shape.UNSQUEEZE)
TRANSPOSE = _over_x(shape.TRANSPOSE)
CUMSUM = _over_x(reduce.CUMSUM)
