"""The passage of a source behind a unit of a report: a quote, or the most similar sentences."""

from __future__ import annotations

from random import Random
from textwrap import wrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.evidence.checking.source_text import SourceText, Windows, unwrap
from deep_research.core.evidence.checking.units import ReportUnit, report_units
from deep_research.core.evidence.checking.verification import (
    PassageMatch,
    Verifier,
    best_passage,
    find_quote,
)

HARBOUR = """# Port of Ostvik, report of May 2025

The port handled **14,850 tonnes** of fish. A permit costs €15 a year, if the council agrees. Nobody believed that the
light ever moved.

- Boats leave at noon
- Repairs took six weeks and cost €1.2m

| Quay | Length | Berths |
|---|---|---|
| North | 120 m | 9 |
| South | 85 m | 7 |
"""
MIXED = "The not 12 1.500 1,5 million km 1844 03.05.1844 und 万 塔 half-built it's ( ) . ! ? \n \" “ [1] % $ - | * :"
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(MIXED.split(" ")), max_size=60).map(" ".join)
)
LONG = {
    "words": "a " * 6000,
    "digits": "1" * 12000,
    "groups of digits": "111 " * 3000 + "1111",
    "full stops": ". " * 6000,
    "lines": "\n" * 12000,
    "brackets": "[" * 12000,
}


def unit(text: str) -> ReportUnit:
    return ReportUnit(text, 0, text, ("1",), True, text, 0)


def quote_of(text: str, source: str) -> str:
    found = find_quote(unit(text), SourceText("", source))
    return source[found.start : found.end] if found else ""


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The port handled 14,850 tonnes of fish.", "The port handled **14,850 tonnes** of fish."),
        ("Boats leave at noon", "Boats leave at noon"),
        ("Boats leave at noon.", ""),
        ("Port of Ostvik, report of May 2025: Boats leave at noon", "Boats leave at noon"),
        ("Port of Tarn, report of May 2025: Boats leave at noon", ""),
        (
            "Nobody believed that the light ever moved.",
            "Nobody believed that the\nlight ever moved.",
        ),
        ("The port handled 14,850 tons of fish.", ""),
        ("", ""),
    ],
)
def test_a_quote_is_a_whole_sentence_or_line_whatever_its_layout(text: str, quote: str) -> None:
    assert quote_of(text, HARBOUR) == quote


def test_a_quote_may_begin_with_the_first_line_of_a_text_without_headings() -> None:
    text = "Report on the outage\n\nIt began at noon.\n"
    assert quote_of("Report on the outage: It began at noon.", text) == "It began at noon."
    assert quote_of("Report on the fire: It began at noon.", text) == ""


@pytest.mark.parametrize(
    ("table", "verdicts"),
    [
        (
            "| Quay | Length | Berths | Source |\n|---|---|---|---|\n| South | 85 m | 7 | [1] |",
            ["supported"] * 2,
        ),
        (
            "| Quay | Berths | Length | Source |\n|---|---|---|---|\n| South | 7 | 85 m | [1] |",
            ["unchecked"] * 2,
        ),
        (
            "| Quay | Berths | Length | Source |\n|---|---|---|---|\n| South | 85 m | 7 | [1] |",
            ["unchecked"] * 2,
        ),
        (
            "| Quay | Length | Berths | Source |\n|---|---|---|---|\n| South | 85 m | 9 | [1] |",
            ["unchecked"] * 2,
        ),
    ],
)
def test_a_row_is_a_quote_below_its_own_head(table: str, verdicts: list[str]) -> None:
    verifier = Verifier({"1": [SourceText("1", HARBOUR)]})
    cells = [unit for unit in report_units(table, {1: "1"}) if unit.kind == "cell"]
    assert [verifier.check(cell).verdict for cell in cells] == verdicts


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Boats leave at noon [1].", "unchecked"),
        ("- Boats leave at noon [1]", "supported"),
        ("Boats leave at noon. [0]", "unsupported"),
        ("It has 9 berths.", "uncited"),
        ("- Boats leave at noon [2][1]", "supported"),
    ],
)
def test_without_a_model_a_quote_is_supported_and_the_rest_unchecked(
    text: str, verdict: str
) -> None:
    verifier = Verifier({"1": [SourceText("1", HARBOUR)], "2": [SourceText("2", "It rained.")]})
    [unit] = report_units(text, {1: "1", 2: "2"})
    assert verifier.check(unit).verdict == verdict


def test_the_passage_is_the_most_similar_neighbouring_sentences() -> None:
    text = "Nothing is known of Ulm. Ida Voss was born in Bonn. She studied chemistry in Graz. Her dog was brown."
    found = best_passage(
        unit("Ida Voss was born in Bonn and studied chemistry in Graz."), SourceText("", text)
    )
    assert (
        text[found.start : found.end] == "Ida Voss was born in Bonn. She studied chemistry in Graz."
    )
    assert not found.is_quote


def test_without_similarity_the_first_sentence_is_shown() -> None:
    for words in ("", "…", "Snow."):
        assert best_passage(unit(words), SourceText("", "It rained. It was cold.")) == PassageMatch(
            0, 10, 0.0
        )
    for text in ("", "…\n"):
        assert best_passage(unit("A tower."), SourceText("", text)) == PassageMatch(0, 0, 0.0)


