"""What a reader would quote is one unit: a message with its sender, a note, a quoted letter; and no figure is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.stems import sought_words
from deep_research.core.evidence.text.words import tokens
from deep_research.core.models.extractive.units import units_of

UNITS = st.sampled_from(["million euros", "metres of rail", "% of the ore", "May 1911", "Ohm", "apprentices"])
FIGURE = st.from_regex(r"[1-9]\d{0,2}(?:[.,]\d{1,3})?", fullmatch=True)


def texts(text: str) -> list[str]:
    return [unit.text for unit in units_of(text)]


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


def test_a_message_of_several_lines_stays_whole_and_a_ratio_begins_no_message() -> None:
    assert texts("10:02 Ole: The list:\nsalt and oil\n10:03 Eva: Thanks a lot") == [
        "10:02 Ole: The list: salt and oil", "10:03 Eva: Thanks a lot",
    ]  # fmt: skip
    assert texts("The map was drawn at\n1:20 on thin paper.") == ["The map was drawn at 1:20 on thin paper."]


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


def test_a_number_that_counts_items_is_no_part_of_them() -> None:
    assert texts("1. Open the valve\n2. Light the flame") == ["Open the valve", "Light the flame"]
    assert texts("2.1. The valve is open.\n\n2.2. The flame burns.") == ["The valve is open.", "The flame burns."]


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


def test_a_danda_ends_a_sentence_also_of_a_line_that_stands_alone() -> None:
    assert texts("होलिन बाग में 412 पेड़ हैं।\n\nबंदरगाह गहरा है। वह पुराना है।") == [
        "होलिन बाग में 412 पेड़ हैं।", "बंदरगाह गहरा है।", "वह पुराना है।",
    ]  # fmt: skip
