"""Values by the kind of their column."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.records.table import ColumnKind, TableColumn
from deep_research.core.tables.values import (
    TypedValue,
    depends_on_language,
    grouped_number,
    normal_value,
    quoted_value,
    typed,
)


def of_kind(kind: ColumnKind, **more: object) -> TableColumn:
    return TableColumn.model_validate({"name": "Value", "kind": kind, **more})


@pytest.mark.parametrize(
    ("text", "unit", "language", "shown", "value"),
    [
        ("60,000", "EUR", "", "60 000 EUR", 60_000.0),
        ("€60,000", "", "", "€60 000", 60_000.0),
        ("£13.50", "", "", "£13.50", 13.5),
        ("£13.50", "£", "en", "£13.50", 13.5),
        ("13.5", "£", "en", "£13.50", 13.5),
        ("13,5", "€", "de", "13.50 €", 13.5),
        ("13.50 €", "€", "en", "13.50 €", 13.5),
        ("13,50 €", "", "de", "13.50 €", 13.5),
        ("13.00 euros", "", "en", "13.00 euros", 13.0),
        ("13 Swiss francs", "", "en", "13 Swiss francs", 13.0),
        ("-£5", "", "en", "-5 £", -5.0),
        ("$1.25 million", "", "en", "$1 250 000", 1_250_000.0),
        ("60.000 Euro", "", "de", "60 000 Euro", 60_000.0),
        ("1.609", "km", "en", "1.609 km", 1.609),
        ("1.2", "million euros", "", "1 200 000 euros", 1_200_000.0),
        ("1.2 million dollars", "", "", "1 200 000 dollars", 1_200_000.0),
        ("-3.5 %", "", "", "-3.5 %", -3.5),
        ("(3.5)", "%", "", "-3.5 %", -3.5),
        ("38 metres", "metres", "", "38 metres", 38.0),
        ("5,250", "t", "", "5250 t", 5250.0),
    ],
)
def test_a_number_is_written_the_same_way_in_all_cells_and_read_back_as_a_number(
    text: str, unit: str, language: str, shown: str, value: float
) -> None:
    column = of_kind("money")
    written = normal_value(text, unit, column, language)
    assert (written, typed(written, column)) == (shown, value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("about 60,000", "EUR"),
        ("between 5 and 7", "m"),
        ("up to 7", "m"),
        ("60.000", "Euro"),
        ("forty", ""),
        ("LX-40", ""),
        ("unknown", ""),
    ],
)
def test_a_number_that_is_not_certain_stays_in_the_words_of_its_source(
    text: str, unit: str
) -> None:
    column = of_kind("number")
    written = normal_value(text, unit, column)
    assert written == f"{text} {unit}".rstrip()
    assert typed(written, column) == written


@pytest.mark.parametrize(
    ("quote", "value"),
    [
        ("Value: -5 units", "-5"),
        ("The value is −1,200.50 units.", "-1200.5"),
        ("The value is -£5.", "-5 £"),
        ("Value: (1,250)", "-1250"),
        ("The value fell to minus 5 degrees.", "-5"),
        ("The value is 10-15 m.", "10"),
        ("| Value | -5 |", "-5"),
    ],
)
def test_a_number_in_a_quotation_keeps_its_minus(quote: str, value: str) -> None:
    column = of_kind("number")
    assert normal_value(quoted_value(quote, column), "", column) == value


@pytest.mark.parametrize(
    ("text", "shown", "value"),
    [
        ("31 March 2026", "2026-03-31", date(2026, 3, 31)),
        ("31.03.2026", "2026-03-31", date(2026, 3, 31)),
        ("May 2024", "2024-05", "2024-05"),
        ("2024", "2024", "2024"),
        ("03/05/2024", "03/05/2024", "03/05/2024"),
        ("from 1 May 2024 to 3 June 2025", "from 1 May 2024 to 3 June 2025", None),
        ("at any time", "at any time", "at any time"),
    ],
)
def test_a_date_becomes_iso_as_far_as_it_is_certain(
    text: str, shown: str, value: TypedValue
) -> None:
    column = of_kind("date")
    assert normal_value(text, "", column) == shown
    assert typed(shown, column) == (value or shown)


def test_choices_and_answers_get_one_spelling() -> None:
    assert normal_value("LOAN", "", of_kind("choice", choices=("loan", "grant"))) == "loan"
    assert normal_value("other", "", of_kind("choice", choices=("loan", "grant"))) == "other"
    answers = [normal_value(word, "", of_kind("yes/no")) for word in ("Ja.", "No", "in part")]
    assert answers == ["yes", "no", "in part"]
    assert [typed(answer, of_kind("yes/no")) for answer in answers] == [True, False, "in part"]


@given(st.floats(-1e12, 1e12, allow_nan=False).map(lambda figure: round(figure, 4)))
def test_any_number_is_read_back_as_it_was_written(figure: float) -> None:
    column = of_kind("number")
    assert typed(f"{grouped_number(figure)} t", column) == pytest.approx(figure, rel=1e-12)


@given(st.from_regex(r"[A-Za-z€$ (-]{0,4}[0-9][0-9 .,'’٫٬%]{0,9}( [a-z]{1,8})?", fullmatch=True))
def test_a_value_whose_language_is_not_asked_for_is_the_same_in_all_languages(text: str) -> None:
    column = of_kind("money")
    if not depends_on_language(text, column):
        languages = ("", "en", "de", "fr", "de-CH", "ar")
        assert len({normal_value(text, "EUR", column, code) for code in languages}) == 1
    assert not depends_on_language(text, of_kind("text"))
