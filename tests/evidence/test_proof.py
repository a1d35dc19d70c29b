"""What a model calls supported is proved by words of a source, and by the numbers in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.checking.proof import Known, Proof, prove
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import units_of
from deep_research.core.evidence.text.quantities import Calculation

TEXT = """# Accounts of the ferry company

Ms Voss reported revenue of £38.4m (2024: £35.9m). Fuel cost £7.9m in March. The crossing takes two hours.

The fleet burned 8,900 tonnes of oil, a third of it on Route 7. The pier "will be repaired before the winter", she said.

The toll is £15 a year for every pupil and school. Freight costs £95 per van.

Leases run for 36 or 48 months.

The town paid 60% of £48m, the region 40%.

| Ticket (£) | Adult | Van |
|---|---|---|
| Sanna | 8.60 | 31.50 |
| Hulm | 11.20 | 38.00 |
"""
SOURCES = {
    "a": Known([SourceText("a", TEXT)], "Accounts 2025 2026-03-12"),
    "b": Known([SourceText("b", "The ferry carried 1.2 million people, and Hulm has 38 houses.")], "Courier"),
}
VOSS, ROW = "revenue of £38.4m (2024: £35.9m)", "| Sanna | 8.60 | 31.50 |"


def proof(statement: str, words: str, operations: str = "", *operands: float) -> Proof:
    [unit] = [one for one in units_of(statement, ["a", "b"]) if one.kind in ("statement", "cell", "head")][:1]
    return prove(unit, words, Calculation(tuple(operations.split()), operands), SOURCES)  # type: ignore[arg-type]  # names of operations


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("Revenue was £38.4 million [1].", VOSS),
        ("Revenue was £38,400,000 [1].", VOSS),
        ("In 2025, £7.9m went into fuel [1].", "Fuel cost £7.9m"),
        ("In March 7.9 million pounds went into fuel [1].", "Fuel cost £7.9m"),
        ("8 900 t of oil were burned [1].", "burned 8,900 tonnes"),
        ("It takes 2 hours [1].", "The crossing takes two hours."),
        ("On Route 7 a lot of oil is burned [1].", "a third of it"),
        ("The pier will be “repaired before the winter” [1].", "The pier"),
        ("An adult pays £8.60 to Sanna [1].", ROW),
        ("A third of the oil is burned on Route 7 [1].", "a third of it on Route 7"),
        ("About 33% of the oil is burned on Route 7 [1].", "a third of it on Route 7"),
        ("Sanna is cheaper than Hulm [1].", f"{ROW}\n| Hulm | 11.20 | 38.00 |"),
        ("Revenue was £38.4m, and 1.2 million people were carried [1][2].", f"{VOSS} … carried 1.2 million people"),
    ],
)
def test_words_that_hold_the_numbers_of_a_statement_prove_it(statement: str, words: str) -> None:
    assert proof(statement, words).fault == ""


@pytest.mark.parametrize(
    ("statement", "words", "fault"),
    [
        ("Fuel cost £9m [1].", "", "no words"),
        ("Fuel cost £9m [1].", "Fuel cost £9m", "stand in no source"),
        ("Fuel cost £9m [1].", "Fuel cost £7.9m", "9 does not stand"),
        ("Fuel cost $7.9m [1].", "Fuel cost £7.9m", "7.9 does not stand"),
        ("Fuel cost £7.9 billion [1].", "Fuel cost £7.9m", "7.9 does not stand"),
        ("In April fuel cost £7.9m [1].", "Fuel cost £7.9m", "its month"),
        ("In 2023 fuel cost £7.9m [1].", "Fuel cost £7.9m", "2023 does not stand"),
        ("It takes three hours [1].", "The crossing takes two hours.", "3 does not stand"),
        ("It takes 2 minutes [1].", "The crossing takes two hours.", "2 does not stand"),
        ("On Route 8 a lot of oil is burned [1].", "a third of it", "8 does not stand"),
        ("The pier will be “repaired before next winter” [1].", "The pier", "quotation marks"),
        ("An adult pays £11.20 to Sanna [1].", ROW, "11.2 does not stand"),
        ("Half of the oil is burned on Route 7 [1].", "a third of it on Route 7", "50 does not stand"),
        ("The toll is £15 a month [1].", "The toll is £15 a year", "its unit of measure"),
        ("The monthly toll is £15 [1].", "The toll is £15 a year", "its unit of measure"),
        ("Freight costs £95 per order [1].", "Freight costs £95 per van", "its unit of measure"),
    ],
)
def test_what_the_words_do_not_hold_is_named(statement: str, words: str, fault: str) -> None:
    assert fault in proof(statement, words).fault


@pytest.mark.parametrize(
    ("statement", "words", "operation", "operands"),
    [
        ("Revenue rose by £2.5m [1].", VOSS, "difference", (38.4e6, 35.9e6)),
        ("Revenue grew by 7% [1].", VOSS, "growth", (35.9, 38.4)),
        ("Revenue was about £38m [1].", VOSS, "rounding", (38_400_000,)),
        ("An adult and a van pay £40.10 [1].", ROW, "sum", (8.6, 31.5)),
        ("Together that makes 270.9 [1].", ROW, "product", (8.6, 31.5)),
        ("Both years together brought £74.3 million [1].", VOSS, "sum", (38.4, 35.9)),
        ("Vans pay £22.9 and £26.8 more [1].", f"{ROW}\n| Hulm | 11.20 | 38.00 |", "difference", (31.5, 8.6, 38, 11.2)),
        ("An adult pays 27% of what a van pays [1].", ROW, "share", (8.6, 31.5)),
        ("A van pays 3.7 times as much [1].", ROW, "share", (31.5, 8.6)),
        ("It takes 120 minutes [1].", "The crossing takes two hours.", "conversion", (2,)),
        ("Leases run for three or four years [1].", "Leases run for 36 or 48 months", "conversion", (36, 48)),
        ("An adult pays about a quarter of what a van pays [1].", ROW, "share", (8.6, 31.5)),
        ("Two fares are named [1].", ROW, "count", (8.6, 31.5)),
        ("The two figures differ by £2.5m, which is 7% [1].", VOSS, "difference growth", (35.9, 38.4)),
        ("Table 1: Revenue rose by 7 per cent [1]", VOSS, "growth", (35.9, 38.4)),
        ("Van and adult differ by £22.9 million [1].", ROW, "difference", (31.5, 8.6)),
        ("Together that is £40.1, of which the adult pays 21.4% [1].", ROW, "sum share", (8.6, 31.5, 40.1)),
        ("They pay £28.8m and £19.2m [1].", "The town paid 60% of £48m, the region 40%.", "product", (48, 60, 40)),
    ],
)
def test_a_number_may_follow_by_the_operation_that_is_named(
    statement: str, words: str, operation: str, operands: tuple[float, ...]
) -> None:
    assert proof(statement, words, operation, *operands).fault == ""
    assert proof(statement, words).fault
    assert proof(statement, words, "rounding", 7.0).fault


def test_operands_stand_in_the_words_too() -> None:
    assert "does not stand" in proof("Fuel and crew cost £9m [1].", "Fuel cost £7.9m", "sum", 7.9e6, 1.1e6).fault


def test_the_words_are_shown_as_the_whole_sentence_of_the_source_that_is_cited() -> None:
    found = proof("Hulm has 38 houses [2].", "38")
    assert [(one.source, one.words) for one in found.places] == [
        ("b", "The ferry carried 1.2 million people, and Hulm has 38 houses.")
    ]
    place = proof("Fuel cost £7.9m [1].", "cost £7.9m").places[0]
    assert (TEXT[place.start : place.end], place.above) == (
        "Fuel cost £7.9m in March.",
        "Accounts of the ferry company",
    )


@given(st.integers(2, 10**9), st.integers(2, 10**9))
def test_no_other_number_is_taken_for_the_one_in_the_words(written: int, read: int) -> None:
    source = {"a": Known([SourceText("a", f"The yard built {read:,} boats.")], "")}
    [unit] = units_of(f"The yard built {written} boats [1].", ["a"])
    is_proved = not prove(unit, f"built {read:,} boats", Calculation(), source).fault
    assert is_proved == (written == read)