def test_a_table_head_is_shown_with_the_rows_below_it() -> None:
    head, rule, row = (
        "| operation | median wait in weeks |",
        "| --- | --- |",
        "| knee replacement | 34 |",
    )
    text = "\n".join(["# Waiting", "", head, rule, *[row] * 40, "", "It rained."])
    found = best_passage(
        unit("The median wait fell for three of four operations."), SourceText("", text)
    )
    quote = text[found.start : found.end]
    assert quote.startswith(f"{head}\n{rule}\n{row}\n") and quote.endswith(row) and len(quote) < 600


WRAPPED = (
    "A guide to the coast\n"
    "The lamp of the lighthouse at Skerry was made in the workshop of\n"
    "Alan Reid, who had learnt his trade in Kiel and never went back to\n"
    "Bonn. It was lit for the first time in the spring, when the mayor J.\n"
    "Fell came over from Tarn.\n"
    "- It has 48 windows and, as the keepers said, twice as many stairs\n"
    "- Boats leave at noon\n"
)


def test_only_a_full_line_continues_on_the_next_line() -> None:
    lines = unwrap(WRAPPED).split("\n")
    assert [line[:8] for line in lines] == ["A guide ", "The lamp", "- It has", "- Boats ", ""]
    assert len(unwrap(WRAPPED)) == len(WRAPPED)


@settings(max_examples=50)
@given(st.integers(60, 100), st.integers(8, 40), st.integers())
def test_a_window_ends_with_a_sentence_where_lines_and_pages_end_within_one(
    width: int, count: int, seed: int
) -> None:
    chance = Random(seed)
    sentences = []
    for number in range(count):
        words = [
            "".join(chance.choices("bdfgklmnprst", k=6)) for _ in range(chance.randrange(6, 15))
        ]
        sentences.append(f"It {' '.join(words)} at {number}.5 times.")
    lines = wrap(" ".join(sentences), width)
    # Where the second paragraph begins with a capital, it may be one of its own.
    breaks = [
        at for at in range(3, len(lines)) if lines[at][0].islower() and lines[at - 1][-1].isalpha()
    ]
    for at in breaks[:1]:
        lines[at] = f"\n\f{lines[at]}"
    text = "\n".join(lines)
    windows = Windows(text)
    assert len(windows.windows) > 1
    for window in windows.windows:
        assert text[window.start : window.end].endswith("times.")
    assert " ".join(text.split()) == " ".join(" ".join(sentences).split())


def test_the_figure_behind_the_end_of_a_page_is_in_the_window_of_its_sentence() -> None:
    means = (
        "The mean of 38.5 kWh covers all seasons. From November to March it is 42.1, in the others"
    )
    text = f"{means}\n\n35.9. Most of it was charged at home.\n\n# Costs\n\nnone so far"
    [first, *_] = Windows(text).best("In the other months it is 35.9.", 1)
    assert "35.9. Most" in Windows(text).texts([first])[0]
    for apart in (f"- {means}", f"| {means} |", "Means", f"# {means}"):
        text = f"{apart}\n\n35.9. Most of it was charged at home."
        assert unwrap(text) == text


@pytest.mark.parametrize(
    "following", ["# Windows and stairs", "| Windows | 48 |", "* Windows of it", "2. Windows"]
)
def test_headings_lists_and_tables_begin_a_new_line(following: str) -> None:
    text = f"The lighthouse at Skerry has stood on the rocks\n{following}"
    assert unwrap(text) == text
    assert unwrap(f"{following} of the lighthouse that stood on the rocks\nAlan").count("\n") == (
        following[0] in "#|"
    )


@given(TEXTS, TEXTS)
def test_a_passage_is_within_the_text_and_a_quote_has_the_words_of_its_unit(
    claim: str, text: str
) -> None:
    found = best_passage(unit(claim), SourceText("", text))
    assert 0 <= found.start <= found.end <= len(text) and 0 <= found.share <= 1
    letters = [
        "".join(filter(str.isalnum, words)) for words in (claim, text[found.start : found.end])
    ]
    assert not found.is_quote or letters[0].endswith(letters[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
@pytest.mark.timeout(60)
def test_a_hostile_text_is_read_in_linear_time(name: str) -> None:
    # Quadratic time exceeds the timeout.
    for claim in (LONG[name], "The first man won 3 medals in 1999 and not 4."):
        best_passage(unit(claim), SourceText("", LONG[name] * 10))
        best_passage(unit(LONG[name]), SourceText("", claim))


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_equally_similar_windows_come_in_text_order(chance: Random) -> None:
    words = ["".join(chance.choices("bdfgklmnprst", k=5)) for _ in range(25)]
    same = [" ".join(chance.sample(words, len(words))) for _ in range(15)]
    fewer = [" ".join(words[: chance.randrange(3, 20)]) for _ in range(15)]
    found = Windows("\n\n".join([*same, *fewer])).best(" ".join(words), len(same))
    assert found == sorted(found)
