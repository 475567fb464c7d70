"""Reports: as text with columns that line up, as JSON there and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spokeshave.report import Cell, Reason, Report, Row, render, table

REPORT = Report(
    "Plan",
    {"target": "onnxruntime", "share": 0.123456, "is_settled": True},
    (
        Row("a", "weight", {"scale": 0.5, "axis": None}),
        Row("longer", "activation", {"scale": 10, "axis": None}),
        Row("b", "folded"),
    ),
    (*(Reason("excluded", "a rule names it", f"conv_{i}") for i in range(8)), Reason("other", "why", "x")),
)


def test_text_shows_totals_rows_of_like_facts_and_reasons_by_code() -> None:
    assert render(REPORT).splitlines() == [
        "Plan",
        "",
        "  target: onnxruntime",
        "  share: 0.1235",
        "  is settled: yes",
        "",
        "subject  did         scale",
        "a        weight        0.5",
        "longer   activation     10",
        "",
        "subject  did",
        "b        folded",
        "",
        "Left out:",
        "    8  excluded: a rule names it (conv_0, conv_1, conv_2, conv_3, conv_4, conv_5 and 2 more)",
        "    1  other: why (x)",
    ]


def test_numbers_stand_to_the_right() -> None:
    lines = table(("op", "count"), [("conv", 2), ("relu", 13)]).splitlines()
    assert lines == ["op    count", "conv      2", "relu     13"]


def test_an_empty_report_is_its_title() -> None:
    assert render(Report("Nothing")) == "Nothing"


def test_json_there_and_back_is_the_same_report() -> None:
    assert Report.from_json(REPORT.to_json()) == REPORT
    assert Report.from_json(REPORT.to_json()).to_json() == REPORT.to_json()


numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False))
cells = st.one_of(st.text(), numbers, st.booleans(), st.none())


@given(st.dictionaries(st.text(), cells), st.text(), st.lists(st.tuples(st.text(), st.text(), st.text())))
def test_any_report_survives_json(
    facts: dict[str, Cell], title: str, reasons: list[tuple[str, str, str]]
) -> None:
    report = Report(title, facts, reasons=tuple(Reason(*r) for r in reasons))
    again = Report.from_json(report.to_json())
    assert (again.title, again.reasons) == (report.title, report.reasons)
    assert set(again.facts) == set(facts)


def test_joined_reports_keep_all_rows_and_reasons_in_order() -> None:
    joined = REPORT.joined(Report("More", {"more": 1}, (Row("c", "did"),), (Reason("c", "t", "s"),)))
    assert (joined.title, joined.facts["more"]) == ("Plan", 1)
    assert [row.subject for row in joined.rows] == ["a", "longer", "b", "c"]
    assert joined.reasons[-1] == Reason("c", "t", "s")
