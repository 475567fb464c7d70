"""Names of values: on the op that makes the value, so that Paddle's own clone carries them along."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from threading import RLock

from spokeshave.errors.compat import ValueNameTaken, ValueNotNameable
from spokeshave.seams.handles import Operation, Program, Value
from spokeshave.seams.programs import VALUE_NAME, all_ops, is_absent

_LEDGER = "spokeshave_names"
_NUMBERED = re.compile(r"(?P<kind>.+)_(?P<number>\d+)\.tmp_\d+")

# What Paddle names by itself, and the attribute that holds the name.
_NAMED_BY_PADDLE = {"builtin.parameter": "parameter_name", "pd_op.data": "name", "pd_op.feed": "name"}

# Ops that give a name to what they read.
_NAMES_ITS_OPERAND = {"builtin.set_parameter": "parameter_name", "builtin.shadow_output": "output_name"}

# Ops that hand out the parts of a list, which Paddle 2 had no ops for.
_TAKES_APART = ("builtin.split", "builtin.slice")

# What Paddle 2 called an op in the names of its results, where that was not what it is called in Paddle 3.
_OLD_KINDS = {
    "add": "elementwise_add",
    "cross_entropy_with_softmax": "softmax_with_cross_entropy",
    "divide": "elementwise_div",
    "floor_divide": "elementwise_floordiv",
    "full": "fill_constant",
    "full_like": "fill_any_like",
    "if": "cond",
    "matmul": "matmul_v2",
    "maximum": "elementwise_max",
    "minimum": "elementwise_min",
    "multiply": "elementwise_mul",
    "remainder": "elementwise_mod",
    "reshape": "reshape2",
    "split_with_num": "split",
    "squeeze": "squeeze2",
    "subtract": "elementwise_sub",
    "topk": "top_k_v2",
    "unsqueeze": "unsqueeze2",
    "while": "while_loop",
}
# Paddle 2 numbered what an op remembers before what it hands on.
_NUMBERS = {"batch_norm": (2, 4, 5, 0, 1, 3), "sync_batch_norm": (2, 4, 5, 0, 1, 3), "layer_norm": (2, 0, 1)}


class _Attributes(dict[int, str]):
    """The attribute for a result by its number, spelt once: formatting takes longer than all else here."""

    def __missing__(self, index: int) -> str:
        return self.setdefault(index, f"{VALUE_NAME}{index}")


_ATTRIBUTES = _Attributes()

# Two threads that name at once would give one name twice.
_LOCK = RLock()


@dataclass
class _Ledger:
    """The names that a program has given out, those of erased values too: none is given twice."""

    taken: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    # Paddle's clone hands the attributes of the Python object on: this ledger may be another program's.
    owner: int = 0
    last: int = 0

    def take(self, name: str) -> None:
        self.taken.add(name)
        numbered = _NUMBERED.fullmatch(name)
        if numbered:
            kind, number = numbered["kind"], int(numbered["number"])
            self.kinds[kind] = max(self.kinds[kind], number + 1)

    def prefix(self, kind: str) -> str:
        return f"{kind}_{self.kinds[kind]}"

    def free(self, prefix: str, number: int) -> str:
        while f"{prefix}.tmp_{number}" in self.taken:
            number += 1
        return f"{prefix}.tmp_{number}"


def name_value(value: Value, name: str) -> None:
    """Gives a value a name, in place of the one it may have; clones of its program have it too.

    No other value of the program may have that name. An input is fed by it afterwards. Parameters and
    accumulators have their names from Paddle, for a scope keeps them under these.
    """
    if name_of(value) == name:
        return
    op = _maker(value)
    if op is None or (op.name() in _NAMED_BY_PADDLE and value.persistable):
        raise ValueNotNameable(value=str(name_of(value)), name=name)
    with _LOCK:
        program = program_of(value)
        _check_free(program, name)
        _ledger(program).take(name)
        op.set_str_attr(_attribute(op, value.index()), name)


def name_values(names: Iterable[tuple[Value, str]]) -> None:
    """Gives values that have no name yet names that no other value of their program has, many at once."""
    with _LOCK:
        for value, name in names:
            op = _maker(value)
            if op is not None and op.name() not in _NAMED_BY_PADDLE and name_of(value) is None:
                op.set_str_attr(_attribute(op, value.index()), name)
                _ledger(program_of(value)).take(name)


def name_of(value: Value) -> str | None:
    """The name that a value has, or None where it was given none yet: cheap, and changes nothing."""
    op = _maker(value)
    if op is None:
        return None
    return str(value._names[0]) if value.has_name else _name_at(op, value.index())


def made_name(value: Value) -> str | None:
    """The name of a value, made up where it has none yet; None for a value that no op makes.

    It is made as Paddle 2 made it: `relu_0.tmp_0`, counted by the kind of the op in the order of the program.
    All values before it get theirs too, so that names do not hang on which is asked for first.
    """
    if name_of(value) is None and _maker(value) is not None:
        name_all(program_of(value), since_last=True)
        if name_of(value) is None:  # it was inserted among others that have theirs
            name_all(program_of(value))
    return name_of(value)


def name_all(program: Program, *, since_last: bool = False) -> None:
    """Names every value that has no name; with `since_last` only behind the op that was the last before."""
    with _LOCK:
        ledger = _ledger(program)
        newest_first = reversed(list(all_ops(program)))
        ops = takewhile(lambda op: not since_last or op.id() != ledger.last, newest_first)
        for op in reversed(list(ops)):
            _name_results(op, ledger)
            ledger.last = op.id()


def named_value(program: Program, name: str) -> Value | None:
    """The value of that name, where it lies outside branches and loops; None where there is none."""
    return next((make() for found, make in _named(program.global_block().ops) if found == name), None)


def named_values(program: Program, wanted: Collection[str] | None = None) -> dict[str, Value]:
    """The values outside branches and loops that have one of the names that are wanted, or any, by it."""
    named = _named(program.global_block().ops)
    return {name: make() for name, make in named if wanted is None or name in wanted}


def program_of(value: Value) -> Program:
    """The program that a value is part of."""
    return value.get_defining_op().get_parent_block().program


def _maker(value: Value) -> Operation | None:
    # Asking a null value for its maker ends the process.
    return None if is_absent(value) else value.get_defining_op()


def _attribute(op: Operation, index: int) -> str:
    return _NAMED_BY_PADDLE.get(op.name()) or _ATTRIBUTES[index]


def _name_at(op: Operation, index: int) -> str | None:
    attribute = _attribute(op, index)
    return op.str_attr(attribute) if op.has_attr(attribute) else None


def _check_free(program: Program, name: str) -> None:
    holder = named_value(program, name) if name in _ledger(program).taken else None
    if holder is not None:
        raise ValueNameTaken(name=name, op=holder.get_defining_op().name())


def _named(ops: Iterable[Operation]) -> Iterator[tuple[str, Callable[[], Value]]]:
    """The names that ops and Paddle give, each with what makes its value: a handle costs more than a name."""
    for op in ops:
        kind = op.name()
        by_paddle = _NAMED_BY_PADDLE.get(kind)
        for index in range(op.num_results()):
            attribute = by_paddle or _ATTRIBUTES[index]
            if op.has_attr(attribute):
                yield op.str_attr(attribute), partial(op.result, index)
        if kind in _NAMES_ITS_OPERAND:
            yield op.str_attr(_NAMES_ITS_OPERAND[kind]), partial(op.operand_source, 0)


def _ledger(program: Program) -> _Ledger:
    """What a program keeps of its names; read off its ops where it comes from Paddle's own clone."""
    found = getattr(program, _LEDGER, None)
    if found is None or found.owner != id(program):
        found = _Ledger(owner=id(program))
        for name, _ in _named(all_ops(program)):
            found.take(name)
        setattr(program, _LEDGER, found)
    return found


def _name_results(op: Operation, ledger: _Ledger) -> None:
    names = [_name_at(op, index) for index in range(op.num_results())]
    lacking = [i for i, name in enumerate(names) if name is None and not is_absent(op.result(i))]
    if not lacking or op.name() in _NAMED_BY_PADDLE:
        return
    kind = _kind(op)
    prefix = next((n.rpartition(".")[0] for n in names if n and ".tmp_" in n), ledger.prefix(kind))
    numbers = _NUMBERS.get(kind, ())
    for index in lacking:
        name = ledger.free(prefix, numbers[index] if index < len(numbers) else index)
        ledger.take(name)
        op.set_str_attr(_ATTRIBUTES[index], name)


def _kind(op: Operation) -> str:
    """What the results of an op are called by: parts of a list by the op that made the list."""
    if op.name() in _TAKES_APART:
        return _kind_of(op.operand_source(0).get_defining_op())
    makes_list = any(value.initialized() and value.is_combine() for value in op.results())
    return f"{_kind_of(op)}_list" if makes_list else _kind_of(op)


def _kind_of(op: Operation) -> str:
    bare = str(op.name()).rpartition(".")[2].rstrip("_")
    return _OLD_KINDS.get(bare, bare)
