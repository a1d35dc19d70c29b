"""Runs without a model over small files: answers, their order, and what is reported as missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.runs import answer, ask

from deep_research.core.evidence.citations.labels import labels
from deep_research.core.models.extractive._parts import split_request
from deep_research.core.records.research import Strategy

BOTH = pytest.mark.parametrize(
    "strategy", ["orchestrated", pytest.param("planned", marks=pytest.mark.slow)]
)
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


def opening(text: str) -> str:
    return next(block for block in text.split("\n\n") if not block.startswith("#"))


TOWN = {
    **CITIES,
    "yard_md": STAFF,
    "prices_md": PRICES,
    "minutes_md": MINUTES,
    "bikes_md": RECORDS,
    "lamps_md": LAMPS,
    "beijing_md": BEIJING,
    "orders_csv": ORDERS,
}
"""One folder for many questions: indexing it anew would take longer than the answer."""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the documents of `TOWN` and their index."""
    return tmp_path_factory.mktemp("town")


@pytest.mark.fault(50)
@pytest.mark.parametrize(
    ("question", "files", "expected"),
    [
        ("Wie viele Einwohner hat Oslo? Bitte mit Quellenangabe.", STAEDTE, "717.710"),
        (
            "How many people does Arvo Robotics employ, and who leads Tarn?",
            COMPANY,
            "212 people. [1]",
        ),
    ],
)
def test_a_question_is_answered_in_the_first_lines(
    tmp_path: Path, question: str, files: dict[str, str], expected: str
) -> None:
    assert expected in opening(ask(tmp_path, question, "orchestrated", **files))


@pytest.mark.sweep(first=3)
@pytest.mark.fault(50)
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many inhabitants does Oslo have? Use bullet points.", "717,710"),
        ("Where does Per Moen live?", "Per Moen is the cook. [1] He lives in Velm. [1]"),
        ("When did Per Moen join the yard?", "He joined the yard in 2016. [1]"),
        (
            "How much is a full service?",
            "| Item | Price | Source |\n| --- | --- | --- |\n| Full service | 1,790 | [",
        ),
        ("What is the payload of the Terne?", "Payload: 180 kg"),
        ("In which colours do the lamps of Tarn come?", "come in: moss green [1]"),
        ("中国的首都是哪里？", "北京是中国的首都。 [1]"),
        ("To which city was order KX-004712 sent?", "| KX-004712 | Tarn | 95.50 | [1] |"),
    ],
)
def test_a_question_about_one_of_many_documents_is_answered_in_the_first_lines(
    town: Path, question: str, expected: str
) -> None:
    assert expected in opening(ask(town, question, "orchestrated", **TOWN))


@BOTH
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is the captain of the Zephyrine?", "Zephyrine"),
        ("Who is the captain of the zephyrine?", "zephyrine"),
    ],
)
def test_what_is_in_no_document_is_named_as_missing(
    tmp_path: Path, strategy: Strategy, question: str, name: str
) -> None:
    text = ask(tmp_path, question, strategy, **COMPANY)
    assert text.startswith(labels("en").unanswered)
    assert name in opening(text)


@BOTH
def test_the_newest_of_a_series_answers_before_older_values(
    tmp_path: Path, strategy: Strategy
) -> None:
    text = ask(
        tmp_path, "How many robots does the fleet of Arvo Robotics comprise?", strategy, **SERIES
    )
    newest, *older = [text.find(value) for value in ("3,120", "1,960", "1,210")]
    assert 0 <= newest < older[0]
    assert all(position < 0 or position > newest for position in older)


@pytest.mark.fault(50)
@BOTH
def test_question_and_report_are_in_one_language_labels_included(
    tmp_path: Path, strategy: Strategy
) -> None:
    answered = answer(tmp_path, "Wann ist das Institut geöffnet?", strategy, **INSTITUT)
    assert answered.report.text.startswith("Das Institut ist von 8 bis 18 Uhr geöffnet. [1]")
    assert f"## {labels('de').sources}" in answered.markdown
    assert answered.markdown.rstrip().endswith(
        f"## {labels('de').notes}\n\n- {labels('de').is_extract}"
    )
    refused = answer(tmp_path, "Wer leitet das Museum in Quellheim?", strategy, **INSTITUT)
    assert refused.report.text.startswith(labels("de").unanswered)


@BOTH
def test_no_sentence_occurs_twice_and_documents_that_differ_in_one_word_are_both_quoted(
    tmp_path: Path, strategy: Strategy
) -> None:
    gates = {
        f"{day}_md": f"# {day}s\n\nThe gate of Velm opens on {day}.\n"
        for day in ("Monday", "Thursday")
    }
    text = ask(
        tmp_path / "staff",
        "What do we know about Ada Brandt and Per Moen?",
        strategy,
        staff_md=STAFF,
    )
    assert "manager" in text
    assert (
        max(
            text.count(sentence)
            for sentence in ("Ada Brandt is the manager.", "Per Moen is the cook.")
        )
        == 1
    )
    text = ask(tmp_path, "On which day does the gate of Velm open?", "orchestrated", **gates)
    assert all(f"The gate of Velm opens on {day}." in text for day in ("Monday", "Thursday"))


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("request_text", "most"),
    [
        ("Which halls of Arvo Robotics did Mira Tolonen build?", 270),
        ("Which halls did Mira Tolonen build, and when was Arvo Robotics founded?", 190),
        ("Write about Arvo Robotics: its halls, its robots, its years.", 620),
    ],
)
def test_an_answer_keeps_to_the_usual_length(
    tmp_path_factory: pytest.TempPathFactory, request_text: str, most: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "halls"
    halls = " ".join(
        f"Hall {n} of Arvo Robotics was built by Mira Tolonen in {1900 + n}." for n in range(90)
    )
    assert 10 < len(ask(folder, request_text, halls_md=f"# Halls\n\n{halls}\n").split()) <= most


@pytest.mark.parametrize(
    ("request_text", "parts"),
    [
        (
            "Report on Osk:\n1. the kiln\n2. its wharf. Cite your sources.",
            ["the kiln", "its wharf"],
        ),
        (
            "A memo on Osk: trade, the school, and roads and rails.",
            ["trade", "the school", "roads and rails"],
        ),
        (
            "Report on price, security, limits and speed.",
            ["Report on price, security, limits and speed."],
        ),
        (
            "Who runs Osk, and when was it founded? Keep it short.",
            ["Who runs Osk?", "when was it founded?"],
        ),
        ("who runs osk and at what wage", ["who runs osk?", "at what wage?"]),
        ("Compare them?\nWhen was Osk founded?", ["When was Osk founded?"]),
        ("Compare them?\nthe kiln and the wharf", ["the kiln and the wharf"]),
        ("How did bread and butter prices change?", ["How did bread and butter prices change?"]),
    ],
)
def test_a_request_is_taken_apart_by_its_marks(request_text: str, parts: list[str]) -> None:
    assert [part.text for part in split_request(request_text)] == parts
    (part,) = split_request("What does it cost?\nthe annual pass of the pool")
    assert part.context == "What does it cost? the annual pass of the pool"
