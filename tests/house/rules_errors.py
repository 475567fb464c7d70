"""Every error is a page: a code, words that use its facts, a way out, and a test that raises it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

from walking import called, last_name, modules

from spokeshave.errors import SpokeshaveError, fact_names

Kind = type[SpokeshaveError]
HEADINGS = ("## Why", "## What to do")
SAMPLES: dict[str, Any] = {"int": 3, "float": 0.5, "bool": True}


def violations(root: Path) -> list[str]:
    """What the error classes below the root lack."""
    kinds = _concrete(root)
    raised = _raised_in_tests(root)
    found = [f"{kind.__name__}: {fault}" for kind in kinds for rule in RULES for fault in rule(kind)]
    untested = [
        f"{k.__name__}: no test has pytest.raises({k.__name__})" for k in kinds if k.__name__ not in raised
    ]
    names, codes = [kind.__name__ for kind in kinds], [getattr(kind, "code", "") for kind in kinds]
    return found + untested + _shared(names) + _shared(codes)


def _concrete(root: Path) -> list[Kind]:
    """The classes of the error files that no other class derives from."""
    files = sorted((root / "spokeshave/errors").glob("[!_]*.py"))
    own = [kind for path in files for kind in _classes(_load(path))]
    return [kind for kind in own if not any(kind in other.__mro__[1:] for other in own)]


def _load(path: Path) -> ModuleType:
    """The file as a module under a name of its own, known to `sys.modules` so that its classes pickle."""
    name = f"house_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _classes(module: ModuleType) -> list[Kind]:
    found = [item for item in vars(module).values() if inspect.isclass(item)]
    return [k for k in found if issubclass(k, SpokeshaveError) and k.__module__ == module.__name__]


def _words(kind: Kind) -> list[str]:
    missing = [f"has no `{name}`" for name in ("code", "says", "next_step") if not getattr(kind, name, "")]
    code = getattr(kind, "code", "x")
    return (
        missing
        if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
        else [*missing, f"code {code!r} is not kebab-case"]
    )


def _braces(kind: Kind) -> list[str]:
    text = f"{getattr(kind, 'says', '')} {getattr(kind, 'next_step', '')}"
    fields = {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(text) if name is not None}
    return [f"{{{name}}} is none of its facts" for name in sorted(fields - set(fact_names(kind)))]


def _page(kind: Kind) -> list[str]:
    page = inspect.cleandoc(kind.__doc__ or "")
    return [f"its page has no {heading!r}" for heading in HEADINGS if heading not in page.splitlines()]


def _builtin(kind: Kind) -> list[str]:
    bases = {base for base in kind.__mro__ if base.__module__ == "builtins"}
    special = bases - {object, BaseException, Exception}
    return [] if special else ["is no kind of builtin error (ValueError, KeyError, ...)"]


def _pickles(kind: Kind) -> list[str]:
    if _braces(kind) or _words(kind):
        return []  # has no message that could be compared
    error = kind(**{name: _sample(kind, name) for name in fact_names(kind)})
    back = pickle.loads(pickle.dumps(error))
    same = type(back) is kind and back.facts == error.facts and str(back) == str(error)
    return [] if same else ["does not come back from a pickle as it went in"]


def _sample(kind: Kind, fact: str) -> Any:
    annotation = next(
        a for base in kind.__mro__ for n, a in vars(base).get("__annotations__", {}).items() if n == fact
    )
    return SAMPLES.get(getattr(annotation, "__name__", str(annotation)), "sample")


def _raised_in_tests(root: Path) -> set[str]:
    calls = [n for m in modules(root, "tests") for n in ast.walk(m.tree) if isinstance(n, ast.Call)]
    expected = [arg for call in calls if called(call) == "raises" for arg in call.args[:1]]
    return {last_name(node) for arg in expected for node in ast.walk(arg)}


def _shared(words: list[str]) -> list[str]:
    return [f"{word}: {n} errors share it" for word, n in Counter(words).items() if n > 1 and word]


RULES: tuple[Callable[[Kind], list[str]], ...] = (_words, _braces, _page, _builtin, _pickles)
