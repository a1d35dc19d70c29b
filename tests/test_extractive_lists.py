"""Questions for all things of a kind are told from those about things of which there are several."""

from __future__ import annotations

import pytest
from extracting import finding_for, report_on

from deep_research.models.extractive.answers import is_broad
from deep_research.models.extractive.listing import asks_for_list

FLEET = "The ship Aurelia belongs to the fleet. The ship Bohemund belongs to the fleet."
BRIDGE = (
    "The Velm bridge rests on pillars. The Velm bridge was opened in 1911. The pillars of the Velm bridge are thin."
)


@pytest.mark.parametrize(
    "question",
    [
        "What ships belong to the fleet?",
        "Which ships belong to the fleet?",
        "Which old ships sailed to Osk?",
        "Which ferries and ships were built there?",
        "Name the lighthouses of Venn.",
        "Name three rivers of Venn.",
        "What are the effects of rain on salt?",
        "Nenne die Inseln von Venn.",
        "Nenne drei Flüsse.",
        "Welche Schiffe gehören zur Flotte?",
        "Was sind die Leuchttürme von Venn?",
        "Quels navires appartiennent à la flotte ?",
        "Citez les phares de Venn.",
        "¿Qué barcos tiene la flota?",
        "Nombra tres ríos.",
        "Quali navi appartengono alla flotta?",
        "Quais navios pertencem à frota?",
        "Welke schepen horen bij de vloot?",
        "Какие корабли входят во флот?",
        "舰队有哪些船？",
    ],
)
def test_a_plural_that_is_asked_for_wants_a_list(question: str) -> None:
    assert asks_for_list(question)


@pytest.mark.parametrize(
    "question",
    [
        "What are the pillars of the Velm bridge made of?",
        "What are the pillars of the bridge called?",
        "Name the captain of the Silver Heron.",
        "Name the ship's captain.",
        "Name the owner of the ships.",
        "Nenne den Kapitän der Flotte.",
        "Nenne die Höhe der Brücke.",
        "What causes tides?",
        "Which Texas city was founded first?",
        "Which city was the band formed in?",
        "Welche Fähre wurde in Osk gebaut?",
        "Quel navire appartient à la flotte ?",
        "¿Qué barco tiene la flota?",
        "Quale nave è più vecchia?",
    ],
)
def test_a_plural_that_is_only_spoken_of_wants_none(question: str) -> None:
    assert not asks_for_list(question)


@pytest.mark.parametrize("question", ["What ships belong to the fleet?", "Which ships belong to the fleet?"])
def test_what_belongs_to_a_thing_is_told_item_by_item(question: str) -> None:
    report = report_on(question, finding_for(question, ("Fleet", FLEET)))
    assert report.startswith("- The ship Aurelia belongs to the fleet. [1]\n- The ship Bohemund belongs")


def test_what_things_are_made_of_is_no_list_of_what_is_said_of_them() -> None:
    question = "What are the pillars of the Velm bridge made of?"
    assert not report_on(question, finding_for(question, ("Velm bridge", BRIDGE))).startswith("- ")


def test_one_sentence_alone_is_no_list() -> None:
    question = "What are the lighthouses of Venn?"
    text = "Tarn Head and Gull Rock are the lighthouses of Venn. Herring is caught in spring."
    report = report_on(question, finding_for(question, ("Coast", text)))
    assert report.startswith("Tarn Head and Gull Rock are the lighthouses of Venn. [1]")


@pytest.mark.parametrize(
    ("question", "is_so"),
    [
        ("List the ships of Osk.", True),
        ("Could you please list the ships of Osk?", True),
        ("Can you make a list of the ships of Osk?", True),
        ("How much is the membership fee in the price list?", False),
        ("Which ships list to the left?", False),
        ("Who wrote the list of ships?", False),
    ],
)
def test_only_who_asks_for_a_list_wants_more_than_one_answer(question: str, is_so: bool) -> None:
    assert is_broad(question) is is_so
