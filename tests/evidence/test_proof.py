"""A model's "supported" is proved by words of a source, and by the numbers in them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deep_research.core.evidence.checking.proof import Grounds, Known, Proof, prove
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import report_units

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
CARRIED = "The ferry carried 1.2 million people, and Hulm has 38 houses."
SOURCES = {
    "a": Known([SourceText("a", TEXT)], "Accounts 2025 2026-03-12"),
    "b": Known(
        [SourceText("b", f"{CARRIED} It has 1.2 million people and 1.6 million boats.")], "Courier"
    ),
}
VOSS, ROW = "revenue of £38.4m (2024: £35.9m)", "| Sanna | 8.60 | 31.50 |"
SHARES = "The town paid 60% of £48m, the region 40%."


def message(found: Proof) -> str:
    """What a proof lacks, for the reader."""
    return found.doubt.message if found.doubt else ""


def proof(statement: str, words: str, *calculations: str) -> Proof:
    units = report_units(statement, {1: "a", 2: "b"})
    unit = next(unit for unit in units if unit.kind in ("statement", "cell", "head"))
    return prove(unit, Grounds(words, calculations), SOURCES)


@given(st.lists(st.integers(100, 999), min_size=3, max_size=6), st.integers(100, 999), st.data())
def test_digits_side_by_side_prove_the_whole_and_each_part_but_no_other_number(
    parts: list[int], other: int, data: st.DataObject
) -> None:
    row = " ".join(map(str, parts))
    text = f"Boats sold in the seasons of the port: {row}"
    sources = {"a": Known([SourceText("a", text)], "Accounts")}

    def is_proved(figure: str) -> bool:
        [unit] = report_units(f"It sold {figure} boats [1].", {1: "a"})
        return prove(unit, Grounds(text), sources).doubt is None

    assert is_proved(str(data.draw(st.sampled_from(parts))))
    assert is_proved("".join(map(str, parts)))
    assert is_proved(str(other)) == (other in parts)


@pytest.mark.parametrize(
    ("statement", "words", "fault"),
    [
        ("Revenue was £38.4 million [1].", VOSS, ""),
        ("Revenue was £38,400,000 [1].", VOSS, ""),
        ("In 2025, £7.9m went into fuel [1].", "Fuel cost £7.9m", ""),
        ("In March 7.9 million pounds went into fuel [1].", "Fuel cost £7.9m", ""),
        ("8 900 t of oil were burned [1].", "burned 8,900 tonnes", ""),
        ("It takes 2 hours [1].", "The crossing takes two hours.", ""),
        ("On Route 7 a lot of oil is burned [1].", "a third of it", ""),
        ("The pier will be “repaired before the winter” [1].", "The pier", ""),
        ("An adult pays £8.60 to Sanna [1].", ROW, ""),
        ("A third of the oil is burned on Route 7 [1].", "a third of it on Route 7", ""),
        ("About 33% of the oil is burned on Route 7 [1].", "a third of it on Route 7", ""),
        ("Sanna is cheaper than Hulm [1].", f"{ROW}\n| Hulm | 11.20 | 38.00 |", ""),
        (
            "Revenue was £38.4m, and 1.2 million people were carried [1][2].",
            f"{VOSS} … carried 1.2 million people",
            "",
        ),
        # Counts in words need no number in a source.
        ("Two fares are named [1].", ROW, ""),
        ("The ferry of Sanna is in daily use [1].", ROW, ""),
        ("It takes two hours [1].", "Fuel cost £7.9m", "2 is not in"),
        ("Twenty fares are named [1].", ROW, "20 is not in"),
        # A price per year may be given without its currency.
        ("Every pupil pays the toll (15 a year) [1].", "The toll is £15 a year", ""),
        (
            "Every pupil pays the toll (15 a month) [1].",
            "The toll is £15 a year",
            "its unit of measure",
        ),
        # A date needs no word "day".
        (
            "It names 12 March 2026 as the day of the accounts [1].",
            "Accounts of the ferry company",
            "",
        ),
        ("Fuel cost £9m [1].", "", "no words"),
        ("Fuel cost £9m [1].", "Fuel cost £9m", "are in no source"),
        ("Fuel cost £9m [1].", "Fuel cost £7.9m", "9 is not in"),
        ("Fuel cost $7.9m [1].", "Fuel cost £7.9m", "7.9 is not in"),
        ("Fuel cost £7.9 billion [1].", "Fuel cost £7.9m", "7.9 is not in"),
        ("In April fuel cost £7.9m [1].", "Fuel cost £7.9m", "its month"),
        ("In 2023 fuel cost £7.9m [1].", "Fuel cost £7.9m", "2023 is not in"),
        ("It takes three hours [1].", "The crossing takes two hours.", "3 is not in"),
        ("It takes 2 minutes [1].", "The crossing takes two hours.", "2 is not in"),
        ("On Route 8 a lot of oil is burned [1].", "a third of it", "8 is not in"),
        ("The pier will be “repaired before next winter” [1].", "The pier", "quotation marks"),
        ("An adult pays £11.20 to Sanna [1].", ROW, "11.2 is not in"),
        ("Half of the oil is burned on Route 7 [1].", "a third of it on Route 7", "50 is not in"),
        ("The toll is £15 a month [1].", "The toll is £15 a year", "its unit of measure"),
        ("The monthly toll is £15 [1].", "The toll is £15 a year", "its unit of measure"),
        ("Freight costs £95 per order [1].", "Freight costs £95 per van", "its unit of measure"),
    ],
)
def test_words_with_its_numbers_prove_a_statement_and_faults_are_named(
    statement: str, words: str, fault: str
) -> None:
    found = message(proof(statement, words))
    assert fault in found and bool(fault) == bool(found)


@pytest.mark.parametrize(
    ("statement", "words", "calculations"),
    [
        ("Revenue rose by £2.5m [1].", VOSS, ["£38.4m - £35.9m = £2.5m"]),
        ("Revenue grew by 7% [1].", VOSS, ["(38.4 - 35.9) / 35.9 = 7 %"]),
        ("Revenue rose by £2.5m [1].", VOSS, ["1,250.5 - 1,000", "38.4 - 35.9"]),
        ("Revenue was about £38m [1].", VOSS, ["38.4 million = 38 million"]),
        ("Together that makes 270.9 [1].", ROW, ["8.60 × 31.50 = 270.9"]),
        ("Both years together brought £74.3 million [1].", VOSS, ["38.4 + 35.9 = 74.3"]),
        ("A van pays 3.7 times as much [1].", ROW, ["31.5 ÷ 8.6 = 3.7"]),
        (
            "It takes 120 minutes [1].",
            "The crossing takes two hours.",
            ["2 hours * 60 = 120 minutes"],
        ),
        (
            "Leases run for three or four years [1].",
            "Leases run for 36 or 48 months",
            ["36 / 12 = 3", "48 / 12 = 4"],
        ),
        ("An adult pays about a quarter of what a van pays [1].", ROW, ["8.60 / 31.50"]),
        ("It names 2 fares [1].", ROW, ["8.60, 31.50 = 2"]),
        ("Three years had a price [1].", f"{VOSS}\n{ROW}", ["Voss; Sanna; revenue = 3"]),
        ("They differ by £2.5m, which is 7% [1].", VOSS, ["38.4 - 35.9 = 2.5", "2.5 / 35.9"]),
        ("Table 1: Revenue rose by 7 per cent [1]", VOSS, ["100 * (38.4 - 35.9) / 35.9"]),
        ("Van and adult differ by £22.9 million [1].", ROW, ["31.50 - 8.60"]),
        (
            "Together that is £40.1, of which the adult pays 21.4% [1].",
            ROW,
            ["8.6 + 31.5", "8.6 / (8.6 + 31.5)"],
        ),
        ("They pay £28.8m and £19.2m [1].", SHARES, ["60 % * 48", "48 * 40 / 100"]),
        ("It pays 20 points more [1].", SHARES, ["60 % - 40 % = 20 points"]),
        (
            "In half a year £19.2m came in, and £17.95m a year before [1].",
            VOSS,
            ["38.4 / 2", "35.9 million / 2"],
        ),
        ("Revenue rose by £2,500,000 [1].", VOSS, ["38,400,000 − 35,900,000 = 2,500,000"]),
        (
            "Hulm has 400,000 boats more [2].",
            "1.2 million people and 1.6 million boats",
            ["1.6 million - 1.2 million"],
        ),
        (
            "The fleet burned 29.7 tonnes a route [1].",
            "burned 8,900 tonnes of oil",
            ["8900 / 300", "8.900 / 3 / 100"],
        ),
    ],
)
def test_a_number_may_follow_by_a_calculation(
    statement: str, words: str, calculations: list[str]
) -> None:
    assert message(proof(statement, words, *calculations)) == ""
    assert proof(statement, words).doubt
    assert proof(statement, words, "7 = 7", "3 * 3", "2 + nothing").doubt


@pytest.mark.parametrize(
    ("statement", "calculation"),
    [
        ("Fuel and crew cost £9m [1].", "7.9 + 1.1 = 9"),
        ("Fuel cost £9m [1].", "7.9 = 9"),
        ("Fuel cost £9m [1].", "9 = 9"),
        ("Fuel cost £9m [1].", "7.9 + 13 - 11.9 = 9"),
        ("Fuel cost £9m [1].", "7.9 / 0"),
        ("Fuel cost £9m [1].", "7.9 ** 1.1 - __import__('os').getpid()"),
        ("Fuel cost £9m [1].", "(" * 200 + "7.9" + ")" * 200),
        ("Fuel cost £9m for three ships [1].", "Fuel, crew, harbour = 3"),
    ],
)
def test_a_calculation_with_unsupported_numbers_proves_nothing(
    statement: str, calculation: str
) -> None:
    assert "is not in" in message(proof(statement, "Fuel cost £7.9m", calculation))


def test_the_passage_is_the_whole_sentence_of_the_cited_source() -> None:
    [passage] = proof("Hulm has 38 houses [2].", "38").passages
    assert (passage.source, passage.words) == ("b", CARRIED)
    passage = proof("Fuel cost £7.9m [1].", "cost £7.9m").passages[0]
    assert TEXT[passage.start : passage.end] == "Fuel cost £7.9m in March."
    assert passage.above == "Accounts of the ferry company"


@given(st.integers(2, 10**9), st.integers(2, 10**9))
@example(19_791_000, 19_791_000)
def test_no_other_number_matches(written: int, read: int) -> None:
    source = {"a": Known([SourceText("a", f"The yard built {read:,} boats.")], "")}
    [unit] = report_units(f"The yard built {written} boats [1].", {1: "a"})
    found = prove(unit, Grounds(f"built {read:,} boats"), source)
    assert (found.doubt is None) == (written == read)


def test_a_cell_below_a_percent_sign_may_follow_as_a_share() -> None:
    table = "| Fare | Adult, % of half a van |\n|---|---|\n| Sanna [1] | 27.3 |"
    units = {unit.kind: unit for unit in report_units(table, {1: "a", 2: "b"})}
    share = prove(units["cell"], Grounds(ROW, ("8.60 / 31.50 = 27.3 %",)), SOURCES)
    assert message(share) == ""
    # In a table head, "half" names a quantity and states nothing.
    assert "50" not in message(prove(units["head"], Grounds(ROW), SOURCES))


@pytest.mark.parametrize(
    ("value", "kind"), [("−7,000", "words"), ("−6,000", "figure"), ("7,000", None)]
)
def test_whether_a_table_counts_an_amount_as_negative_is_for_the_model_to_say(
    value: str, kind: str | None
) -> None:
    table = f"| Florins | Buy | Keep |\n|---|---|---|\n| Grant [1] | {value} | 0 |"
    cell = report_units(table, {1: "a"})[-2]
    known = {"a": Known([SourceText("a", "The grant is 7,000 florins.")], "")}
    doubt = prove(cell, Grounds("The grant is 7,000 florins."), known).doubt
    assert (doubt and doubt.kind) == kind


LAMPS = """# Lamps and their makers

