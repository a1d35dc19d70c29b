"""Lines of arithmetic give what they say, in the right unit and from where their numbers stand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deep_research.core.evidence.checking.calculator import (
    Calculator,
    gives,
    is_behind,
    number_calculations,
)
from deep_research.core.evidence.checking.proof import Known, gives_results
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.citations.foreign import read_foreign
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.markers import cited_calculations, with_calculations
from deep_research.core.evidence.citations.rendering import inputs_of, read_body, write_document
from deep_research.core.evidence.text.numbers import numbers_in
from deep_research.core.records.report import Report
from deep_research.core.records.research import Calculation, Finding

PRICE = "A heat pump costs 12,000 € today."
SAVING = "It saves 450 € a year, or 1.5 MWh."
GRANT = "The grant is 7,500 €, up from 5,000 € in 2023."
RATE = "One dollar was worth 0.92 euros."
SOURCES = {1: f"{PRICE}\n\n{SAVING}", 2: GRANT, 5: RATE}
REQUEST = "We have 900 homes."
NET, PAYBACK = "Net price: 12000 € [1] - 7500 € [2]", "Payback: [calc 1] / 450 €/year [1] = years"
FINITE = st.floats(min_value=0.01, max_value=1e6).map(lambda value: round(value, 2))


def calculator(request: str = REQUEST, texts: Mapping[int, str] = SOURCES) -> Calculator:
    sources = {}
    for number, text in texts.items():
        sources[number] = f"source-{number}", Known([SourceText("", text)], "")
    return Calculator(sources, request)


def last_of(*lines: str) -> Calculation:
    """The record of the last of these lines."""
    used = calculator()
    answers = used.calculate(lines)
    assert len(used.changed) == len(lines), answers
    return [*used.changed.values()][-1]


@given(FINITE, FINITE, FINITE, st.sampled_from("+-*/"), st.sampled_from("+-*/"))
@settings(max_examples=50)
def test_a_formula_and_its_inputs_give_the_result(
    first: float, second: float, third: float, sign: str, other: str
) -> None:
    values = {"a": first, "b": second, "c": third}
    wanted = eval(f"(a {sign} b) {other} c", {}, values)
    found = last_of(f"({first:f} {sign} {second:f}) {other} {third:f}")
    assert found.value == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@given(st.floats(min_value=-1e9, max_value=1e9).filter(lambda value: abs(value) > 1e-3))
@example(130429292.5004816)
@settings(max_examples=50)
@example(1.625)
def test_a_result_is_shown_rounded_to_digits_that_give_it(value: float) -> None:
    found = last_of(f"{value:f} * 1")
    [number] = numbers_in(found.result)
    assert gives(found, number)
    # Without a language, 1.625 may have three decimals, or be grouped.
    assert any(math.isclose(reading, abs(value), rel_tol=6e-4) for reading in number.readings)


@given(*[st.integers(1, 500)] * 3)
@settings(max_examples=30)
def test_break_even_is_where_both_sides_are_equal(fixed: int, rate: int, more: int) -> None:
    found = last_of(f"Break-even: {fixed} + {rate} * x = {rate + more} * x")
    assert found.value == pytest.approx(fixed / more)
    assert f"; x = {found.result}" in found.line
    assert last_of(f"{fixed} / x = {more}").value == pytest.approx(fixed / more)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("(48 - 40) / 40 = %", "20 %"),
        ("Share: 30 / (30 + 50 + 20) in %", "30 %"),
        ("60 % - 40 %", "20 %"),
        ("31 + 12 + 9 = %", "52 %"),
        ("0.31 + 0.12 = %", "43 %"),
        ("(48 - 40) / 40 * 100 = %", "20 %"),
        ("100 × (48 - 40) / 40 = %", "20 %"),
        ("48 / (4 * 100) = %", "12 %"),
        ("3.1 * 25 % = £ million", "0.775 £ million"),
        ("3.1 £ million * 25 % = £ million", "0.775 £ million"),
        ("36 * (14 % + 8 %) = million £", "7.92 million £"),
        ("900 t * 2140 €/t = million €", "1.926 million €"),
        ("900 tonnes * €2,140 = million €", "1.926 million €"),
        ("60 % * 48", "28.8"),
        ("200 € * (1 + 5 %)", "210 €"),
        ("1.2 million homes * 3.5 kWh", "4\u202f200\u202f000 homes·kWh"),
        ("500 USD * 0.92 EUR/USD", "460 €"),
        ("12 km × 0.621 miles/km", "7.452 miles"),
        ("5 km + 300 m", "5.3 km"),
        ("5 kWh/day * 2 years", "3650 kWh"),
        ("11 kW * 8 h = kWh", "88 kWh"),
        ("165 km * 43 kWh/100 km / 100 - 63.1 kWh = kWh", "7.85 kWh"),
        ("63.1 kWh - 165 km * 43 kWh/100 km = kWh", "-7.85 kWh"),
        ("68 kWh / 40 kWh/100 km * 100 + 10 km = km", "180 km"),
        ("1.5 MWh / 250 kW = h", "6 h"),
        ("160 days/year / 12 = days/month", "13.33 days/month"),
        ("160 days/year / 12 * 11 €/day = €/month", "146.7 €/month"),
        ("3 people * 8 hours/day * 220 days/year", "5280 people·hours/year"),
        ("48 months = years", "4 years"),
        ("450 €/year / 12 months/year", "37.5 €/months"),
        ("(120 / 100)^(1/5) - 1 = %", "3.714 %"),
        ("1.609 x 2", "3.218"),
        ("1,250.5 - 1,000 =", "250.5"),
        ("Twice: 2 (3 + 4)", "14"),
        ("3.1 million £ - 0.6 million £ = million £", "2.5 million £"),
        ("25 % * 3.1 million £ = £ million", "0.775 £ million"),
        ("£3.1 million - £0.6 million = £m", "2.5 £m"),
        ("5 km - 300 m = m", "4700 m"),
        ("41 % - 52 % = percentage points", "-11 percentage points"),
        ("(5.8 cent/km - 3.6 cent/km) * 27000 km/year = €/year", "594 €/year"),
        ("500 ct + 3 € = €", "8 €"),
        ("29 kWh/100 km * 0.3 €/kWh = €/100 km", "8.7 €/100 km"),
        ("24000 km * 0.006 €/km/year * 2 years", "288 €"),
        ("(75 - 55) EUR/t / 10 EUR/t * 2.65 cents/l = cents/l", "5.3 cents/l"),
        ("(75 [2] - 55 [2]) EUR per t * 3 t", "60 €"),
        ("(300 m + 2 km) km x 2", "4.6 km"),
        ("(30 + 20) % * 48", "24"),
    ],
)
def test_units_are_carried_along_and_converted(line: str, result: str) -> None:
    assert last_of(line).result == result


def test_a_cell_may_leave_the_percent_sign_of_a_result_to_its_table() -> None:
    share = last_of("31 % + 12 % + 9 % = %")
    table = "| Share, % | 2024 |\n|---|---|\n| Three largest | {} [calc 1] |"
    for stated, is_result in (("52", True), ("0.52", True), ("25", False)):
        [cell] = [unit for unit in report_units(table.format(stated), {}) if unit.kind == "cell"]
        assert gives_results(cell._replace(text=stated), [share]) == is_result
    assert not is_behind(share, "They bought 52 kg.")


@pytest.mark.parametrize(
    "stated", ["€1.926 million", "1.926.000 Euro", "€1,926,000", "€1.9 million"]
)
def test_a_point_before_three_digits_of_a_result_may_be_a_decimal_one(stated: str) -> None:
    calculation = last_of("900 t * 2140 €/t = €")
    assert is_behind(calculation, f"The minimum costs {stated} a year.")
    assert not is_behind(calculation, f"The minimum costs {stated.replace('9', '8')} a year.")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("3 € + 4 kg", "€ and kg cannot be added"),
        ("£8,000 - $5.5m", "£ and $ cannot be added"),
        ("100 € + 5 %", "percentage cannot be added"),
        ("12000 € - 7500 € = years", "it gives €, not years"),
        ("12 km * 3 km = km", "not km"),
        ("12 km / 3 h = km", "not km"),
        ("7 / 0", "divides by zero"),
        ("__import__('os')", "is no number"),
        ("3 * x * x = 5", "cannot be solved"),
        ("9^9^9", "exponent is larger"),
        ("[calc 7] * 2", "there is no [calc 7]"),
        ("(" * 200 + "1", "too many brackets"),
        ("48 40", "no sign before 40"),
        ("nothing", "is no number"),
    ],
)
def test_what_is_no_arithmetic_is_refused_with_the_reason(line: str, why: str) -> None:
    used = calculator()
    [answer] = used.calculate([line])
    assert why in answer and not used.changed


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Mean load from 13:00 to 23:00: (4 + 6) / 2 = kW", "Mean load from 13:00 to 23:00"),
        ("Vans: mean range: 90 km + 10 km", "Vans: mean range"),
        ("Sum: 3 years + 4 years", "Sum"),
        ("Break-even: 3: 3 + 2 * x = 5", "Break-even: 3"),
        (f"{'upkeep ' * 30}: 3 + 4", ("upkeep " * 21).strip()),
        ("x".join(["u" * 80] * 2) + ": 3 + 4", f"{'u' * 80}x{'u' * 69}"),
    ],
)
def test_a_name_ends_at_the_last_colon_before_the_formula_and_is_cut_at_a_word(
    line: str, name: str
) -> None:
    assert last_of(line).name == name


def test_inputs_are_found_where_they_stand() -> None:
    used = calculator()
    lines = [NET, PAYBACK, "All: [calc 1] * 900 homes", "Odd: 433 € [1] / 450 € [2]"]
    answers = used.calculate(lines)
    net, payback, homes, odd = used.changed.values()
    assert [given.words for given in net.inputs] == [PRICE, GRANT]
    assert [given.source for given in net.inputs] == ["source-1", "source-2"]
    assert (payback.result, [*payback.rests_on]) == ("10 years", [1])
    assert [given.origin for given in homes.inputs] == ["calculation", "request"]
    assert [given.origin for given in odd.inputs] == ["supposed", "source"]
    assert (
        "433 € (assumed, stands in nothing shown)" in answers[3]
        and "450 € stands in [1]" in answers[3]
    )
    assert [found.is_proved for found in (net, payback, homes, odd)] == [True, True, True, False]


def test_an_input_is_not_found_where_only_its_digits_stand() -> None:
    texts = ["The Q-33 came on 29 November.", "It took 33 weeks and 29 kWh/100 km.", "Nothing."]
    sources = {
        number: (f"source-{number}", Known([SourceText("", text)], ""))
        for number, text in enumerate(texts, 1)
    }
    used = Calculator(sources, "")
    [elsewhere] = used.calculate(["29 kWh [3] * 2"])
    [digits] = used.calculate(["33 days [3] * 2"])
    [unnamed] = used.calculate(["33 weeks * 2"])
    first, second, third = (found.inputs[0] for found in used.changed.values())
    assert (first.source, third.source) == ("source-2", "source-2")
    assert "29 kWh stands in [2]" in elsewhere and "stands" not in unnamed
    assert second.origin == "supposed" and "33 days (assumed" in digits


def test_models_are_told_which_inputs_count_as_assumed() -> None:
    used = Calculator({}, "Power costs 21.5 cents/kWh.", task="Take 40 vans at 0.215 €/kWh.")
    lines = ["Odd: 433 € / 40 (request)", "0.215 (request) * 28 kWh = EUR"]
    odd, power = used.calculate(lines)
    assumed = "[calc 1] Odd: 433 € / 40 = 10.82 €; 433 € (assumed, stands in nothing shown)"
    assert odd == f"{assumed}; 40 stands only in your task: assumed, unless the user wrote it"
    assert "0.215" not in power.partition("=")[2] and "28 kwh (assumed" in power.casefold()
    assert used.calculate([lines[0]]) == [assumed]
    assert used.changed["calc 2"].inputs[0].words == "Power costs 21.5 cents/kWh."


POWER = "Electricity costs us 21.5 cents per kWh, plus 74 EUR per kW of peak load."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (POWER, "26840 / 100 * 28 * 0.215 [1] = EUR/year"),
        (POWER, "7515 kWh * 0.215 [1] = EUR/year"),
        (POWER, "7515 kWh * 0.215 EUR/kWh [1]"),
        (POWER, "0.215 €/kWh * 7515 kWh"),
        (POWER, "215 €/MWh [1] * 7.5 MWh"),
        ("Service costs 3.6 ct/km.", "88 * 305 * 0.036 [1] = EUR/year"),
        ("It takes 0.215 € per kWh.", "21.5 cents/kWh [1] * 3 kWh"),
        ("It weighs 3.5 t.", "3500 kg [1] - 900 kg"),
        ("It weighs 0.4 kg.", "400 g * 7 = kg"),
        ("The coast is 1,250 m away.", "1.25 [1] * 7 = km"),
        ("The plant has 1 450 MW.", "1.45 GW [1] * 7"),
        ("Guests stay 36 hours.", "1.5 days [1] * 7"),
        ("The residual value is 16% of the price.", "34500 * 0.16 [1] = EUR"),
        ("Its power factor is 0.95.", "95 % [1] * 700"),
        ("The premium is 14 per cent higher.", "980 * 1.14 [1] = EUR"),
        ("VAT is 20 %.", "1620 / 1.2 [1] = EUR"),
        ("It loses 28 per cent of its range.", "300 km * 0.72 [1]"),
        ("Prices were between 27 and 41 per cent of it.", "44800 * 0.27 [1] = EUR"),
        ("Prices were 27–41 % of it.", "44800 * 0.27 [1] = EUR"),
        ("A branch has 1.2 million customers.", "1,200,000 [1] / 7"),
        ("A branch has 1,200,000 customers.", "1.2 million customers [1] / 7"),
    ],
)
def test_an_input_is_found_where_it_stands_in_another_unit(text: str, line: str) -> None:
    used = calculator("", {1: text})
    answers = used.calculate([line])
    [found] = used.changed.values()
    [stated] = [given for given in found.inputs if given.origin == "source"]
    assert stated.words and stated.words in text, answers
    if "[1]" in line:
        asked = calculator(text, {})
        asked.calculate([line.replace("[1]", "(request)")])
        [found] = asked.changed.values()
        assert "request" in {given.origin for given in found.inputs}
        findings = finding_with(found)
        [kept] = number_calculations(findings, (), text).calculations.values()
        assert kept.inputs == found.inputs


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # Nothing in the line is money, or the place is not named.
        (POWER, "7515 kWh * 0.215 [1] = kg"),
        (POWER, "7515 * 0.215 = EUR/year"),
        (POWER, "7515 kWh * 0.215 EUR/km [1]"),
        (POWER, "0.215 kg [1] * 3"),
        ("In 21.5 Centre Street.", "0.215 [1] * 7 = EUR"),
        ("The cable has 500 m.", "0.5 [1] * 7 = EUR"),
        ("The cable has 500 m.", "0.5 kg [1] * 7"),
        ("The cable has 500 m.", "5 km [1] * 7"),
        ("Service costs 3.6 ct/km.", "88 * 0.37 [1] = EUR"),
        ("The share is 16 %.", "34500 * 0.16 = EUR"),
        ("They met 3 years ago.", "36 months * 14 €/month"),
        ("The share is 16 %.", "0.16 € [1] * 20000"),
        ("The share is 16.", "0.16 [1] * 20000"),
        ("Version 0.16.2 of it.", "34500 * 16 % [1]"),
        ("The margin is 0.16 ct.", "34500 * 16 % [1]"),
        ("The premium is 14 per cent higher.", "980 * 1.24 [1] = EUR"),
        ("The premium is 14 per cent higher.", "980 * 1.14 kg [1]"),
        ("The premium is 14 EUR higher.", "980 * 1.14 [1] = kg"),
    ],
)
def test_an_input_is_not_found_in_a_unit_of_another_quantity(text: str, line: str) -> None:
    as_source, as_request = calculator("", {1: text}), calculator(text, {})
    as_source.calculate([line])
    as_request.calculate([line.replace("[1]", "(request)")])
    for used in (as_source, as_request):
        [found] = used.changed.values()
        assert {given.origin for given in found.inputs} <= {"supposed", "constant"}


UNITS = ("km", "m", "cm", "kg", "g", "t", "kWh", "MWh", "kW", "MW", "€", "cents", "%", "")


@given(st.integers(13, 99_999), st.sampled_from(UNITS), st.sampled_from(UNITS), st.integers(-3, 3))
@settings(max_examples=60)
def test_digits_alone_are_no_other_unit(digits: int, stated: str, wanted: str, power: int) -> None:
    value = digits * 10.0**power
    used = calculator("", {1: f"The measured value is {digits} {stated} today."})
    used.calculate([f"{value:.5f} [1] * 7 kelvins = {wanted}".rstrip(" =")])
    factors = {
        ("km", "m"): -3, ("km", "cm"): -5, ("m", "km"): 3, ("m", "cm"): -2, ("cm", "m"): 2,
        ("cm", "km"): 5, ("kg", "g"): -3, ("kg", "t"): 3, ("g", "kg"): 3, ("g", "t"): 6,
        ("t", "kg"): -3, ("t", "g"): -6, ("kWh", "MWh"): 3, ("MWh", "kWh"): -3, ("kW", "MW"): 3,
        ("MW", "kW"): -3, ("€", "cents"): -2, ("cents", "€"): 2,
    }  # fmt: skip
    for found in used.changed.values():
        is_converted = factors.get((wanted, stated)) == power or (stated == "%" and power == -2)
        is_found = found.inputs[0].origin == "source"
        assert is_found == (is_converted or power == 0) or found.inputs[0].origin == "constant"


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("4500 € [calc 1] / 450 €/year [1] = years", "[calc 1] / 450 €/year = 10 years"),
        ("(4,500 [calc 1] + 12000 € [1]) * 2", "([calc 1] + 12000 €) * 2 = 33000 €"),
        ("2 * 10.0 years [calc 2]", "2 * [calc 2] = 20 years"),
        ("4600 € [calc 1] * 2 = €", "4600 € [calc 1] * 2 = 9200 €; 4600 € (assumed"),
        ("12000 € [1] + 500 € [calc 3]", "12000 € + 500 € [calc 3] = 12500 €; 500 € (assumed"),
    ],
)
def test_a_number_beside_the_calculation_that_it_comes_from_is_its_result(
    line: str, result: str
) -> None:
    used = calculator()
    used.calculate([NET, PAYBACK, "Loss: 7500 € [2] - 8000 € = €"])
    [answer] = used.calculate([f"Asked: {line}"])
    assert result in answer.replace("\u202f", "")


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("[calc 1] / 100 * 12000 € [1] = €", "[calc 1] * 12000 € = 6000 €"),
        ("20 % / 100 * 12000 € [1] = €", "20 % * 12000 € = 2400 €"),
        ("[calc 2] / 100 = €", "[calc 2] / 100 = 25 €"),
    ],
    ids=["a result in percent", "a percentage", "an amount"],
)
def test_a_percentage_is_not_divided_by_its_hundred_twice(line: str, result: str) -> None:
    used = calculator()
    lines = ["Growth: (7500 € [2] - 5000 € [2]) / 5000 € [2] = %", "Rise: 7500 € [2] - 5000 € [2]"]
    used.calculate(lines)
    [answer] = used.calculate([f"Asked: {line}"])
    assert result in answer.replace("\u202f", "")


def test_the_same_line_is_calculated_once() -> None:
    used = calculator()
    first, again = used.calculate([NET, "The net price again: 12000 € [1] - 7500 € [2]"])
    assert first == again == "[calc 1] Net price: 12000 € - 7500 € = 4500 €"


@given(st.integers(1, 11_999))
@settings(max_examples=20)
def test_what_rests_on_a_changed_calculation_follows(grant: int) -> None:
    used = calculator(f"The grant is {grant} €.")
    used.calculate([NET, PAYBACK, "In months: [calc 2] in months"])
    used.calculate([f"[calc 1] = 12000 € [1] - {grant} € (request)"])
    net, payback, months = used.changed.values()
    assert net.value == 12_000 - grant and net.name == "Net price"
    assert payback.value == pytest.approx(net.value / 450)
    assert months.value == pytest.approx(payback.value * 12)
    [refused] = used.calculate(["[calc 1] = [calc 3] * 2"])
    assert "it rests on [calc 1] itself" in refused


def test_a_calculation_that_was_made_twice_is_changed_once() -> None:
    used = calculator("The grant is 6000 €.")
    again = "Net price: 12 thousand € [1] - 7.5 thousand € [2] = thousand €"
    other = "Rest of the price: 12000.0 € [1] - 7500 € [2]"
    used.calculate([again, NET, PAYBACK.replace("calc 1", "calc 2"), other, PAYBACK])
    lines = used.calculate(["[calc 2] = 12000 € [1] - 6000 € (request)"])
    assert lines == [
        "[calc 2] Net price: 12000 € - 6000 € = 6000 €",
        "[calc 3] Payback: [calc 2] / 450 €/year = 13.33 years",
        "[calc 1] Net price: 12000 € - 6000 € = 6 thousand €",
        "[calc 5] Payback: [calc 1] / 450 €/year = 13.33 years",
        "[calc 4] Rest of the price: was the same, and stays 4500 €",
    ]


def test_an_equation_is_changed_like_any_line_and_what_cannot_be_made_anew_is_named() -> None:
    used = calculator()
    used.calculate(["Break-even: x * 450 € [1] = 7500 € [2]", "Its inverse: 1 / ([calc 1] - 10)"])
    half, _inverse = used.calculate(["[calc 1] = x * 450 € [1] = 5000 € [2]"])
    assert half == "[calc 1] Break-even: x * 450 € = 5000 €; x = 11.11" and not used.failed
    # It divides by zero now, and is left as it was.
    anew, inverse, refused = used.calculate(["[calc 1] = 10", "[calc 2] = [calc 4]"])
    assert (
        anew == "[calc 1] Break-even: 10 = 10"
        and "not calculated anew, since it divides" in inverse
    )
    assert used.failed == {"calc 2": "there is no [calc 4]"} and "no [calc 4]" in refused
    assert used.changed["calc 2"].value == pytest.approx(0.9)
    used.calculate(["[calc 2] = 1 / 10"])
    assert not used.failed
    [share] = used.calculate(["[calc 2] = x * 450 € [1] = 90 € = %"])
    assert share.startswith("[calc 2] Its inverse: x * 450 € = 90 €; x = 20 %;")
    # The earlier result may also stand in an equation.
    assert used.calculate(["[calc 1] = 4 * x"]) == ["[calc 3] [calc 1] = 4 * x; x = 2.5"]
    many = used.calculate([f"{number} + 1" for number in range(100, 142)])
    assert "only 40 lines" in many[-1] and "= 140" in many[39]


def test_a_bare_number_without_source_is_found_in_no_amount_of_another_kind() -> None:
    texts = {1: "The cap is 165 florins a month.", 2: "The fee is 45 per cent of the rates."}
    used = calculator(texts=texts)
    used.calculate(["Cap: 45 * 165 florins [1]"])
    [months, cap] = used.changed["calc 1"].inputs
    assert (months.origin, cap.origin) == ("supposed", "source")
    used.calculate(["Share: 45 [2] * 8 = florins"])
    assert used.changed["calc 2"].inputs[0].source == "source-2"


def test_a_hundred_that_turns_a_percentage_into_a_share_is_no_sign_of_percent() -> None:
    used = calculator(texts={1: "Gross margin was 42.5 %. EBITDA was 0.4 million pounds, of 36."})
    [of_margin] = used.calculate(["Share lost: 0.4 [1] / (42.5 [1] / 100 * 36 [1]) = %"])
    [of_base] = used.calculate(["Share: 0.4 [1] / (36 [1] / 100) = %"])
    assert of_margin.endswith("= 2.614 %")
    assert of_base.endswith("= 1.111 %")


def test_a_rate_per_hundred_needs_numbers_with_their_units() -> None:
    used = calculator(texts={1: "It draws 33.6 kWh/100 km. The charger passes on 0.9 of it."})
    [bare] = used.calculate(["Mains: 33.6 [1] / 0.9 [1] = kWh/100 km"])
    [full] = used.calculate(["Mains: 33.6 kWh/100 km [1] / 0.9 [1] = kWh/100 km"])
    assert "not calculated, since kWh/100 km needs numbers with their units" in bare
    assert full.endswith("= 37.33 kWh/100 km")


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("1,760 €/year [1] / 12 = €/month", "146.7 €/month"),
        ("1,760 €/year [1] = €/month", "146.7 €/month"),
        ("1.5 t [1] * 1000 = kg", "1500 kg"),
        ("1.5 t [1] = kg", "1500 kg"),
    ],
)
def test_a_result_is_converted_once_also_where_the_line_has_the_factor(
    line: str, result: str
) -> None:
    text = "Entry costs 1,760 € a year. It weighs 1.5 t."
    [answer] = calculator(texts={1: text}).calculate([line])
    assert answer.endswith(f"= {result}"), answer


TERM = "The lease ran from January 2021 to July 2024 at 1,200 € a month."
DAYS = st.dates(date(1990, 1, 1), date(2040, 12, 31))


@given(DAYS, DAYS, st.sampled_from([("years", 365.25), ("months", 30.4375), ("days", 1.0)]))
@example(date(2021, 1, 1), date(2024, 7, 1), ("months", 30.4375))
@example(date(1999, 7, 30), date(2002, 1, 16), ("months", 30.4375))
@settings(max_examples=50)
def test_a_period_between_two_dates_is_no_assumption_and_another_one_is(
    signed: date, end: date, unit: tuple[str, float]
) -> None:
    name, days = unit
    length = abs((end - signed).days) / days
    rounded = round(length, 1 if name == "years" else 0)
    wrong = rounded + 131.5
    texts = {1: f"It was signed on {signed} and ends on {end}; rent is 1,234.56 € a day."}
    for figure in (rounded, wrong):
        used = calculator(texts=texts)
        used.calculate([f"{figure:g} {name} [1] * 1,234.56 €/day [1]"])
        [period, _] = used.changed["calc 1"].inputs
        # Months differ in length; a day more or less may round up or down.
        is_near_half = abs(abs(length - rounded) - (0.05 if name == "years" else 0.5)) < 0.1
        if figure == wrong:
            # It may be near a conversion factor, such as 365.
            assert period.origin in ("supposed", "constant") and not period.dates
        elif rounded > 12 and not is_near_half:
            assert (
                period.origin == "source"
                and period.dates == f"{min(signed, end)} – {max(signed, end)}"
            )


@pytest.mark.parametrize(
    ("line", "dates"),
    [
        ("3.5 years [1] * 14,400 €/year", "January 2021 – July 2024"),
        ("3.5 years * 1,200 €/month [1]", "January 2021 – July 2024"),
        ("14,400 € [1] / 3.5 [1] = €/year", "January 2021 – July 2024"),
        ("42 months * 1,200 €/month [1]", "January 2021 – July 2024"),
        ("24 months [2] * 1,200 €/month", "January 2019 – December 2020"),
        ("20 years [3] * 1,200 €/year", "2009 – 2029"),
        ("3.5 years * 900 homes (request)", "June 2026 – December 2029"),
        ("3.5 years [3] * 1,200 €/month [3]", ""),
        ("23 years [3] * 1,200 €/month", ""),
    ],
)
def test_a_period_shows_the_two_dates_from_which_it_follows(line: str, dates: str) -> None:
    later = "Funds flow from January 2019 to December 2020."
    texts = {1: TERM, 2: later, 3: "The term of the loan is 2009 to 2029."}
    request = "We have 900 homes, let from June 2026 to December 2029."
    used = calculator(request, texts)
    used.calculate([line])
    inputs = used.changed["calc 1"].inputs
    assert [given.dates for given in inputs if given.dates] == [dates] * bool(dates)
    keys = {"source-1": 1, "source-2": 2, "source-3": 3}
    listed = ", ".join(inputs_of(used.changed["calc 1"], labels("en"), keys))
    assert dates in listed
    finding = Finding(
        id="a",
        question_id="q",
        cycle=1,
        position=1,
        task="",
        text="",
        ended="done",
        calculations=tuple(used.changed.values()),
    )
    numbered = number_calculations({"a": finding}, (), request).calculations["calc 1"]
    assert [given.dates for given in numbered.inputs] == [given.dates for given in inputs]
    assert [given.origin for given in numbered.inputs] == [given.origin for given in inputs]


RATES = [("kWh/100km", "kWh"), ("l/100 km", "l"), ("€ per 100 km", "€"), ("g/1,000 km", "g")]


@given(st.integers(1, 999), st.sampled_from(RATES), st.sampled_from(["{} {}", "{} [1] {}"]))
@settings(max_examples=50)
def test_a_rate_per_hundred_counts_its_hundred_once(
    amount: int, rate: tuple[str, str], written: str
) -> None:
    unit, above = rate
    count = 1000 if "1,000" in unit else 100
    used = calculator(texts={1: f"It is {amount} {unit}, and {amount} {above} for {count} km."})
    figure = written.format(amount, unit)
    lines = [
        f"{figure} * 300 km = {above}",
        f"{figure} / {count} * 300 km = {above}",
        f"(0 + {amount}) {unit} * 300 km = {above}",
        f"{figure} * {count} = {unit}",
        f"{amount} {above} [1] / {7 * count} km * {count} * 7 = {unit}",
        f"{amount} {above} [1] / ({7 * count} km / {count}) * 7 = {unit}",
        f"{amount} {above} [1] / {7 * count} km * {count} km * 7 = {unit}",
        f"{amount} {above} [1] / {figure} = km",
        f"{amount} {above} [1] / {figure} * {count} = km",
    ]
    answers = used.calculate(lines)
    values = [found.value * count for found in used.changed.values()]
    of_300, again, bracket, rate_again, *rates, distance, distance_again = values
    assert [of_300, again, bracket] == pytest.approx([amount * 300] * 3)
    assert [rate_again, *rates] == pytest.approx([amount] * 4), answers
    assert [distance, distance_again] == pytest.approx([count * count] * 2)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("24.5 [1] kWh * 0.3 [1] €/kWh = €", "7.35 €"),
        ("80 [1] % * 50 kWh", "40 kWh"),
        ("12 cases / 48000 people * 100,000 = cases/100,000 people", "25 cases/100,000 people"),
        ("120 € / 100 km [1] = €/km", "1.2 €/km"),
        ("120 € / 100 €", "1.2"),
    ],
)
def test_units_may_stand_behind_the_source_and_have_a_count(line: str, result: str) -> None:
    assert last_of(line).result == result


def test_later_lines_name_earlier_ones_by_their_place_although_one_was_refused() -> None:
    lines = ["2 + 3", "5 / 0", "7 * 2", "[calc 1] + [calc 3]", "[calc 2] + 1"]
    first, refused, third, total, on_refused = Calculator({}, "").calculate(lines)
    assert first.startswith("[calc 1]") and third.startswith("[calc 3]")
    assert total.startswith("[calc 4]") and "= 19" in total
    assert "not calculated" in refused and "there is no [calc 2]" in on_refused


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It pays back in 10 years [calc 2].", "It pays back in 13 years [calc 2]."),
        ("10.0 years [calc 2] at 4,500 € [calc 1]", "13.3 years [calc 2] at 6,000 € [calc 1]"),
        ("| Net | 4.500 € [calc 1] | 10 [calc 2] |", "| Net | 6.000 € [calc 1] | 13 [calc 2] |"),
        ("€4.5 thousand [calc 1] [1]", "€6.0 thousand [calc 1] [1]"),
        ("In 10 of 12 towns it is so [1].", "In 10 of 12 towns it is so [1]."),
        ("It takes a decade [calc 2].", "It takes a decade [calc 2]."),
    ],
)
def test_cited_figures_follow_their_calculation(before: str, after: str) -> None:
    used = calculator("The grant is 6000 €.")
    used.calculate([NET, PAYBACK])
    old = dict(used.changed)
    used.calculate(["[calc 1] = 12000 € [1] - 6000 € (request)"])
    assert used.with_new_results(before, old) == after


def test_calculations_of_a_round_get_their_numbers_in_the_order_of_the_tasks() -> None:
    findings = dict[str, Finding]()
    for position, request in enumerate(("We have 900 homes.", "We have 7 homes.")):
        used = calculator(request)
        used.calculate([NET, PAYBACK, f"All: [calc 1] * {900 - 893 * position} homes (request)"])
        finding = Finding(
            id=str(position),
            question_id="q",
            cycle=0,
            position=1 - position,
            task="",
            text="",
            numbered="Net 4500 [calc 1], all [calc 3], none [calc 8].",
            ended="done",
            calculations=tuple(used.changed.values()),
        )
        findings[finding.id] = finding
    numbered = number_calculations(findings, (), REQUEST)
    assert [numbered.findings[key].numbered for key in ("1", "0")] == [
        "Net 4500 [calc 1], all [calc 3], none.",
        "Net 4500 [calc 4], all [calc 6], none.",
    ]
    last = numbered.calculations["calc 6"]
    assert (last.formula, [*last.rests_on]) == ("[calc 4] * 900 homes", [4]) and last.is_proved
    # The task said so, not the user.
    assert not numbered.calculations["calc 3"].is_proved


def finding_with(*calculations: Calculation) -> dict[str, Finding]:
    found = Finding(
        id="0",
        question_id="q",
        cycle=0,
        position=0,
        task="",
        text="",
        ended="done",
        calculations=calculations,
    )
    return {found.id: found}


def test_citations_of_calculations_are_read_in_several_forms() -> None:
    text = "A [Calc. 1], b [calc 2, 3], c [5, calc 2] and `[calc 3]` [calc 9]."
    assert with_calculations(text, {1: 4, 2: 5, 3: 6}) == (
        "A [calc 4], b [calc 5] [calc 6], c [5] [calc 5] and `[calc 3]`.",
        1,
    )
    assert cited_calculations(text) == (1, 2, 3, 9)


def test_the_list_below_a_report_leads_from_each_citation_and_is_no_part_of_its_text() -> None:
    used = calculator()
    used.calculate([NET, PAYBACK, "Odd: 433 € / [calc 1]"])
    text = "It pays back in 10 years [calc 2].\n\n## Calculations\n\nNone is ours."
    report = Report(text=text, sources=(), numbers=(), calculations=tuple(used.changed.values()))
    document = write_document(report, (), ("A note.",), labels("en"), was_researched=True)
    for line in (
        "- [calc 1] Net price: 12000 € - 7500 € = 4500 €",
        "- [calc 2] Payback: [calc 1] / 450 €/year = 10 years",
        "- [calc 3] Odd: 433 € / [calc 1] = 0.09622 — 433 € (assumed)",
        "[calc 2]: <#calculations>",
    ):
        assert line in document
    assert read_body(document) == text
    assert "[calc 1]" not in read_foreign(document, ()).text


def test_a_result_in_the_scale_of_its_unit_stays_in_it_in_later_lines() -> None:
    lines = ["3.1 * 25 % = £ million", "[calc 1] * 2 = £ million", "[calc 2] / 31 = %"]
    # The unit may stand only in the name.
    lines += ["Sales, £ million: 31 * 3.1", "[calc 4] * 25 / 100 = £ million"]
    calculator = Calculator({}, "3.1, 25 % and 31")
    calculator.calculate(lines)
    results = [found.result for found in calculator.changed.values()]
    assert results == ["0.775 £ million", "1.55 £ million", "5 %", "96.1", "24.02 £ million"]
