"""Pickles of weights, read by a machine that can build arrays and plain data, and call nothing."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from spokeshave.errors.models import CodeInWeights, WeightsUnreadable

LONGEST = 100  # characters of a name that an error shows
_ELEMENTS = frozenset(["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
_NAMES = {  # what may be named, by what it stands for here
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy.core.numeric _frombuffer": "filled array",
    "numpy._core.numeric _frombuffer": "filled array",
    "numpy.core.multiarray scalar": "scalar",
    "numpy._core.multiarray scalar": "scalar",
    "numpy ndarray": "class",
    "numpy dtype": "elements",
    "_codecs encode": "bytes",
    "builtins tuple": "tuple",
    "__builtin__ tuple": "tuple",
    "builtins bytes": "no bytes",
    "__builtin__ bytes": "no bytes",
    "builtins bytearray": "bytes of bytes",
    "collections OrderedDict": "dict",
}


@dataclass(frozen=True)
class _Name:
    """A function or class that the pickle names."""

    meaning: str


@dataclass
class _Elements:
    """An element type, and its byte order once that is told."""

    code: str
    order: str = "<"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.order.replace("|", "<") + self.code)


@dataclass
class _Array:
    """An array that the pickle fills in later."""

    found: np.ndarray | None = None


class _Damaged(Exception):
    """The pickle does what no pickle of weights does."""


def read_pickle(path: Path) -> Any:
    """What a pickle holds, if that is arrays, dicts, lists, tuples, texts and numbers.

    No code that the file names is ever called, and memory stays within a few times the size of the file.
    """
    try:
        return _Machine(path).run(path.read_bytes())
    except CodeInWeights:
        raise
    except _REFUSALS as error:
        raise WeightsUnreadable(path=str(path), found=f"as a pickle it is damaged ({error})") from error


# What goes wrong in a damaged pickle, in `pickletools`, in the machine or in NumPy.
_REFUSALS = (_Damaged, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class _Machine:
    """The pickle machine, with the instructions that weights need."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._calls: dict[str, Callable[..., Any]] = {
            "array": lambda *_: _Array(),
            "filled array": _filled,
            "scalar": lambda elements, data: _filled(data, elements, (), "C").found,
            "elements": _elements,
            "bytes": _encoded,
            "no bytes": lambda: b"",
            "bytes of bytes": lambda data: data,
            "tuple": lambda items: items,
            "dict": _no_items,
        }

    def run(self, data: bytes) -> Any:
        for code, argument, _ in pickletools.genops(BytesIO(data)):
            if code.name in _IGNORED:
                continue
            if code.name in _PUSHES:
                self._stack.append(_PUSHES[code.name](argument))
                continue
            step = getattr(self, f"_{code.name.lower()}", None)
            if step is None:
                raise _Damaged(f"instruction {code.name}")
            step(argument)
        return _Finished().of(self._stack.pop(), 0)

    def _mark(self, _: object) -> None:
        self._marks.append(len(self._stack))

    def _since_mark(self) -> list[Any]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _take(self, count: int) -> tuple[Any, ...]:
        if count > len(self._stack):
            raise _Damaged("it takes more than it has")
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        return items

    def _tuple(self, _: object) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _tuple1(self, _: object) -> None:
        self._stack.append(self._take(1))

    def _tuple2(self, _: object) -> None:
        self._stack.append(self._take(2))

    def _tuple3(self, _: object) -> None:
        self._stack.append(self._take(3))

    def _dict(self, _: object) -> None:
        items = self._since_mark()
        self._stack.append({})
        self._set(items)

    def _list(self, _: object) -> None:
        self._stack.append(self._since_mark())

    def _setitem(self, _: object) -> None:
        key, value = self._take(2)
        self._set([key, value])

    def _setitems(self, _: object) -> None:
        self._set(self._since_mark())

    def _set(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise _Damaged("it puts items into what is no dict")
        for key, value in zip(items[::2], items[1::2]):
            # Asking a tuple of tuples for its hash may take for ever.
            if type(key) is not str:
                raise _Damaged("a dict has keys that are no names")
            if key in target:
                raise _Damaged(f"it has {key[:LONGEST]!r} twice")
            target[key] = value

    def _append(self, _: object) -> None:
        self._add(list(self._take(1)))

    def _appends(self, _: object) -> None:
        self._add(self._since_mark())

    def _add(self, items: list[Any]) -> None:
        if type(self._stack[-1]) is not list:
            raise _Damaged("it appends to what is no list")
        self._stack[-1].extend(items)

    def _memoize(self, _: object) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _binput(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    _put = _long_binput = _binput

    def _binget(self, place: int) -> None:
        self._stack.append(self._memo[place])

    _get = _long_binget = _binget

    def _global(self, name: str) -> None:
        meaning = _NAMES.get(name)
        if meaning is None:
            raise CodeInWeights(path=str(self._path), name=name.replace(" ", ".")[:LONGEST])
        self._stack.append(_Name(meaning))

    def _stack_global(self, _: object) -> None:
        module, name = self._take(2)
        if type(module) is not str or type(name) is not str:
            raise _Damaged("it names what is no name")
        self._global(f"{module} {name}")

    def _reduce(self, _: object) -> None:
        name, arguments = self._take(2)
        if not isinstance(name, _Name) or name.meaning not in self._calls or type(arguments) is not tuple:
            raise _Damaged("it calls what cannot be called")
        self._stack.append(self._calls[name.meaning](*arguments))

    def _build(self, _: object) -> None:
        (state,) = self._take(1)
        target = self._stack[-1]
        if isinstance(target, _Elements) and state[1] in ("<", ">", "|") and not any(state[2:5]):
            target.order = state[1]
        elif isinstance(target, _Array):
            _, shape, elements, by_column, data = state
            target.found = _filled(data, elements, shape, "F" if by_column else "C").found
        else:
            raise _Damaged("it gives a state to what has none")


_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
_PUSHES: dict[str, Callable[[Any], Any]] = {
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
}
_LITERALS = (
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE "
)
_LITERALS += "SHORT_BINUNICODE BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"
_PUSHES.update(dict.fromkeys(_LITERALS.split(), lambda argument: argument))


def _elements(code: Any, *_: Any) -> _Elements:
    if type(code) is not str or code not in _ELEMENTS:
        raise _Damaged("an array of what are no numbers")
    return _Elements(code)


def _encoded(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1":
        raise _Damaged("bytes in another encoding than latin1")
    return bytes(text, "latin1")


def _no_items() -> dict[str, Any]:
    return {}


def _filled(data: Any, elements: Any, shape: Any, order: Any) -> _Array:
    if not isinstance(elements, _Elements) or not isinstance(data, (bytes, bytearray, str)):
        raise _Damaged("an array without numbers")
    raw = data.encode("latin1") if isinstance(data, str) else data
    if any(type(side) is not int or side < 0 for side in shape):
        raise _Damaged("an array with sides that are no sizes")
    if prod(shape) * elements.dtype.itemsize != len(raw):
        raise _Damaged(f"an array of shape {shape} from {len(raw)} bytes")
    return _Array(np.frombuffer(raw, elements.dtype).reshape(shape, order=order))


class _Finished:
    """Plain data with finished arrays; what is held twice is gone through once."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def of(self, item: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _Damaged("it is nested too deeply")
        if id(item) not in self._known:
            self._known[id(item)] = self._made(item, depth)
        return self._known[id(item)]

    def _made(self, item: Any, depth: int) -> Any:
        if isinstance(item, _Array):
            if item.found is None:
                raise _Damaged("an array was never filled")
            return item.found
        if isinstance(item, dict):
            return {key: self.of(value, depth + 1) for key, value in item.items()}
        if isinstance(item, (list, tuple)):
            return type(item)([self.of(part, depth + 1) for part in item])
        if isinstance(item, (_Name, _Elements)):
            raise _Damaged("it holds a class")
        return item


# A state dict of arrays has two; optimizers and schedulers have a few more.
_DEEPEST = 6
