"""Which documents lead, of the user's own and of the web."""

from __future__ import annotations

import time
from random import Random

from deep_research.models.extractive.leading import MOST_SOURCES, leading
from deep_research.models.extractive.reading import Document

QUESTION = "Where was the captain of the Silver Heron born?"
SHIP = ("Silver Heron", "The Silver Heron was a cargo ship. Her only captain was Mara Ellingsen.")
CAPTAIN = ("Mara Ellingsen", "Mara Ellingsen was born in Tromsø, Norway.")
BIRDS = ("Herons", "Herons are born in nests.")
OTHERS = [(name, f"{name} was born in a village.") for name in ("Ada Brandt", "Orlo Venn", "Ines Halder", "Jon Ask")]
FILLER = "\n\n".join(f"{'Nothing else is told of it, and nobody asked. ' * 12}" for _ in range(30))
PORT = ("Port", "A port for ships.")


def documents(scheme: str, *texts: tuple[str, str], first: int = 1) -> list[Document]:
    return [
        Document(number, title, f"{scheme}{number}", (text,)) for number, (title, text) in enumerate(texts, start=first)
    ]


def titles(found: list[Document]) -> list[str]:
    return [document.title for document in found]


def test_pages_of_the_web_are_put_in_order_by_the_names_that_lead_through_them() -> None:
    pages = documents("https://example.org/", *OTHERS, CAPTAIN, SHIP)
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


def test_a_passage_leads_from_the_middle_of_a_long_page_as_from_a_short_one() -> None:
    long = [(title, f"{FILLER}\n\n{text}\n\n{FILLER}") for title, text in (("Fleet", SHIP[1]), ("Sailors", CAPTAIN[1]))]
    found = titles(leading(documents("https://example.org/", *OTHERS, BIRDS, *long), QUESTION))
    assert set(found[:2]) == {"Fleet", "Sailors"}


def test_long_pages_full_of_names_are_put_in_order_quickly() -> None:
    random = Random(5)
    parts = ["ka", "lo", "mi", "ren", "ta", "vo", "shi", "bel", "dor", "an", "eth", "ul", "gar", "nim", "pos"]
    words = ["".join(random.choices(parts, k=3)) for _ in range(1_000)]
    people = [f"{first.title()} {last.title()}" for first, last in zip(words[:400], words[400:800], strict=True)]

    def page() -> tuple[str, str]:
        sentences = (
            " ".join([random.choice(people), "was born in", *random.choices(words, k=6), "to", random.choice(people)])
            for _ in range(250)
        )
        return random.choice(people), ". ".join(sentences)

    pages = documents("https://example.org/", *(page() for _ in range(25)))
    began = time.process_time()
    leading(pages, f"Where was the captain born whose ship {people[0]} built with {people[1]} and {people[2]}?")
    # Compared one by one, as whole pages, they took five times as long.
    assert time.process_time() - began < 3
