"""Paddle's seams: the only room that says `paddle.base`, `paddle.pir` or a private name.

Tested with Paddle 3.3.1; what is said here about its behaviour was seen there.
"""

from spokeshave.seams.handles import Operation, Program, Scope, Value
from spokeshave.seams.kinds import BLOCK, PROGRAM, VALUE
from spokeshave.seams.lineage import clone, counterpart, descended
from spokeshave.seams.modes import TESTED_VERSIONS, building, static_mode
from spokeshave.seams.naming import (
    made_name,
    name_all,
    name_of,
    name_value,
    named_value,
    named_values,
    program_of,
)
from spokeshave.seams.programs import (
    all_ops,
    attributes,
    dtype_name,
    erase,
    insert_after,
    insert_before,
    is_absent,
    new_fetch,
    new_parameter,
    operand_names,
    parameter_ops,
    result_names,
    set_test_mode,
    taken_apart_on_failure,
)
from spokeshave.seams.scopes import in_scope
from spokeshave.seams.storage import REFUSALS, read_program, words_of, write_program
from spokeshave.seams.tensors import erase_tensors, has_tensor, read_tensor, tensor_names, write_tensor

__all__ = [
    "BLOCK",
    "PROGRAM",
    "REFUSALS",
    "TESTED_VERSIONS",
    "VALUE",
    "Operation",
    "Program",
    "Scope",
    "Value",
    "all_ops",
    "attributes",
    "building",
    "clone",
    "counterpart",
    "descended",
    "dtype_name",
    "erase",
    "erase_tensors",
    "has_tensor",
    "in_scope",
    "insert_after",
    "insert_before",
    "is_absent",
    "made_name",
    "name_all",
    "name_of",
    "name_value",
    "named_value",
    "named_values",
    "new_fetch",
    "new_parameter",
    "operand_names",
    "parameter_ops",
    "program_of",
    "read_program",
    "read_tensor",
    "result_names",
    "set_test_mode",
    "static_mode",
    "taken_apart_on_failure",
    "tensor_names",
    "words_of",
    "write_program",
    "write_tensor",
]