The LX-40 takes 29 watts, and 40 lamps were ordered. The COVID-19 rules cost 3 weeks. The Velox E-350 has a 14-inch wheel.

The growth of Orrin was -3.5 % in 2025, and that of Vane +2 %. Net income of Corrie was (1,250) thousand euros.

The budget of Hollin is $1.2 billion. Skerry spent 25 млн рублей, and Anlow ₹4,50,000. The bridge took 3½ years.

| Model | Battery, hours | Screen |
|---|---|---|
| Tavi 11 | 10.5 | 27″ |
"""


def stated(statement: str) -> str:
    """Return why a statement is not proved by the whole text on lamps; empty if it is."""
    [unit] = report_units(statement, {1: "a"})
    known = {"a": Known([SourceText("a", LAMPS)], "Lamps")}
    words = " … ".join(line for line in LAMPS.splitlines() if line)
    return message(prove(unit, Grounds(words), known))


@pytest.mark.parametrize(
    "statement",
    [
        # The number of a name is proved by the name.
        "The LX-40 was measured [1].",
        "After COVID-19 the rules changed [1].",
        "The E-350 is a Velox [1].",
        "The LX-40 is no lamp of Velox [1].",
        # Inch signs and words.
        'The E-350 has a 14" wheel [1].',
        "The E-350 has a 14-inch wheel [1].",
        "The E-350 has a 14″ wheel, the Tavi 11 a 27-inch screen [1].",
        'A 27" screen and a 14" wheel are offered [1].',
        # Ordinals and quarters of a year are counts.
        "The LX-40 is the third longest [1].",
        "The LX-40 is the fifth brightest and the Tavi 11 the tenth [1].",
        "Waiting two quarters of a year costs more [1].",
        "It opened in one quarter of the year, the third quarter [1].",
        # Signs.
        "The growth of Orrin was minus 3.5 % [1].",
        "Orrin shrank by 3.5 % [1].",
        "Orrin saw a decline of 3.5 per cent [1].",
        "Orrin ist um 3,5 % geschrumpft [1].",
        "Corrie made a loss of €1.25 million [1].",
        # Scales and notations.
        "The budget of Hollin is $1,200 million [1].",
        "Skerry spent 25 million roubles [1].",
        "Anlow spent 4.5 lakh rupees [1].",
        "The bridge took three and a half years [1].",
        # A sentence whose only numbers are dates states no amount.
        "The amounts in dollars are those of 2025 [1].",
    ],
)
def test_numbers_are_proved_however_they_are_written(statement: str) -> None:
    assert stated(statement) == ""


@pytest.mark.parametrize(
    "statement",
    [
        # Other names, and amounts that only a name has.
        "The LX-60 was measured [1].",
        "350 lamps were ordered [1].",
        "The wheel has 19 spokes [1].",
        "The AV-40 was measured [1].",
        # Other units.
        'The Tavi 11 has a 29" screen [1].',
        "The E-350 has a wheel of 14 cm [1].",
        'The COVID rules cost 3" [1].',
        # Other signs.
        "Orrin grew by 3.5 % [1].",
        "Orrin gained 3.5 % [1].",
        "The growth of Orrin was 3.5 % [1].",
        "Orrin ist um 3,5 % gewachsen [1].",
        "Vane fell by 2 % [1].",
        "Corrie earned 1,250 thousand euros [1].",
        "Corrie made a profit of €1.25 million [1].",
        # Other scales.
        "The budget of Hollin is $1.2 trillion [1].",
        "The budget of Hollin is $1.2 million [1].",
        "The budget of Hollin is $1.2 [1].",
        "Skerry spent 25 billion roubles [1].",
        "Anlow spent 4.5 crore rupees [1].",
        "The bridge took two and a half years [1].",
    ],
)
def test_another_sign_scale_unit_or_name_proves_nothing(statement: str) -> None:
    assert "is not in those words" in stated(statement)


@pytest.mark.parametrize("calculation", ["40 / 2 = 20", "350 / 10 - 12 - 3 = 20", "19 + 1 = 20"])
def test_the_number_of_a_name_is_no_premise(calculation: str) -> None:
    names = "The LX-40, the E-350 and the COVID-19 rules"
    [unit] = report_units("Twenty lamps were ordered.", {})
    found = list[str]()
    for words in (names, names.replace("-", " ")):
        known = {"a": Known([SourceText("a", words)], "")}
        found.append(message(prove(unit, Grounds(words, [calculation]), known)))
    assert "20 is not in" in found[0] and found[1] == ""


FOREIGN = {
    "de": "Der Vertrag kann mit einer Frist von neun Monaten zum Jahresende gekündigt werden. Die Rechnung ist an "
    "Werktagen zu zahlen, und die Menge wird zum ersten Mal im Mai gemeldet.",
    "fr": "Sur les 12 000 cartouches livrées en février, 1 800 fuient au niveau du joint, et nous demandons leur "
    "remplacement avant la fin du mois.",
    "es": "La planta cerró en agosto, y los trabajadores de la empresa volvieron en enero con un contrato de dos años.",
    "nl": "De haven is in maart gesloten, en het werk aan de kade duurt nog 9 maanden; het schip vaart dan weer.",
    "sv": "Hamnen stängdes i oktober, och det tar 9 månader innan den är öppen för båtar igen.",
    "ru": "Завод закрылся в марте, и он был открыт только к началу июля, как это было и в том году.",
}


@pytest.mark.parametrize(
    ("language", "statement", "fault"),
    [
        ("de", "Notice is nine months to the end of a year [1].", ""),
        ("de", "Notice is nine weeks to the end of a year [1].", "9 is not in"),
        ("de", "Notice is nine months to the end of an hour [1].", "its unit of measure"),
        ("de", "Bills are paid within a day [1].", ""),
        ("fr", "Of 12,000 cartridges delivered in February, 1,800 leaked [1].", ""),
        ("fr", "Of 12,000 cartridges delivered in March, 1,800 leaked [1].", "its month"),
        ("es", "The plant closed in August, and work began again in January [1].", ""),
        ("es", "The plant closed in August, and work began again in April [1].", "its month"),
        ("nl", "The harbour closed in March for 9 months [1].", ""),
        ("nl", "The harbour closed in March for 9 weeks [1].", "9 is not in"),
        ("sv", "The harbour closed in October for 9 months [1].", ""),
        ("sv", "The harbour closed in October for 9 years [1].", "9 is not in"),
        ("ru", "The plant was open in July [1].", ""),
        ("ru", "The plant was open in June [1].", "its month"),
    ],
)
def test_months_and_units_of_time_are_compared_across_languages(
    language: str, statement: str, fault: str
) -> None:
    text = FOREIGN[language]
    [unit] = report_units(statement, {1: "a"})
    found = prove(unit, Grounds(text), {"a": Known([SourceText("a", text)], "A title")})
    assert message(found).startswith(fault) and bool(message(found)) == bool(fault)
