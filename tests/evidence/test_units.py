"""A report is split into units so that each states one thing, cites its own source and can be
understood."""

from __future__ import annotations

from itertools import pairwise

import pytest

from deep_research.core.evidence.checking.units import report_units

KEYS = {1: "a", 2: "b", 3: "c"}


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (
            "Gas grew by 5 % (oil fell by 3 % [2]) [1].",
            [("Gas grew by 5 %.", "a"), ("oil fell by 3 %", "b")],
        ),
        (
            "Gas grew by 5 % [1] (oil fell by 3 % [2]).",
            [("Gas grew by 5 %.", "a"), ("oil fell by 3 %", "b")],
        ),
        (
            "Gas grew (oil fell by 3 % [2], coal by 2 % [3]) by 5 % in 2024 [1].",
            [("Gas grew by 5 % in 2024.", "a"), ("oil fell by 3 %", "b"), ("coal by 2 %", "c")],
        ),
        (
            "(Oil fell by 3 % [2]) Gas grew by 5 % [1], and coal rose to 7 [3].",
            [("Oil fell by 3 %", "b"), ("Gas grew by 5 %", "a"), ("and coal rose to 7.", "c")],
        ),
    ],
)
def test_a_claim_in_brackets_with_its_own_citation_is_a_unit_of_its_own(
    text: str, units: list[tuple[str, str]]
) -> None:
    found = report_units(text, KEYS)
    assert sorted((unit.text, *unit.sources) for unit in found) == sorted(units)
    assert all(text[unit.start : unit.end] == unit.raw for unit in found)
    assert all(unit.around == text for unit in found)
    for unit, following in pairwise(found):
        assert unit.end <= following.start


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("It has 41 employees (2023: 38 [2]).", ["b"]),
        ("The tower (lit for the first time in 1844 [1]) is white.", ["a"]),
        ("Gas grew by 5 % (calculated from [2]) [1].", ["b", "a"]),
        ("Gas grew by 5 % (in Harwich [2]) [1].", ["b", "a"]),
    ],
)
def test_a_remark_in_brackets_stays_where_the_citation_is_the_only_one_or_no_claim_is_made(
    text: str, sources: list[str]
) -> None:
    [unit] = report_units(text, KEYS)
    assert unit.raw == text
    assert list(unit.sources) == sources


def test_each_unit_knows_the_sentence_before_it_in_its_section() -> None:
    text = """# Gas

Gas grew. [1] Was it cheap? Oil fell by 3 % [2], and coal rose [3].

| Fuel | 2024 |
|---|---|
| Gas | 5 |

They differ:

- gas most [1]
- oil least

## Outlook

Coal ends in 2038. [3]"""
    table = "Oil fell by 3 % [2], and coal rose [3]."
    assert [(unit.text, unit.before) for unit in report_units(text, KEYS)] == [
        ("Gas", ""),
        ("Gas grew.", ""),
        ("Oil fell by 3 %", "Was it cheap?"),
        ("and coal rose.", "Was it cheap?"),
        ("Fuel | 2024", table),
        ("Gas", table),
        ("Gas, 2024: 5", table),
        ("They differ:", table),
        ("gas most", "They differ:"),
        ("oil least", "- gas most [1]"),
        ("Outlook", ""),
        ("Coal ends in 2038.", ""),
    ]


def test_a_cell_is_judged_by_its_words_without_the_escapes_of_markdown() -> None:
    table = "| Museum | Website | Fee |\n| --- | --- | --- |\n"
    row = "| Anlow [1] | https\\://anlow.example [1] | 12\\*5 \\$ [2] |"
    texts = [unit.text for unit in report_units(table + row, KEYS)]
    assert texts[-2:] == ["Anlow, Website: https://anlow.example", "Anlow, Fee: 12*5 $"]


def test_a_cell_keeps_what_looks_like_the_mark_of_a_list() -> None:
    table = "| Talsperre | Fertig | Pegel |\n| --- | --- | --- |\n"
    units = report_units(f"{table}| Anlow [1] | 7. Juli 1937 [1] | - 3 % [2] |", KEYS)[-2:]
    assert [unit.text for unit in units] == ["Anlow, Fertig: 7. Juli 1937", "Anlow, Pegel: - 3 %"]
    assert [unit.raw_words for unit in units] == ["7. Juli 1937", "- 3 %"]
