"""Numbers are read in ten languages, in each notation, with sign, scale and unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
from babel.numbers import (
    format_compact_currency,
    format_compact_decimal,
    format_currency,
    format_decimal,
    format_percent,
)
from babel.units import format_unit
from hypothesis import given
from hypothesis import strategies as st
from kit.work import steps_of

from deep_research.core.evidence.text.numbers import (
    Number,
    fractions_in,
    measures_alone_in,
    measures_in,
    numbers_in,
    plain_figures,
)

SENTENCES = {
    "en": "The harbour counted {} in that period.",
    "de": "Der Hafen zählte {} in diesem Zeitraum.",
    "fr": "Le port a compté {} pendant cette période.",
    "es": "El puerto contó {} en ese período.",
    "it": "Il porto ha contato {} in quel periodo.",
    "pt": "O porto contou {} nesse período.",
    "ru": "Порт насчитал {} за этот период.",
    "hi": "बंदरगाह पर {} दर्ज हुए।",
    "zh": "港口共统计{}。",
    "ja": "港では{}を数えた。",
}
MINUS_WORDS = {
    "en": "minus ", "de": "minus ", "fr": "moins ", "es": "menos ", "it": "meno ", "pt": "menos ",
    "ru": "минус ", "hi": "माइनस ", "zh": "负", "ja": "マイナス",
}  # fmt: skip
CURRENCIES = {"USD": ("$", "usd"), "EUR": ("€",), "INR": ("₹",), "JPY": ("yen", "¥"), "RUB": ("₽",)}
UNITS = {
    "length-kilometer": "km",
    "mass-kilogram": "kg",
    "duration-hour": "hour",
    "area-square-meter": "m²",
    "volume-liter": "litre",
    "energy-kilowatt-hour": "kwh",
    "temperature-celsius": "°c",
}
DEVANAGARI = str.maketrans("0123456789", "०१२३४५६७८९")
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Written(NamedTuple):
    """A number as a language writes it, and how it has to be read."""

    text: str
    value: float
    measures: tuple[str, ...] = ("",)


Notation = Callable[[float, str], Written]


def grouped(value: float, code: str) -> Written:
    return Written(format_decimal(value, locale=code), value)


def grouped_as_in_switzerland(value: float, code: str) -> Written:
    return Written(f"{value:,}".replace(",", "’"), value)


def grouped_by_spaces(value: float, code: str) -> Written:
    return Written(f"{value:,}".replace(",", "\u202f").replace(".", ","), value)


def in_digits_of_the_language(value: float, code: str) -> Written:
    digits = DEVANAGARI if code == "hi" else FULL_WIDTH
    return Written(format_decimal(value, locale=code).translate(digits), value)


def with_a_scale_word(value: float, code: str) -> Written:
    if is_read_as_english(value, code):
        return grouped(value, code)
    length = "short" if code in ("zh", "ja") else "long"
    text = format_compact_decimal(value, format_type=length, locale=code, fraction_digits=2)  # type: ignore[arg-type]
    return Written(text, value)


def as_short_money(value: float, code: str) -> Written:
    if is_read_as_english(value, code):
        return as_money("USD")(value, code)
    text = format_compact_currency(value, "USD", locale=code, fraction_digits=2)
    return Written(text, value, CURRENCIES["USD"])


def is_read_as_english(value: float, code: str) -> bool:
    """Whether it is five billion, which is a million millions only after a decimal comma."""
    return code in ("fr", "es") and value >= 1e12 and value % 1e12 == 0


def as_power_of_ten(value: float, code: str) -> Written:
    exponent = len(str(int(value))) - 1
    figure = format_decimal(round(value / 10**exponent, 2), locale=code)
    return Written(f"{figure} × 10^{exponent}", round(value / 10**exponent, 2) * 10.0**exponent)


def as_raised_power_of_ten(value: float, code: str) -> Written:
    plain = as_power_of_ten(value, code)
    figure, _, exponent = plain.text.partition("^")
    return plain._replace(text=figure.replace("×", "·") + exponent.translate(SUPERSCRIPT))


def as_floating_point(value: float, code: str) -> Written:
    return Written(f"{value:.4e}", float(f"{value:.4e}"))


def with_a_half(value: float, code: str) -> Written:
    whole = int(value) % 1000
    return Written(f"{whole}½" if whole else "½", whole + 0.5)


def as_percentage(value: float, code: str) -> Written:
    percent = round(value % 1000, 1)
    text = format_percent(percent / 100, locale=code, decimal_quantization=False)
    return Written(text, percent, ("%",))


def as_money(currency: str) -> Notation:
    def write(value: float, code: str) -> Written:
        text = format_currency(value, currency, locale=code, decimal_quantization=False)
        return Written(text, value, CURRENCIES[currency])

    return write


def with_a_unit(unit: str, length: str) -> Notation:
    def write(value: float, code: str) -> Written:
        text = format_unit(value, unit, length=length, locale=code)  # type: ignore[arg-type]
        if unit in text or not text[0].isdigit():
            # Babel has no words for it here, or puts them on both sides.
            return grouped(value, code)
        return Written(text, value, (UNITS[unit],))

    return write


def in_chinese(value: float, code: str) -> Written:
    whole = int(value) % 10**8
    characters = chinese(whole)
    return Written(
        characters if len(characters) > 1 else "十二", whole if len(characters) > 1 else 12
    )


def chinese(value: int) -> str:
    """Write a number below a hundred million, such as 三万零二百."""
    if value >= 10_000:
        rest = value % 10_000
        written = chinese(value // 10_000) + "万"
        return written + (("零" if rest < 1000 else "") + chinese(rest) if rest else "")
    written = ""
    for size, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // size % 10
        if digit:
            written += "〇一二三四五六七八九"[digit] + unit
        elif written and value % size and not written.endswith("零"):
            written += "零"
    return written


EVERYWHERE: list[Notation] = [
    grouped,
    with_a_scale_word,
    as_short_money,
    as_power_of_ten,
    as_raised_power_of_ten,
    as_floating_point,
    with_a_half,
    as_percentage,
    *map(as_money, CURRENCIES),
    *(with_a_unit(unit, "long") for unit in UNITS),
]
OWN: dict[str, list[Notation]] = {
    "de": [grouped_as_in_switzerland, grouped_by_spaces],
    "it": [grouped_as_in_switzerland],
    "fr": [grouped_by_spaces],
    "pt": [grouped_by_spaces],
    "es": [grouped_by_spaces],
    "hi": [in_digits_of_the_language],
    "zh": [in_digits_of_the_language, in_chinese],
    "ja": [in_digits_of_the_language, in_chinese],
}
SIGNS = {"": 0, "-": -1, "−": -1, "–": -1, "+": 1, "minus": -1}
# Three digits, so that no notation has to round them.
VALUES = st.builds(
    lambda digits, power: float(round(digits * 10.0 ** (power - 1), 2)),
    st.integers(101, 999),
    st.integers(0, 11),
)


@given(st.data(), VALUES, st.sampled_from([*SENTENCES]), st.sampled_from([*SIGNS]))
def test_a_number_is_read_as_its_language_writes_it(
    data: st.DataObject, value: float, code: str, sign: str
) -> None:
    notation = data.draw(st.sampled_from([*EVERYWHERE, *OWN.get(code, [])]))
    written = notation(value, code)
    mark = MINUS_WORDS[code] if sign == "minus" else sign
    text = SENTENCES[code].format(mark + written.text)
    [number] = numbers_in(text)
    assert math.isclose(number.value, written.value, rel_tol=1e-9), text
    assert number.measure in written.measures, text
    assert number.sign == SIGNS[sign], text
    assert number.words in text and number.words == text[number.start : number.end]
    assert not fractions_in(text)


PIECES = [
    *"0123456789.,'-−–+(%)½⅞^×x*/€$ 　\n|:\"″亿万半个十三分之点年",
    *("10", "e6", "² ", "⁻³", "mil ", "million ", "a ", "half ", "third ", "USD", "लाख ", "and "),
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_text_is_read_and_offsets_are_in_order(text: str) -> None:
    numbers = [*numbers_in(text), *fractions_in(text)]
    for number in numbers:
        assert 0 <= number.start < number.end <= len(text)
        assert math.isfinite(number.value) and number.step > 0
    starts = [number.start for number in numbers_in(text)]
    assert starts == sorted(starts)
    assert measures_alone_in(text) <= measures_in(text)


def read(text: str) -> Number:
    [number] = numbers_in(text)
    return number


@pytest.mark.parametrize(
    ("text", "value", "measure"),
    [
        ("3½ years", 3.5, "year"),
        ("¾ inch", 0.75, "inch"),
        ("2 1/2 miles", 2.5, "mile"),
        ("5⅜ km", 5.375, "km"),
        ("2.4 × 10^6 candela", 2_400_000, ""),
        ("6,02·10²³ Teilchen", 6.02e23, ""),
        ("3 x 10^-2 mm", 0.03, "mm"),
        ("10^9 cells", 1e9, ""),
        ("1.5e6 units", 1_500_000, ""),
        ("4E-3 g", 0.004, "g"),
        ("6.5e+02 km", 650, "km"),
        ("25 млн рублей", 25_000_000, "₽"),
        ("3,5 трлн долларов", 3.5e12, "$"),
        ("140 тыс. человек", 140_000, ""),
        ("3.2亿元", 320_000_000, "yuan"),
        ("1亿2000万人", 120_000_000, ""),
        ("5.6万吨", 56_000, "tonne"),
        ("三亿二千万人", 320_000_000, ""),
        ("二十五万円", 250_000, "yen"),
        ("3百万ドル", 3_000_000, "$"),
        ("₹4,50,000", 450_000, "₹"),
        ("12 lakh rupees", 1_200_000, "₹"),
        ("Rs. 500 crore", 5_000_000_000, "₹"),
        ("5 crore 20 lakh people", 52_000_000, ""),
        ("डेढ़ लाख रुपये", 150_000, "₹"),
        ("१२,३४,५६७ रुपये", 1_234_567, "₹"),
        ("４５０ km", 450, "km"),
        ("٤٥٠ كم", 450, ""),
        ("USD 3.2m", 3_200_000, "usd"),
        ("MUSD 3", 3, ""),
        ("12 MEUR", 12_000_000, "€"),
        ("3,2 Mio. €", 3_200_000, "€"),
        ("5.4 Mrd. Euro", 5_400_000_000, "€"),
        ("A$5bn", 5_000_000_000, "aud"),
        ("3 millions d'euros", 3_000_000, "€"),
        ("2 mil millones de euros", 2_000_000_000, "€"),
        ("1,2 billion d'euros", 1.2e12, "€"),
        ("1.2 billion euros", 1.2e9, "€"),
        ("1'234'567 CHF", 1_234_567, "chf"),
        ("1 234 567,8 m", 1_234_567.8, "metre"),
        ("1.234.567,8 Euro", 1_234_567.8, "€"),
        ("1,234.567 km", 1234.567, "km"),
        ("0.125 t", 0.125, "tonne"),
        ("12.500.000 Stück", 12_500_000, ""),
        ("two million people", 2_000_000, ""),
        ("two hundred and fifty thousand boats", 250_000, ""),
        ("ninety-five kilograms", 95, "kg"),
        ("quatre-vingt-quinze heures", 95, "hour"),
        ("treinta y dos kilómetros", 32, "km"),
        ("an hour and a half", 1.5, "hour"),
        ("two and a half times", 2.5, ""),
        ("anderthalb Stunden", 1.5, "hour"),
        ("trois heures et demie", 3.5, "hour"),
        ("dos años y medio", 2.5, "year"),
        ("полтора года", 1.5, "year"),
        ("一个半小时", 1.5, "hour"),
        ("3年半", 3.5, "year"),
        ("half a year", 0.5, "year"),
        ("a quarter of an hour", 0.25, "hour"),
        ("eine halbe Stunde", 0.5, "hour"),
        ("半年", 0.5, "year"),
        ("half a million people", 500_000, ""),
        ("百分之三点五", 3.5, "%"),
    ],
)
def test_each_notation_gives_the_value_and_the_unit(text: str, value: float, measure: str) -> None:
    number = read(f"x {text}.")
    assert math.isclose(number.value, value, rel_tol=1e-9)
    assert number.measure == measure


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("The result was −5 °C.", -1),
        ("The result was –5 °C.", -1),
        ("The result was minus 5 °C.", -1),
        ("Das Ergebnis: -€5 Mio.", -1),
        ("A loss of $-5m", -1),
        ("Net income was (1,250) thousand euros.", -1),
        ("Net income: (12.4)", -1),
        ("| Net income | (3,400) |", -1),
        ("The result was ($3.2m).", -1),
        ("営業利益 ▲1,250百万円", -1),
        ("It changed by +18,979.", 1),
        # Hyphens, remarks in brackets, and years.
        ("It takes ten-15 days.", 0),
        ("The van (95) is older.", 0),
        ("As shown in (3), it fell.", 0),
        ("A sixth of it (17%) is left.", 0),
        ("It was built early (1,250 tonnes).", 0),
        ("That was in (2024).", 0),
        ("It is open — 5 days.", 0),
        ("The width—5 km—is known.", 0),
        ("It was open in 2019 –2024.", 0),
    ],
)
def test_a_minus_of_any_kind_makes_a_number_negative(text: str, sign: int) -> None:
    assert {number.sign for number in numbers_in(text)} >= {sign}
    if sign != -1:
        assert all(number.sign != -1 for number in numbers_in(text))


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("Prices fell by 3.5 %.", -1),
        ("a decline of almost 3.5 %", -1),
        ("Der Umsatz ist um 3,5 % gesunken.", -1),
        ("une baisse de 3,5 %", -1),
        ("同比下降3.5%", -1),
        ("Prices grew by 3.5 %.", 1),
        ("an increase of 3.5 %", 1),
        ("выручка выросла на 3,5 %", 1),
        ("growth of 3.5 %", 1),
        ("a loss of 3.5 %", -1),
        # What changes is no change.
        ("a fall in profit of 3.5 %", -1),
        ("a fall in growth of 3.5 %", -1),
        ("Losses grew by 3.5 %.", 1),
        ("Prices fell and 3.5 % were left.", 0),
        # A level, and no change.
        ("Prices fell to 3.5 %.", 0),
        ("Der Umsatz ist auf 3,5 % gesunken.", 0),
        ("more than 3.5 %", 0),
        ("Prices fell; 3.5 % were left.", 0),
    ],
)
def test_words_beside_a_number_state_its_direction(text: str, direction: int) -> None:
    assert read(text).direction == direction


@pytest.mark.parametrize("name", ["LX-40", "COVID-19", "E-350", "Falcon-9", "KLX-300", "ЛХ-40"])
def test_a_number_joined_to_a_name_is_part_of_it(name: str) -> None:
    number = read(f"The {name} was measured.")
    assert number.is_name and number.name == name and not number.sign


@pytest.mark.parametrize("text", ["mid-2024", "Mid-2024", "10-15", "sub-10 ms", "twenty-15", "(-7"])
def test_other_numbers_behind_a_hyphen_are_no_names(text: str) -> None:
    assert not any(number.is_name for number in numbers_in(text))


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ('A 14" screen', "inch"),
        ("A 27″ wheel", "inch"),
        ('Two 9.5" discs and a "new" one', "inch"),
        ('A 27" screen and a 14" wheel', "inch"),
        ("a 14-inch screen", "inch"),
        ('She said: "We sold 14" and left.', ""),
        ("“It holds 14”", ""),
        ('"a 5" b "7" c', ""),
    ],
)
def test_an_inch_sign_is_a_unit_and_a_closing_quotation_mark_is_none(
    text: str, measure: str
) -> None:
    assert {number.measure for number in numbers_in(text) if not number.is_word} == {measure}


@pytest.mark.parametrize(
    "text",
    [
        "two quarters of a year",
        "in one quarter of the year",
        "Waiting two quarters costs more.",
        "the third quarter of 2025",
        "It costs £300 a quarter.",
        "the third longest",
        "the fifth largest and the tenth smallest",
        "a third party",
        "the first half of 2025",
        "el cuarto trimestre",
        "le cinquième étage",
        "an hour and a half",
        "half a year",
        "第三季度",
        "上半年",
    ],
)
def test_ordinals_periods_and_halves_of_units_are_no_fractions(text: str) -> None:
    assert not fractions_in(text)


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("three quarters of the fleet", 75),
        ("a third of it", 100 / 3),
        ("two thirds are older", 200 / 3),
        ("It fell by a quarter.", 25),
        ("a quarter of the year's sales", 25),
        ("half of them", 50),
        ("zwei Drittel", 200 / 3),
        ("un tiers des trains", 100 / 3),
        ("la mitad", 50),
        ("треть", 100 / 3),
        ("三分之二", 200 / 3),
        ("3分の2", 200 / 3),
    ],
)
def test_fractions_of_a_whole_are_percentages(text: str, percent: float) -> None:
    [fraction] = fractions_in(text)
    assert math.isclose(fraction.value, percent) and fraction.measure == "%"
    assert not [number for number in numbers_in(text) if not number.is_word]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2026-10-08", [2026, 8]),
        ("08.10.2026", [2026, 8]),
        ("2026年10月8日", [2026, 8]),
        ("8 October 2026", [8, 2026]),
        ("2024-26", [2024, 2026]),
        ("2024/25", [2024, 2025]),
        ("5,10,15", [5, 10, 15]),
        ("version 1.2.3", []),
        ("in the 1990s", [1990]),
        ("25 Cent", [25]),
        ("once a year", []),
        ("cut 10-15 %", [10, 15]),
    ],
)
def test_dates_lists_and_versions_give_their_numbers(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers_in(text)] == values
    assert not any(number.has_scale for number in numbers_in(text))


def test_figures_are_compared_without_grouping_in_any_notation() -> None:
    text = "1,250 and 1.234,5 and 1’234’567 and 4,50,000 and १२"
    assert plain_figures(text) == {"1250", "1234.5", "1234567", "450000", "12"}
    # Spaces may also separate the columns of a table.
    assert plain_figures("120 130") == {"120130", "120", "130"}


def test_a_text_is_read_once_for_its_numbers_and_its_fractions() -> None:
    text = "A third of the 1,250 tonnes went to Anlow, 7 % more than in 2019. " * 5
    steps = steps_of(partial(numbers_in, text))
    assert steps_of(partial(fractions_in, text)) < steps / 10
