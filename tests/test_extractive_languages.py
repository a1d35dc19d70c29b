"""What is a name, a date or a number of a question in other languages than English is told as well as in English."""

from __future__ import annotations

from pathlib import Path

import pytest
from extracting import ask

from deep_research.evidence.words import names
from deep_research.models.extractive.comparison import sides_of
from deep_research.models.extractive.holding import holds
from deep_research.models.extractive.leading import sure_names

SALES = "month,city,model,units\n2026-02,Bergen,Skarv,17\n2026-03,Bergen,Skarv,21\n2026-03,Oslo,Skarv,8\n"


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Skarv wurden im März 2026 in Bergen verkauft?",
        "How many Skarv were sold in Bergen in Mar 2026?",
    ],
)
def test_a_month_with_its_year_finds_its_row_in_any_language(tmp_path: Path, question: str) -> None:
    assert ask(tmp_path, question, sales_csv=SALES).splitlines()[2] == "| 2026-03 | Bergen | Skarv | 21 | [1] |"


@pytest.mark.parametrize(
    ("question", "name"),
    [("How many moons does Mars have?", ["Mars"]), ("What is the salary of Jan?", ["Jan"]), ("Who left in March?", [])],
)
def test_what_is_a_month_in_another_language_only_is_a_name_where_it_stands_alone(
    question: str, name: list[str]
) -> None:
    assert sure_names(question) == name


@pytest.mark.parametrize(
    "sentence",
    [
        "Das Haus wurde im März 2024 gebaut.",
        "La maison fut bâtie en mars 2024.",
        "La casa fue construida en marzo de 2024.",
        "La casa fu costruita nel dicembre 2024.",
        "The house was built in March 2024.",
    ],
)
def test_a_year_behind_its_month_is_no_number(sentence: str) -> None:
    assert not holds("number", sentence, "Wie viele Leute wohnen dort?")


def test_a_month_is_no_place() -> None:
    assert not holds("place", "Das Haus wurde im Februar gebaut.", "Wo steht das Haus?")


def test_two_months_are_no_sides_of_a_comparison() -> None:
    assert not sides_of("Quante barche, gennaio o febbraio 2026?")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Где стоит Богемия Вельм?", ["Где", "Богемия Вельм"]),
        ("Πού βρίσκεται η Βοημία;", ["Πού", "Βοημία"]),
        ("Gdzie leży łódź Řeka?", ["Gdzie", "Řeka"]),
    ],
)
def test_capitals_tell_names_in_every_script_that_has_them(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Где стоит Богемия?", "Богемия стоит в порту Вельм. [1]"),
        ("Кто построил Богемию?", "Богемию построил Иван Орлов. [1]"),
    ],
)
def test_a_name_is_told_from_the_small_words_beside_it(tmp_path: Path, question: str, answer: str) -> None:
    text = "# Лодки\n\nБогемия стоит в порту Вельм. Богемию построил Иван Орлов.\n"
    assert ask(tmp_path, question, boats_md=text).startswith(answer)
