"""Which documents lead, of the user's own and of the web."""

from __future__ import annotations

from deep_research.models.extractive.leading import MOST_SOURCES, leading
from deep_research.models.extractive.reading import Document

QUESTION = "Where was the captain of the Silver Heron born?"
SHIP = ("Silver Heron", "The Silver Heron was a cargo ship. Her only captain was Mara Ellingsen.")
CAPTAIN = ("Mara Ellingsen", "Mara Ellingsen was born in Tromsø, Norway.")
BIRDS = ("Herons", "Herons are born in nests.")
PORT = ("Port", "A port for ships.")


def documents(scheme: str, *texts: tuple[str, str], first: int = 1) -> list[Document]:
    return [
        Document(number, title, f"{scheme}{number}", (text,)) for number, (title, text) in enumerate(texts, start=first)
    ]


def titles(found: list[Document]) -> list[str]:
    return [document.title for document in found]


def test_pages_of_the_web_are_put_in_order_by_the_names_that_lead_through_them() -> None:
    others = [
        (name, f"{name} was born in a village.") for name in ("Ada Brandt", "Orlo Venn", "Ines Halder", "Jon Ask")
    ]
    pages = documents("https://example.org/", *others, CAPTAIN, SHIP)
    assert set(titles(leading(pages, QUESTION))[:2]) == {"Silver Heron", "Mara Ellingsen"}


def test_documents_stay_in_the_order_of_their_search() -> None:
    assert titles(leading(documents("docs:", PORT, BIRDS, CAPTAIN, SHIP), QUESTION)) == [
        "Port",
        "Herons",
        "Mara Ellingsen",
        "Silver Heron",
    ]


def test_documents_and_pages_come_in_turn() -> None:
    own, pages = documents("docs:", SHIP, PORT), documents("https://example.org/", CAPTAIN, BIRDS, first=3)
    assert titles(leading([*own, *pages], QUESTION))[::2] == ["Silver Heron", "Port"]


def test_no_more_lead_than_are_cited() -> None:
    assert len(leading(documents("docs:", *[BIRDS] * 9), QUESTION)) == MOST_SOURCES
