"""A figure may follow from sources, from the request, from proved statements and from earlier
results, and from nothing else."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.checking.proof import Grounds, Known, OtherPremises, Proof, prove
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import ReportUnit, report_units
from deep_research.core.records.research import CalculationInput

TEXT = """# Vans of Orrin

Of 1,200 vans, 85 % were hired. Members get 4 % off the price of 250 euros a day. A van loads 1.5 t.

| Year | Trips | Cost in million € |
|---|---|---|
| 2022 | 880 | 21.4 |
| 2023 | 957 | 22.7 |
| 2024 | 1,090 | 74.6 |
"""
SOURCES = {"a": Known([SourceText("a", TEXT)], "Vans of Orrin")}
ALL = "\n".join(line for line in TEXT.splitlines() if "--" not in line)
REQUEST = "We have 14 drivers and 3,500 euros a month. What can we hire?"


def unit_of(text: str) -> ReportUnit:
    units = report_units(text, {1: "a"})
    return [unit for unit in units if unit.kind in ("statement", "cell")][-1]


def proof(
    statement: str,
    *calculations: str,
    words: str = ALL,
    premises: OtherPremises | None = None,
    supposed: tuple[str, ...] = (),
) -> Proof:
    answer = Grounds(words, calculations, supposed)
    return prove(unit_of(statement), answer, SOURCES, premises or OtherPremises())


@pytest.mark.parametrize(
    ("statement", "calculations", "origins"),
    [
        ("Your 14 drivers cost 3,500 euros a day [1].", ["14 * 250 = 3,500"], ["request", "source"]),
        ("That is 250 euros for each driver.", ["3,500 / 14 = 250"], ["request", "request"]),
        ("Half of your drivers are 7.", ["14 / 2 = 7"], ["request", "constant"]),
        ("A year of it is 42,000 euros.", ["3,500 * 12 = 42,000"], ["request", "constant"]),
        ("A year of it is 42,000 euros.", ["3,500 dinars * 12 = 42,000"], ["request", "constant"]),
        ("That is 250 euros for each driver.", ["3,500 euros/month / 14 drivers = 250"], ["request", "request"]),
        ("Twice your drivers are 28.", ["(14 full drivers + 14) per van * 1 = 28"], ["request", "request", "constant"]),
    ],
)  # fmt: skip
def test_numbers_of_the_request_are_premises(
    statement: str, calculations: list[str], origins: list[str]
) -> None:
    found = proof(statement, *calculations, premises=OtherPremises(REQUEST))
    assert found.doubt is None
    [calculation] = found.calculations
    assert [given.origin for given in calculation.inputs] == origins
    without = proof(statement, *calculations, words="A van loads 1.5 t.")
    assert without.doubt and without.doubt.kind == "figure"
    assert "this follows from nothing given" in without.doubt.for_model
    assert f"in `{calculations[0]}`" in without.doubt.for_model


TODAY = "Monday, November 30, 2026"


@pytest.mark.parametrize(
    ("statement", "is_proved"),
    [
        ("As of 30 November 2026, vans load 1.5 t [1].", True),
        ("Stand 2026-11-30: a van loads 1.5 t [1].", True),
        ("As of 29 November 2026, vans load 1.5 t [1].", False),
        # A figure does not follow from a date that the statement does not name.
        ("A van loads 1.5 t of 30 goods [1].", False),
    ],
)
def test_a_statement_may_name_the_date_of_today(statement: str, is_proved: bool) -> None:
    found = proof(statement, words="A van loads 1.5 t.", premises=OtherPremises(today=TODAY))
    assert (found.doubt is None) == is_proved


@pytest.mark.parametrize(
    ("share", "is_premise"),
    [
        ("85 %", True),
        ("85%", True),
        ("0.85", True),
        ("17/20", True),
        ("85 / 100", True),
        ("85 per cent", True),
        ("0.15", True),
        ("(1 - 0.85)", True),
        ("1.85", True),
        # Those of 4 % off.
        ("0.96", True),
        ("96 %", True),
        ("24/25", True),
        ("1.04", True),
        ("(100 - 4) / 100", True),
        # Shares that nothing states.
        ("0.86", False),
        ("0.8", False),
        ("95 %", False),
        ("8.5", False),
        ("18/20", False),
        ("23/25", False),
    ],
)
def test_a_percentage_may_be_used_as_a_decimal_as_a_fraction_and_as_what_is_left(
    share: str, is_premise: bool
) -> None:
    result = 957 * eval(share.replace("per cent", "%").replace("%", "/ 100"))
    line = f"957 * {share} = {result:.6g}"
    found = proof(f"That makes {result:.6g} vans [1].", line)
    assert (found.doubt is None) == is_premise, found.doubt
    if not is_premise:
        assert found.doubt and f"in `{line}`" in found.doubt.for_model


@pytest.mark.parametrize(
    ("statement", "calculations"),
    [
        # The cost of a year, as written: 24.9; exactly: 24.866...
        ("The cost grew by 16.8 % [1].", ["74.6 / 3 = 25", "(25 - 21.4) / 21.4 = 16.8 %"]),
        ("The cost grew by 16.4 % [1].", ["74.6 / 3 = 24.9", "(24.9 - 21.4) / 21.4 = 16.4 %"]),
        ("The cost grew by 16.2 % [1].", ["74.6 / 3 = 24.867", "(24.867 - 21.4) / 21.4 = 16.2 %"]),
        ("The cost grew by 16.2 % [1].", ["74.6 / 3 = 24.866666666666667", "(24.866666666666667 - 21.4) / 21.4"]),
        ("The cost grew by 16.2 % [1].", ["(74.6 / 3 - 21.4) / 21.4 = 16.2 %"]),
        ("| | Change |\n|---|---|\n| 2024 [1] | 133 |", ["1,090 - 957 = 133"]),
        ("| | Change, % |\n|---|---|\n| 2024 [1] | 13.9 |", ["1090 - 957 = 133", "133 / 957 = 13.9 %"]),
        ("| | Change, % |\n|---|---|\n| 2024 [1] | 14 |", ["1090 - 957 = 133", "133 / 957 = 0.139", "0.139 = 14 %"]),
        ("| | Trips |\n|---|---|\n| All years [1] | 2,927 |", ["880 + 957 + 1,090 = 2,927"]),
    ],
)  # fmt: skip
def test_results_may_be_rounded_at_each_line_or_carried_on_exactly(
    statement: str, calculations: list[str]
) -> None:
    assert proof(statement, *calculations).doubt is None


@pytest.mark.parametrize(
    ("statement", "calculations"),
    [
        ("The cost grew by 16.8 % [1].", ["74.6 / 3 = 24.8", "(25 - 21.4) / 21.4 = 16.8 %"]),
        ("The cost grew by 17 % [1].", ["74.6 / 3 = 24.9", "(24.9 - 21.4) / 21.4 = 17 %"]),
        ("| | Change |\n|---|---|\n| 2024 [1] | 143 |", ["1,090 - 957 = 143"]),
        ("| | Change, % |\n|---|---|\n| 2024 [1] | 12.2 |", ["1090 - 957 = 133", "133 / 957 = 13.9 %"]),
    ],
)  # fmt: skip
def test_a_result_that_is_rounded_or_calculated_wrongly_proves_nothing(
    statement: str, calculations: list[str]
) -> None:
    found = proof(statement, *calculations)
    assert found.doubt and found.doubt.kind == "figure"


@pytest.mark.parametrize(
    ("statement", "calculation", "supposed"),
    [
        ("If only 340 vans are hired, 15 % less is earned [1].", "", ("340", "15 %")),
        ("More than 800 kg would need a second van [1].", "", ("800 kg",)),
        ("If 500 vans are hired, that is 125,000 euros a day [1].", "500 * 250 = 125,000", ("500",)),
        ("With 29 trips a day it pays after 33 days [1].", "957 / 29 = 33", ("29",)),
    ],
)  # fmt: skip
def test_what_a_statement_only_supposes_needs_no_source(
    statement: str, calculation: str, supposed: tuple[str, ...]
) -> None:
    lines = [calculation] if calculation else []
    found = proof(statement, *lines, supposed=supposed)
    assert found.doubt is None
    for entry in found.calculations:
        assert "supposed" in [given.origin for given in entry.inputs]
    stated = proof(statement, *lines)
    assert stated.doubt and stated.doubt.kind == "figure"


@pytest.mark.parametrize(
    ("statement", "calculation"),
    [
        ("The change is 133 trips.", ""),
        ("That is 133 more.", ""),
        ("It is 13.9 % of the year before [1].", "133 / 957 = 13.9 %"),
        ("Half of that is 66.5 trips.", "133 / 2 = 66.5"),
    ],
)
def test_results_of_another_statement_are_premises(statement: str, calculation: str) -> None:
    [earlier] = proof("It made 133 trips more [1].", "1,090 - 957 = 133").calculations
    results = OtherPremises(calculations=(earlier,))
    stated = OtherPremises(report="It made 133 trips more.", calculations=(earlier,))
    lines = [calculation or "133 = 133"]
    words = "A van loads 1.5 t."
    assert proof(statement, *lines, words=words).doubt
    for premises in (results, stated):
        found = proof(statement, *lines, words=f"{words}\n| 2023 | 957 |", premises=premises)
        assert found.doubt is None
        origins = {given.origin for entry in found.calculations for given in entry.inputs}
        assert origins & {"calculation", "report"}


@pytest.mark.parametrize(
    ("calculations", "unknown"),
    [
        (["0.9 * 957 = 861.3"], ["0.9"]),
        (["957 - 95.7 = 861.3"], ["95.7"]),
        (["43 + 818.3 = 861.3", "957 * 0.9"], ["43", "0.9"]),
        (["861.3 = 861.3"], ["861.3"]),
    ],
)
def test_a_model_is_told_which_numbers_are_no_premises(
    calculations: list[str], unknown: list[str]
) -> None:
    found = proof("It made 861.3 trips [1].", *calculations)
    assert found.doubt and found.doubt.message.startswith("861.3 is not in those words")
    request = found.doubt.for_model
    assert request.startswith("861.3: this follows from nothing given.")
    for number, line in zip(unknown, calculations, strict=True):
        assert f"{number} in `{line}`" in request


@pytest.mark.parametrize(
    ("line", "value", "is_rounded"),
    [
        ("85 % - 4 % = 81 points", 81, True),
        ("85 % * 1,200 = 1,020", 1020, True),
        ("957 / 1,090 = 88 %", 957 / 1090, True),
        ("957 / 1,090 = 87 %", 957 / 1090, False),
        ("957 / 1,090", 957 / 1090, False),
    ],
)
def test_a_calculation_is_recorded_with_the_value_that_its_result_rounds(
    line: str, value: float, is_rounded: bool
) -> None:
    [calculation] = proof("It made many trips [1].", line).calculations
    assert calculation.value == pytest.approx(value)
    assert calculation.is_rounded == is_rounded
    assert calculation.result == line.partition("= ")[2]


@pytest.mark.parametrize(
    ("statement", "calculations"),
    [
        ("The euro would have to fall by 12.4 % [1].", ["(1.16 - 1.016) / 1.16 = 12.4%"]),
        ("The margin is 0.144 dollars [1].", ["1.16 - 1.016 = 0.144"]),
        ("Twice the rate is 2.03 dollars [1].", ["2 * 1.016 = 2.032"]),
        ("Nothing else is paid than 1.16 dollars [1].", ["1.16 - 0 = 1.16"]),
    ],
)
def test_a_point_before_three_digits_may_be_a_decimal_one(
    statement: str, calculations: list[str]
) -> None:
    words = "The euro stands at 1.16 dollars. The limit is reached at 1.016 dollars."
    [unit] = report_units(statement, {1: "a"})
    known = {"a": Known([SourceText("a", words)], "")}
    assert prove(unit, Grounds(words, calculations), known).doubt is None


def test_a_model_is_told_which_line_it_calculated_wrongly() -> None:
    words = "The lot costs 104,195.85 dollars. One euro is 1.16 dollars."
    [unit] = report_units("The lot costs 89,824 euros a ton, or 4.68 a kilo [1].", {1: "a"})
    known = {"a": Known([SourceText("a", words)], "")}
    grounds = Grounds(words, ["104,195.85 / 1.16 = 89,823.97", "89,823.97 / 19,200 = 4.68"])
    doubt = prove(unit, grounds, known).doubt
    assert doubt is not None
    assert "`104,195.85 / 1.16 = 89,823.97` gives 89824.00862" in doubt.for_model


def test_a_report_names_an_assumption_by_its_number() -> None:
    premises = OtherPremises(text="At an assumed 1.7 years this brings 3,641,400 pounds.")
    years, share = (CalculationInput(value=value, origin="supposed") for value in (1.7, 0.35))
    assert premises.names([years])
    assert not premises.names([years, share])
