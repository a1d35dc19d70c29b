"""Whole runs without a key over a few small files: what is answered, in which order, and what is said to be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from extracting import answer, ask, cited_titles

from deep_research.app.words import Strategy
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.models.extractive.parts import split

BOTH = pytest.mark.parametrize("strategy", ["orchestrated", pytest.param("planned", marks=pytest.mark.slow)])
CITIES = {
    "oslo_md": "# Oslo\n\nOslo has 717,710 inhabitants. The city was founded in 1049.\n",
    "bergen_md": "# Bergen\n\nBergen is known for its rain. It lies on seven hills.\n",
}
STAEDTE = {
    "oslo_md": "# Oslo\n\nOslo hat 717.710 Einwohner. Die Stadt wurde 1049 gegründet.\n",
    "bergen_md": "# Bergen\n\nBergen ist für seinen Regen bekannt.\n",
}
COMPANY = {
    "fleet_md": "# Fleet report\n\nThe current fleet of Arvo Robotics is 3,120 robots. Most work in warehouses.\n",
    "customers_md": "# Customers\n\nThe largest customer of Arvo Robotics is Lindqvist Logistics.\n",
    "staff_md": "# Staff\n\nArvo Robotics employs 212 people. The head of engineering is Mira Tolonen.\n",
}
SERIES = {
    f"operations-{year}_md": f"# Q1 {year} Operations Report\n\nDate: {year}-04-15\n\n"
    f"The fleet of Arvo Robotics comprises {robots} robots.\n"
    for year, robots in ((2024, "1,210"), (2025, "1,960"), (2026, "3,120"))
}
INSTITUT = {
    "ordnung_md": "# Hausordnung\n\nDas Institut ist von 8 bis 18 Uhr geöffnet. Hunde sind nicht erlaubt.\n",
    "zimmer_md": "# Gästezimmer\n\nDas Institut hat sechs Gästezimmer. Eine Nacht kostet 42 Euro.\n",
}
STAFF = """# Staff of the yard

Ada Brandt is the manager. She joined the yard in 1998.

