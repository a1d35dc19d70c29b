"""What texts say of themselves: which edition they replace, what replaces them, and their status."""

from __future__ import annotations

import pytest

from deep_research.evidence.versions.names import folded
from deep_research.evidence.versions.statements import statements_in, status_in
from deep_research.evidence.versions.vocabulary import REPLACING
from deep_research.evidence.words import tokens

SAYING = [
    "This price list supersedes the 2024 edition.",
    "Intro.\n\nReplaces: the 2024 edition\n\nMore.",
    "Diese Badeordnung ersetzt die Fassung von 2024.",
    "Die vorliegende Fassung tritt an die Stelle der Ausgabe 2024.",
    "Este reglamento sustituye al de 2024.",
    "Cette édition annule et remplace le tarif de 2024.",
    "This edition has replaced the one of 2024.",
    "Diese Ordnung löst die Fassung von 2024 ab.",
    "本规定代替2024年版。",
]


@pytest.mark.parametrize("text", SAYING)
def test_a_text_that_says_what_it_replaces_is_understood(text: str) -> None:
    [statement] = statements_in(text)
    assert (statement.is_replaced, statement.is_of_document, "2024" in statement.which) == (False, True, True)


@pytest.mark.parametrize("text", SAYING)
def test_a_text_that_says_what_it_replaces_is_found_by_its_words(text: str) -> None:
    assert set(tokens(text)) & {folded(word) for word in REPLACING}


@pytest.mark.parametrize(
    "text",
    [
        "This edition has been superseded by the price list of 2026.",
        "Superseded by: Basin prices 2026",
        "Diese Ordnung wurde durch die Fassung vom 1. März 2026 ersetzt.",
        "Esta tarifa fue sustituida por la de 2026.",
    ],
)
def test_a_text_that_says_what_replaces_it_is_understood(text: str) -> None:
    [statement] = statements_in(text)
    assert statement.is_replaced
    assert "2026" in statement.which


@pytest.mark.parametrize(
    "text",
    [
        "The new pump replaces the 2019 pump.",
        "The Harbour Bridge replaced the Old Ferry in 1911.",
        "Das neue Becken ersetzt das Becken von 1962.",
        "Steam was superseded by diesel.",
        "- Replace the water filter every six months.",
        "## Replacing the bilge pump",
        "# Lost property rules",
        "Den Filter ersetzen und die Pumpe prüfen.",
    ],
)
def test_what_is_replaced_in_the_world_is_no_document(text: str) -> None:
    assert statements_in(text) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("# House rules\n\nStatus: superseded\n\nText.", "outdated"),
        ("ENTWURF – zur Beratung\n\nText.", "draft"),
        ("Diese Fassung ist nicht mehr gültig.", "outdated"),
        ("The ferry is no longer valid for cars.", ""),
        ("Rules.\n\n" + "Text. " * 200 + "\nStatus: draft", ""),
    ],
)
def test_the_beginning_of_a_text_tells_its_status(text: str, status: str) -> None:
    assert status_in(text) == status
