"""Paddle's seams: the only room that says `paddle.base`, `paddle.pir` or a private name.

Tested with Paddle 3.3.1; what is said here about its behaviour was seen there.
"""

from spokeshave.seams.handles import Operation, Program, Scope, Value
from spokeshave.seams.modes import TESTED_VERSIONS, building, static_mode
from spokeshave.seams.programs import (
    all_ops,
    attributes,
    clone,
    descended,
    dtype_name,
    erase,
    inner_ops,
    insert_after,
    insert_before,
    is_absent,
    new_constant,
    new_fetch,
    new_parameter,
    operand_names,
    parameter_ops,
    result_names,
    set_shape,
    set_test_mode,
    taken_apart_on_failure,
)
from spokeshave.seams.storage import REFUSALS, read_program, words_of, write_program
from spokeshave.seams.tensors import erase_tensors, has_tensor, read_tensor, tensor_names, write_tensor

__all__ = [
    "REFUSALS",
    "TESTED_VERSIONS",
    "Operation",
    "Program",
    "Scope",
    "Value",
    "all_ops",
    "attributes",
    "building",
    "clone",
    "descended",
    "dtype_name",
    "erase",
    "erase_tensors",
    "has_tensor",
    "inner_ops",
    "insert_after",
    "insert_before",
    "is_absent",
    "new_constant",
    "new_fetch",
    "new_parameter",
    "operand_names",
    "parameter_ops",
    "read_program",
    "read_tensor",
    "result_names",
    "set_shape",
    "set_test_mode",
    "static_mode",
    "taken_apart_on_failure",
    "tensor_names",
    "words_of",
    "write_program",
    "write_tensor",
]