Per Moen is the cook. He joined the yard in 2016. He lives in Velm.
"""
PRICES = "# Price list\n\n| Item | Price |\n| --- | --- |\n| Full service | 1,790 |\n| Flat tyre | 290 [2] |\n"
MINUTES = "# Minutes\n\nThe penalty was paid in full by the supplier in 2025.\n"
RECORDS = "# Cargo bikes of 2024\n" + "".join(
    f"\n## {name}\n\nPayload: {payload} kg\nDesigner: {designer}\n"
    for name, payload, designer in (("Skarv", 120, "Ole Dahl"), ("Terne", 180, "Yngve Fosse"))
)
LAMPS = "# Lamps\n\nThe factory stands by the river. The lamps of Tarn come in:\n\n- moss green\n- sea blue\n"
SHIP = "# Silver Heron\n\nThe Silver Heron was a cargo ship of 1902. Her only captain was Mara Ellingsen.\n"
CAPTAIN = "# Mara Ellingsen\n\nMara Ellingsen was a sailor. Ellingsen was born in Tromsø, Norway.\n"
BEIJING = "# 北京\n\n北京是中国的首都。北京的人口是两千一百万。\n"
ORDERS = "order,city,amount\nKX-004711,Velm,120.00\nKX-004712,Tarn,95.50\nKX-004713,Osk,60.00\n"
DAYS = {"Rules": "Monday", "Leaflet": "Thursday"}
HERONS = "# Herons\n\nHerons are long-legged birds. They live near water.\n"


def headings(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def opening(text: str) -> str:
    return next(block for block in text.split("\n\n") if not block.startswith("#"))


@pytest.mark.parametrize(
    ("question", "instruction", "files"),
    [
        ("How many inhabitants does Oslo have?", "Cite your sources.", CITIES),
        ("How many inhabitants does Oslo have?", "Focus on official figures. Use bullet points.", CITIES),
        ("Wie viele Einwohner hat Oslo?", "Bitte mit Quellenangabe.", STAEDTE),
    ],
)
def test_an_instruction_changes_no_source(
    tmp_path: Path, question: str, instruction: str, files: dict[str, str]
) -> None:
    plain = answer(tmp_path, question, "orchestrated", **files)
    instructed = answer(tmp_path, f"{question} {instruction}", "orchestrated", **files)
    assert cited_titles(instructed) == cited_titles(plain) == ["Oslo"]
    assert "717" in opening(instructed.report.text)


@BOTH
def test_each_point_of_a_brief_has_its_heading_in_the_words_and_order_asked(tmp_path: Path, strategy: Strategy) -> None:
    request = (
        "Write a brief on Arvo Robotics:\n1. Number of employees\n2. Size of the current fleet\n3. largest customer"
    )
    text = ask(tmp_path, request, strategy, **COMPANY)
    assert headings(text) == ["Number of employees", "Size of the current fleet", "Largest customer"]
    _, employees, fleet, customer = text.split("## ")
    assert ("212" in employees, "3,120" in fleet, "Lindqvist" in customer) == (True, True, True)


def test_a_question_that_nothing_answers_is_named_while_another_is_answered(tmp_path: Path) -> None:
    text = ask(
        tmp_path, "How many people does Arvo Robotics employ, and who is the mayor of Tarn?", "orchestrated", **COMPANY
    )
    assert "212 people. [1]" in opening(text)
    assert "Tarn”" in text


@BOTH
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is the captain of the Zephyrine?", "Zephyrine"),
        ("who is the captain of the zephyrine?", "zephyrine"),
    ],
)
def test_an_entity_that_no_document_knows_is_named_as_missing(
    tmp_path: Path, strategy: Strategy, question: str, name: str
) -> None:
    text = ask(tmp_path, question, strategy, **COMPANY)
    assert text.startswith(labels("en").unanswered)
    assert name in opening(text)


@BOTH
def test_the_newest_of_a_series_answers_and_older_values_stand_behind_it(tmp_path: Path, strategy: Strategy) -> None:
    text = ask(tmp_path, "How many robots does the fleet of Arvo Robotics comprise?", strategy, **SERIES)
    places = [text.find(value) for value in ("3,120", "1,960", "1,210")]
    assert places[0] >= 0
    assert all(place < 0 or place > places[0] for place in places[1:])
    assert places[1] > 0


@pytest.mark.fault(50)
@BOTH
def test_question_and_report_are_in_one_language_labels_included(tmp_path: Path, strategy: Strategy) -> None:
    answered = answer(tmp_path, "Wann ist das Institut geöffnet?", strategy, **INSTITUT)
    assert answered.report.text.startswith("Das Institut ist von 8 bis 18 Uhr geöffnet. [1]")
    assert f"## {labels('de').sources}" in answered.markdown
    assert answered.markdown.rstrip().endswith(f"## {labels('de').notes}\n\n- {labels('de').is_extract}")
    refused = answer(tmp_path, "Wer leitet das Museum in Quellheim?", strategy, **INSTITUT)
    assert refused.report.text.startswith(labels("de").unanswered)
    assert not any(f"## {labels('en').sources}" in one.markdown for one in (answered, refused))


def test_who_is_meant_by_several_pronouns_in_a_row_is_told_once(tmp_path: Path) -> None:
    text = ask(tmp_path, "Where does Per Moen live?", staff_md=STAFF)
    assert text.startswith("Per Moen is the cook. [1] He lives in Velm. [1]")


def test_what_is_said_of_somebody_else_does_not_lead(tmp_path: Path) -> None:
    text = ask(tmp_path, "When did Per Moen join the yard?", staff_md=STAFF)
    assert text.startswith("Per Moen is the cook. [1] He joined the yard in 2016. [1]")


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
def test_no_sentence_is_told_twice(tmp_path: Path, strategy: Strategy) -> None:
    text = ask(tmp_path, "What do we know about Ada Brandt and Per Moen?", strategy, staff_md=STAFF)
    assert "manager" in text
    assert max(text.count(sentence) for sentence in ("Ada Brandt is the manager.", "Per Moen is the cook.")) == 1


def test_a_row_is_shown_below_its_header_with_its_source(tmp_path: Path) -> None:
    text = ask(tmp_path, "How much is a full service?", prices_md=PRICES, minutes_md=MINUTES)
    assert text.startswith("| Item | Price | Source |\n| --- | --- | --- |\n| Full service | 1,790 | [")


def test_a_number_in_brackets_in_a_cell_is_no_citation(tmp_path: Path) -> None:
    text = ask(tmp_path, "How much is a flat tyre?", prices_md=PRICES, minutes_md=MINUTES)
    assert "290" in opening(text)
    assert "[2]" not in text.partition("The penalty")[0]


@BOTH
def test_of_records_the_one_below_the_name_that_is_asked_for_answers(tmp_path: Path, strategy: Strategy) -> None:
    text = ask(tmp_path, "What is the payload of the Terne?", strategy, bikes_md=RECORDS)
    assert "Payload: 180 kg" in text.partition("[1]")[0]


def test_items_of_few_words_are_quoted_behind_what_leads_them_in(tmp_path: Path) -> None:
    text = ask(tmp_path, "In which colours do the lamps of Tarn come?", lamps_md=LAMPS)
    assert "The lamps of Tarn come in: moss green [1]" in text
    assert "The lamps of Tarn come in: sea blue [1]" in text


@BOTH
def test_an_answer_is_found_behind_the_name_that_another_document_gives(tmp_path: Path, strategy: Strategy) -> None:
    question = "Where was the captain of the Silver Heron born?"
    given = answer(tmp_path, question, strategy, ship_md=SHIP, captain_md=CAPTAIN, herons_md=HERONS)
    assert "born in Tromsø" in given.report.text
    assert {"Silver Heron", "Mara Ellingsen"} <= {*cited_titles(given)}


def test_a_single_question_is_answered_in_120_words(tmp_path: Path) -> None:
    many = " ".join(f"Hall {n} of Arvo Robotics was built by Mira Tolonen in {1950 + n}." for n in range(60))
    text = ask(tmp_path, "Which halls of Arvo Robotics did Mira Tolonen build?", halls_md=f"# Halls\n\n{many}\n")
    assert 10 < len(text.split()) <= 150


@pytest.mark.fault(50)
def test_a_chinese_question_is_answered_by_the_sentence_that_holds_its_words(tmp_path: Path) -> None:
    assert ask(tmp_path, "中国的首都是哪里？", beijing_md=BEIJING).startswith("北京是中国的首都。 [1]")


def test_who_somebody_is_is_told_by_the_document_about_them(tmp_path: Path) -> None:
    ada = "# Brandt, Ada\n\nAda Brandt ran the yard until 1998.\n"
    assert ask(tmp_path, "Who is Ada Brandt?", ada_md=ada).startswith("Ada Brandt ran the yard until 1998. [1]")


def test_an_identifier_that_stands_nowhere_is_refused_with_at_most_two_passages(tmp_path: Path) -> None:
    text = ask(tmp_path, "To which city was order KX-009900 sent?", orders_csv=ORDERS)
    assert text.startswith(labels("en").unanswered)
    assert "KX-009900" in opening(text)
    assert text.count("KX-00471") <= 2


def test_of_a_table_only_the_row_that_is_asked_for_is_quoted_below_its_header(tmp_path: Path) -> None:
    text = ask(tmp_path, "To which city was order KX-004712 sent?", orders_csv=ORDERS)
    assert text.splitlines() == [
        "| order | city | amount | Source |",
        "| --- | --- | --- | --- |",
        "| KX-004712 | Tarn | 95.50 | [1] |",
    ]


def test_two_documents_that_differ_in_one_word_are_both_quoted(tmp_path: Path) -> None:
    differing = {f"{name}_md": f"# {name}\n\nThe gate of Velm opens on {day}.\n" for name, day in DAYS.items()}
    text = ask(tmp_path, "On which day does the gate of Velm open?", "orchestrated", **differing)
    assert all(f"The gate of Velm opens on {day}." in text for day in DAYS.values())


def test_a_brief_keeps_to_the_length_that_it_states(tmp_path: Path) -> None:
    halls = " ".join(f"Hall {n} of Arvo Robotics was built in {1900 + n} and holds {n} robots." for n in range(90))
    request = "Write 80 words on Arvo Robotics: its halls, its robots, its years."
    text = ask(tmp_path, request, halls_md=f"# Halls\n\n{halls}\n")
    assert 30 < len(text.split()) < 130


@pytest.mark.parametrize(
    ("request_text", "parts"),
    [
        ("Report on Osk:\n1. the kiln\n2. its wharf. Cite your sources.", ["the kiln", "its wharf"]),
        ("A memo on Osk: trade, the school, and roads and rails.", ["trade", "the school", "roads and rails"]),
        ("Report on price, security, limits and speed.", ["price", "security", "limits", "speed"]),
        ("Who runs Osk, and when was it founded? Keep it short.", ["Who runs Osk?", "when was it founded?"]),
        ("who runs osk and at what wage", ["who runs osk?", "at what wage?"]),
        ("Compare them?\nWhen was Osk founded?", ["When was Osk founded?"]),
        ("Compare them?\nthe kiln and the wharf", ["the kiln and the wharf"]),
        ("How did bread and butter prices change?", ["How did bread and butter prices change?"]),
    ],
)
def test_a_request_is_taken_apart_by_its_marks(request_text: str, parts: list[str]) -> None:
    assert [part.text for part in split(request_text)] == parts


def test_an_answer_to_a_question_back_is_taken_whole() -> None:
    assert split("What does it cost?\nthe annual pass of the pool")[0].context == "the annual pass of the pool"


def test_each_document_that_a_topic_names_is_quoted(tmp_path: Path) -> None:
    kilns: dict[str, Any] = {
        "osk_md": "# Osk Kiln\n\nThe Osk Kiln burns lime.\n",
        "vel_md": "# Vel Wharf\n\nIt was built in 1844.\n",
    }
    text = ask(tmp_path, "Compare them.\nThe Osk Kiln and Vel Wharf", **kilns)
    assert "burns lime" in text and "1844" in text
