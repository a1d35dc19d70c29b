"""Texts are split into quotable units, which are laid out in a finding."""

from __future__ import annotations

import re
from textwrap import fill

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deep_research.core.evidence.text.stems import sought_words
from deep_research.core.evidence.text.words import tokens
from deep_research.core.models.extractive.roles import laid_out, quotes_in, with_quotes
from deep_research.core.models.extractive.units import QuotableUnit, units_of

WORDS = st.lists(st.sampled_from(("kiln", "river", "Osk", "salt", "42", "oven", "Brandt")), min_size=2, max_size=6)
SENTENCE = WORDS.map(lambda words: f"The {' '.join(words)} burns oil.")
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=3).map(" ".join)
HEADING = st.tuples(st.sampled_from(["#", "##", "###"]), WORDS).map(
    lambda pair: f"{pair[0]} Heading {' '.join(pair[1])}"
)
ITEMS = st.lists(WORDS.map(" ".join), min_size=1, max_size=3).map(
    lambda lines: "\n".join(f"- {line}" for line in lines)
)
CELLS = st.lists(st.sampled_from(["Osk", "1,790", "green door", "12"]), min_size=2, max_size=2)
TABLE = st.lists(CELLS, min_size=1, max_size=3).map(
    lambda rows: "\n".join(["| Place | Price |", "| --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)])
)
# Of two tables in a row, the second passes for more rows of the first: see `TWO_TABLES`.
BLOCKS = st.lists(PARAGRAPH | HEADING | ITEMS | st.tuples(TABLE, PARAGRAPH).map("\n\n".join), max_size=6).map(
    lambda parts: [block for part in parts for block in part.split("\n\n")]
)
TWO_TABLES = "| Door | Height |\n| --- | --- |\n| Blue | 40 |\n\n| Kiln | Fuel |\n| --- | --- |\n| Osk | oil |"
WILD = st.text("abc Ä9.!?:|#->*_`[]()\n。", max_size=120)


UNITS = st.sampled_from(["million euros", "metres of rail", "% of the ore", "May 1911", "Ohm", "apprentices"])
FIGURE = st.from_regex(r"[1-9]\d{0,2}(?:[.,]\d{1,3})?", fullmatch=True)


def texts(text: str) -> list[str]:
    return [unit.text for unit in units_of(text)]


def runs_in(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@given(BLOCKS)
def test_no_unit_crosses_a_block_a_heading_or_a_table(blocks: list[str]) -> None:
    for unit in units_of("\n\n".join(blocks)):
        assert any({*runs_in(unit.text)} <= {*runs_in(block)} for block in blocks)
        if unit.kind == "sentence":
            assert any(unit.text in block for block in blocks if not block.startswith(("#", "|", "-")))


@given(BLOCKS.map("\n\n".join) | WILD)
@example("|\n|")
def test_each_word_of_a_unit_stands_in_the_text_which_is_read_the_same_again(text: str) -> None:
    units = units_of(text)
    known = "".join(runs_in(text))
    for unit in units:
        assert all(word in known for word in runs_in(unit.text))
        assert "\n" not in unit.text
        assert unit.text.strip()
    units_of.cache_clear()
    assert units_of(text) == units


@given(PARAGRAPH, st.integers(15, 60))
def test_where_the_lines_of_a_paragraph_are_broken_changes_nothing(paragraph: str, width: int) -> None:
    assert units_of(fill(paragraph, width)) == units_of(paragraph)


ROWS = TABLE.filter(lambda table: table.count("\n") > 1)


@given(st.lists(PARAGRAPH | ITEMS | ROWS, min_size=1, max_size=4).map("\n\n".join))
def test_what_a_finding_quotes_is_read_back_from_it_and_can_be_left_out(text: str) -> None:
    chosen = [unit._replace(number=number) for number, unit in enumerate(units_of(text), 1)]
    blocks = laid_out(chosen, "Source").split("\n\n")
    quotes = [quote for block in blocks for quote in quotes_in(block)]
    assert [int(re.findall(r"\[(\d+)\]", quote)[-1]) for quote in quotes] == [unit.number for unit in chosen]
    assert [with_quotes(block, quotes_in(block)) for block in blocks] == blocks
    assert not any(with_quotes(block, ()) for block in blocks)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (
            "The U.S. Navy met Dr. J. R. Smith of St. Paul. It paid 3.5 million. He left at 5 p.m. The end came soon.",
            [
                "The U.S. Navy met Dr. J. R. Smith of St. Paul.",
                "It paid 3.5 million.",
                "He left at 5 p.m.",
                "The end came soon.",
            ],
        ),
        ("北京是中国的首都。上海很大！", ["北京是中国的首都。", "上海很大！"]),
        ("# A heading of words\n\nOne sentence that\nruns on.", ["One sentence that runs on."]),
        ("It rose by half then.[12] It fell [3] again.", ["It rose by half then.", "It fell again."]),
        ("Die Kaution wird am\n12. Juni 2024 fällig.", ["Die Kaution wird am 12. Juni 2024 fällig."]),
        ("> The kiln was fired until\n> 1950 by Ole.", ["The kiln was fired until 1950 by Ole."]),
        ("1. Open the valve\n2. Light the small flame", ["Open the valve", "Light the small flame"]),
        ("2.1. The valve is open.\n\n2.2. The flame burns.", ["The valve is open.", "The flame burns."]),
        (
            "10:02 Ole: The list:\nsalt and oil\n10:03 Eva: Thanks a lot",
            ["10:02 Ole: The list: salt and oil", "10:03 Eva: Thanks a lot"],
        ),
        ("The map was drawn at\n1:20 on thin paper.", ["The map was drawn at 1:20 on thin paper."]),
        (
            "होलिन बाग में 412 पेड़ हैं।\n\nबंदरगाह गहरा है। वह पुराना है।",
            ["होलिन बाग में 412 पेड़ हैं।", "बंदरगाह गहरा है।", "वह पुराना है।"],
        ),
        ("Payload: 180 kg\nDesigner: Yngve Fosse", ["Payload: 180 kg", "Designer: Yngve Fosse"]),
        ("| Door | Height |\n| --- | --- |\n| Blue | 40 |", ["Door: Blue; Height: 40"]),
        (TWO_TABLES, ["Door: Blue; Height: 40", "Kiln: Osk; Fuel: oil"]),
        ("See **the** [kiln](https://x.org/k).", ["See the kiln."]),
    ],
)
def test_sentences_items_records_and_rows_are_units(text: str, units: list[str]) -> None:
    assert texts(text) == units


def test_a_unit_knows_its_heading_its_lead_and_the_sentence_before() -> None:
    text = "# Lamps\n\n## Tarn\n\nThe lamp is old. It was made by hand.\n\nIt comes in:\n\n- moss green\n"
    units = {unit.text: unit for unit in units_of(text)}
    assert units["It was made by hand."] == QuotableUnit(
        "It was made by hand.", "sentence", "Lamps › Tarn", before="The lamp is old."
    )
    assert units["moss green"] == QuotableUnit("moss green", "item", "Lamps › Tarn", "It comes in:")


@pytest.mark.parametrize(
    "messages",
    [
        ["[12/03/2026, 08:14:02] Dana: Morning all", "[12/03/2026, 08:15:40] Tom: The crane comes on Monday"],
        ["12.03.26, 08:14 - Dana: The pit is dry. Call me.", "12.03.26, 08:20 - Lena: 38 cubic metres at 06:50"],
        ["2026-03-12T08:14:02Z WARN pump 4: pressure 2.1 bar", "2026-03-12T08:15:00Z INFO pump 4: pressure 3.0 bar"],
        ["[00:01:02] Marsh: We lost two turbines.", "[00:01:09] Ode: Which ones?", "[00:01:11] Marsh: Five and six."],
        ["8:14 AM Dana: Who has the key?", "8:15 AM Tom: It hangs in the hut"],
    ],
)
def test_a_line_that_begins_with_a_time_is_one_message_with_its_sender(messages: list[str]) -> None:
    assert texts("\n".join(messages)) == messages


@pytest.mark.parametrize(
    "attribution",
    [
        "On Wed, 18 Mar 2026 at 09:12, Dana Whitlock <dana@example.com> wrote:",
        "Am 18.03.2026 um 09:12 schrieb Dana Whitlock:",
        "Le 18 mars 2026, Dana Whitlock a écrit :",
        "Dana Whitlock, 18 March 2026:",
    ],
)
def test_a_quoted_letter_has_the_line_before_it_as_its_lead(attribution: str) -> None:
    text = (
        f"We agree to 2850 euros.\n\n{attribution}\n> Hello Jo,\n> we offer 2400 euros.\n>\n> It is for three years.\n"
    )
    leads = {unit.text: unit.lead for unit in units_of(text)}
    assert leads["We agree to 2850 euros."] == ""
    assert leads["Hello Jo, we offer 2400 euros."] == leads["It is for three years."] == attribution


@pytest.mark.parametrize("label", ["[^1]", "[^method]", "[^note-2]", "[^*]"])
def test_a_footnote_is_a_unit_without_its_label(label: str) -> None:
    text = (
        f"The peat is 2.9 metres thick.{label}\n\n{label}: Without the margin.\n[^z]: A 200 MHz antenna on a sledge.\n"
    )
    assert texts(text) == ["The peat is 2.9 metres thick.", "Without the margin.", "A 200 MHz antenna on a sledge."]


@pytest.mark.parametrize(
    "sentence",
    [
        "3.2 million euros were approved for the mole.",
        "12. Juni 2024 war der Tag der Weihe.",
        "4) was the answer of the committee.",
        "2. was the rank of the ship.",
    ],
)
def test_a_figure_at_the_beginning_of_a_line_stays(sentence: str) -> None:
    assert texts(sentence) == [sentence]
    assert texts(f"The committee met in May.\n\n{sentence}") == ["The committee met in May.", sentence]


@given(st.lists(st.tuples(FIGURE, UNITS), min_size=1, max_size=4))
def test_no_figure_is_lost_from_sentences_that_begin_with_one(pairs: list[tuple[str, str]]) -> None:
    text = "\n\n".join(f"{figure} {unit} were counted in the yard." for figure, unit in pairs)
    assert re.findall(r"\d[\d.,]*", " ".join(texts(text))) == re.findall(r"\d[\d.,]*", text)


@pytest.mark.parametrize(
    "text",
    [
        "स्केरी प्रकाशस्तंभ 39 मीटर ऊँचा है",
        "হোলিন বাগানে 412 গাছ আছে",
        "ஸ்கெரி கலங்கரை விளக்கம் 39 மீட்டர்",
        "స్కెరీ దీపస్తంభం ఎత్తు 39 మీటర్లు",
        "مَنارَةُ سكيري بُنِيَت عام 1844",
    ],
)
def test_a_word_with_its_marks_is_one_word_for_the_index_and_for_units(text: str) -> None:
    assert len(tokens(text)) == len(sought_words(text)) == len(text.split())
