"""A reader who types what the documentation says finds it there."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import rules_words
from rules_words import violations
from walking import ROOT, check_none, check_reports, plant

HOUSE = {"Makefile": "NAME := x\ntest: setup\n\tpytest\n", "docs/build.py": 'add("--check")\n'}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"inspect": frozenset({"--help", "--model-path"})}
    monkeypatch.setattr(rules_words, "_commands", lambda: known)


def found_in(root: Path, text: str) -> list[str]:
    return violations(plant(root, {**HOUSE, "docs/guide/planted.md": text}))


def test_what_the_documentation_names_exists() -> None:
    check_none(violations(ROOT))


@pytest.mark.usefixtures("commands")
def test_a_page_in_order_is_left_alone(tmp_path: Path) -> None:
    text = """
Call `spokeshave.registry.Shelf.names`, read `spokeshave.graph.view.Node.op`, see [home](../../Makefile#top),
[there](https://example.org/TOP) or `docs/<name>.md`; and/or `docs/*.py`, `docs/build.py`.
The options `--check` and `--model-path`.

```python
from spokeshave import registry
```

```sh
make test
spokeshave inspect --model-path MODEL && git commit --amend
```
"""
    check_none(found_in(tmp_path, text))


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Call `spokeshave.registry.Nothing`.", "`spokeshave.registry.Nothing` does not exist"),
        ("```python\nx = spokeshave.nowhere.f(1)\n```\n", "`spokeshave.nowhere.f` does not exist"),
        ("Run `spokeshave dance`.", "`spokeshave dance` does not exist"),
        ("```sh\n$ spokeshave dance --fast\n```\n", "`spokeshave dance` does not exist"),
        (
            "```sh\nspokeshave inspect \\\n  --colour red\n```\n",
            "`spokeshave inspect` has no option `--colour`",
        ),
        ("Add `--colour`.", "option `--colour` does not exist"),
        ("Run `make dinner`.", "`make dinner` does not exist"),
        ("Run `make NAME`, or `make name`.", "`make name` does not exist"),
        ("See `docs/nothing.md`.", "`docs/nothing.md` does not exist"),
        ("See `spokeshave/attic/*.py`.", "`spokeshave/attic/*.py` does not exist"),
        ("See [there](nothing.md#top).", "link to nothing.md#top"),
        ("It lies in /home/someone/model.", "absolute path /home/someone/model"),
        ("TODO: write", "TODO is a wish"),
    ],
)
def test_a_word_without_a_thing_is_reported(tmp_path: Path, text: str, fault: str) -> None:
    found = found_in(tmp_path, text)
    check_reports(found, "docs/guide/planted.md", fault)
    assert len(found) == 1


def test_the_readme_is_read_too(tmp_path: Path) -> None:
    check_reports(violations(plant(tmp_path, {"README.md": "`make dinner`"})), "README.md: `make dinner`")


def test_options_are_read_from_the_commands() -> None:
    both, pair = click.Option(["--model-path", "--model_path"]), click.Option(["--fast/--slow"])
    group = click.Group("house", commands={"cut": click.Command("cut", params=[both, pair])})
    known = {"--help", "--model-path", "--model_path", "--fast", "--slow"}
    assert rules_words.options_of(group) == {"cut": known}
