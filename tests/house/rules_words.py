"""What the documentation names exists: modules, commands, options, make targets, files, links."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from walking import ROOT

FOLDERS = ("docs", "benchmarks", "spokeshave", "tests", "examples", "recipes", ".ci")
SCRIPTS = ("docs/build.py", "benchmarks/*.py", "examples/*.py")

DOTTED = re.compile(r"(?<![\w/.-])spokeshave(?:\.[A-Za-z_]\w*)+")
COMMAND = re.compile(r"(?:^|[\s;&|/])spokeshave +([a-z][\w-]*)([^|;&]*)")
MAKE = re.compile(r"^(?:\$ )?make +([a-z][\w-]*)")
PATH = re.compile(rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*<>{{}}-]*")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
LINK = re.compile(r"\]\(([^)\s]+)\)")
ABSOLUTE = re.compile(r"(?<![\w./])/(?:home|root|work|tmp|usr|opt|var|mnt|Users)/[\w./-]*|\b[A-Z]:\\\w+")
WISH = re.compile(r"\b(?:TODO|FIXME|XXX|TBD|WIP)\b")


@dataclass(frozen=True)
class Page:
    """A page of documentation: where it lies and what it says."""

    root: Path
    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    def code(self) -> list[str]:
        """Everything in backticks: the lines of code blocks, and the spans within sentences."""
        blocks = re.findall(r"^```[^\n]*\n(.*?)^```", self.text, re.M | re.S)
        prose = re.sub(r"^```.*?^```", "", self.text, flags=re.M | re.S)
        lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
        return lines + [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def violations(root: Path) -> list[str]:
    """Words on the pages below the root that name something that is not there."""
    files = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    pages = [Page(root, path, path.read_text("utf-8")) for path in sorted(files)]
    return list(dict.fromkeys(f"{page.name}: {fault}" for page in pages for fault in _faults(page)))


def _faults(page: Page) -> Iterator[str]:
    yield from (f"absolute path {word}" for word in ABSOLUTE.findall(page.text))
    yield from (f"{word} is a wish" for word in WISH.findall(page.text))
    yield from (f"link to {target}, which is not there" for target in _dead_links(page))
    for code in page.code():
        yield from (f"`{name}` does not exist" for name in DOTTED.findall(code) if not _resolves(name))
        yield from (f"`{path}` does not exist" for path in _paths(code) if not _is_there(page.root, path))
        yield from _command_faults(code)
        yield from (
            f"`make {name}` does not exist" for name in MAKE.findall(code) if name not in _targets(page.root)
        )
        if code.startswith("--"):
            known = _all_options(page.root)
            yield from (
                f"option `{word}` does not exist" for word in OPTION.findall(code) if word not in known
            )


def _dead_links(page: Page) -> list[str]:
    targets = [t for t in LINK.findall(page.text) if not re.match(r"[a-z]+:|#", t)]
    return [t for t in targets if not (page.path.parent / t.partition("#")[0]).exists()]


@cache
def _resolves(name: str) -> bool:
    """Whether a dotted name can be imported; a field counts, though its class may hold no value for it."""
    front, _, last = name.rpartition(".")
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        owner = pkgutil.resolve_name(front) if front.count(".") and _resolves(front) else None
        return last in getattr(owner, "__annotations__", {})
    return True


def _paths(code: str) -> list[str]:
    found = [path.rstrip(".") for path in PATH.findall(code)]
    return [path for path in found if not set("<>{}") & set(path)]


def _is_there(root: Path, path: str) -> bool:
    return any(root.glob(path.rstrip("/")))


def _command_faults(code: str) -> Iterator[str]:
    known = _commands()
    for name, rest in COMMAND.findall("" if "import" in code else code):
        if name not in known:
            yield f"`spokeshave {name}` does not exist"
        else:
            wrong = [word for word in OPTION.findall(rest) if word not in known[name]]
            yield from (f"`spokeshave {name}` has no option `{word}`" for word in wrong)


@cache
def _commands() -> dict[str, frozenset[str]]:
    """The options of each command; none while there is no command line."""
    if not (ROOT / "spokeshave/cli/main.py").exists():
        return {}
    return options_of(importlib.import_module("spokeshave.cli.main").group)


def options_of(group: Any) -> dict[str, frozenset[str]]:
    """The options of each command of a click group, in all their spellings."""
    context = group.make_context("spokeshave", [], resilient_parsing=True)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: frozenset(["--help", *_spellings(command)]) for name, command in commands.items()}


def _spellings(command: Any) -> list[str]:
    return [word for param in command.params for word in (*param.opts, *param.secondary_opts)]


def _all_options(root: Path) -> frozenset[str]:
    """The options of all commands, and those that the scripts of the repository spell out."""
    scripts = [path.read_text("utf-8") for pattern in SCRIPTS for path in root.glob(pattern)]
    spelt = [word for text in scripts for word in re.findall(r"[\"'](--[a-z][\w-]*)[\"']", text)]
    return frozenset(["--help", "--version", *spelt]).union(*_commands().values())


def _targets(root: Path) -> set[str]:
    makefile = root / "Makefile"
    text = makefile.read_text("utf-8") if makefile.exists() else ""
    return set(re.findall(r"^([a-z][\w-]*):(?!=)", text, re.M))
