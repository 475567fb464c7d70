"""Each error that Spokeshave raises helps the one who meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules_errors import violations
from walking import ROOT, check_none, check_reports, plant

GOOD = '''
from spokeshave.errors import UserError

class TooWide(UserError, ValueError):
    """A plank does not fit.

    ## Why
    It is wide.

    ## What to do
    Plane it.
    """

    code = "too-wide"
    says = "{plank!r} is {width:d} mm wide."
    next_step = "Plane it to {limit:.1f} mm."
    plank: str
    width: int
    limit: float
'''
RAISED = "import pytest\ndef test_it() -> None:\n    with pytest.raises(errors.TooWide):\n        fit()\n"


def found_in(root: Path, text: str, test: str = RAISED) -> list[str]:
    return violations(plant(root, {"spokeshave/errors/planted.py": text, "tests/test_planted.py": test}))


def test_every_error_is_a_page_and_is_raised_in_a_test() -> None:
    check_none(violations(ROOT))


def test_an_error_in_order_is_left_alone(tmp_path: Path) -> None:
    check_none(found_in(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('code = "too-wide"', 'code = ""', "has no `code`"),
        ("too-wide", "TooWide", "is not kebab-case"),
        ('next_step = "Plane it to {limit:.1f} mm."', "", "has no `next_step`"),
        ("{limit:.1f}", "{most}", "{most} is none of its facts"),
        ("## Why", "Why:", "its page has no '## Why'"),
        ("## What to do", "### What to do", "its page has no '## What to do'"),
        ("(UserError, ValueError)", "(UserError)", "is no kind of builtin error"),
        ("    plank: str", "    __reduce__ = lambda self: (str, ('lost',))\n    plank: str", "from a pickle"),
    ],
)
def test_what_an_error_lacks_is_reported(tmp_path: Path, before: str, after: str, fault: str) -> None:
    assert before in GOOD
    check_reports(found_in(tmp_path, GOOD.replace(before, after)), "TooWide", fault)


def test_a_code_that_two_errors_share_is_reported(tmp_path: Path) -> None:
    twice = GOOD + GOOD.replace("class TooWide", "class TooBroad")
    test = RAISED.replace("errors.TooWide", "(TooWide, errors.TooBroad)")
    check_reports(found_in(tmp_path, twice, test), "too-wide: 2 errors share it")


def test_a_name_that_two_errors_share_is_reported(tmp_path: Path) -> None:
    # Their tests could not be told apart, nor could a reader.
    plant(tmp_path, {"spokeshave/errors/other.py": GOOD.replace("too-wide", "too-broad")})
    check_reports(found_in(tmp_path, GOOD), "TooWide: 2 errors share it")


def test_an_error_that_no_test_raises_is_reported(tmp_path: Path) -> None:
    test = "def test_it() -> None:\n    assert TooWide\n"
    check_reports(found_in(tmp_path, GOOD, test), "no test has pytest.raises(TooWide)")


def test_a_family_of_errors_needs_no_words_of_its_own(tmp_path: Path) -> None:
    family = GOOD.replace(
        "class TooWide(UserError, ValueError)",
        'class Misfit(UserError, ValueError):\n    """What does not fit."""\n\nclass TooWide(Misfit)',
    )
    check_none(found_in(tmp_path, family))
