"""What is a name, a date or a number of a question in other languages than English is told as well as in English."""

from __future__ import annotations

from pathlib import Path

import pytest
from extracting import ask

from deep_research.evidence.words import names
from deep_research.models.extractive.comparison import sides_of
from deep_research.models.extractive.holding import holds
from deep_research.models.extractive.leading import sure_names
from deep_research.models.extractive.leads import queries_in
from deep_research.models.extractive.pool import Pool, Text
from deep_research.models.extractive.sentences import Quotable

SALES = "month,city,model,units\n2026-02,Bergen,Skarv,17\n2026-03,Bergen,Skarv,21\n2026-03,Oslo,Skarv,8\n"


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Skarv wurden im März 2026 in Bergen verkauft?",
        "How many Skarv were sold in Bergen in Mar 2026?",
        "Combien de Skarv ont été vendus à Bergen en mars 2026 ?",
        "¿Cuántos Skarv se vendieron en Bergen en marzo de 2026?",
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


def test_no_search_follows_a_month() -> None:
    said = Quotable("The race of Osk was won in März 2024, in Décembre 2023 and in September 2022 by Ada Brandt.")
    pool = Pool([Text(1, "Race", (said,))], "Who won the race of Osk?")
    assert queries_in(pool, (), 5) == ["Ada Brandt"]


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


@pytest.mark.parametrize(
    "question",
    [
        "Was kostet eine Inspektion?",
        "Welchen Preis hat eine Inspektion?",
        "Wieso ist eine Inspektion so teuer?",
        "Wie teuer ist eine Inspektion im Sommer?",
        "Zu welchem Preis gibt es eine Inspektion?",
    ],
)
def test_a_noun_of_german_is_no_name_however_the_question_begins(question: str) -> None:
    assert sure_names(question) == []


def test_neither_is_the_word_behind_the_one_that_asks(tmp_path: Path) -> None:
    text = "# Preise\n\nEine Inspektion kostet 140 Euro. Ein Reifenwechsel kostet 30 Euro.\n"
    report = ask(tmp_path, "Welchen Preis hat eine Inspektion?", prices_md=text)
    assert report.startswith("Eine Inspektion kostet 140 Euro. [1]")


def test_the_word_that_asks_is_not_missed_in_the_documents(tmp_path: Path) -> None:
    question = "Zu welchem Preis bekommt man dort eine Inspektion?"
    report = ask(tmp_path, question, prices_md="# Kosten\n\nDer Service kostet 140 Euro.\n")
    assert "Preis" in report and "welchem" not in report


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Was Oslo opened to ships in 1911?", ["Oslo"]),
        ("Wie bouwde de Bohemia van Osk?", ["Bohemia van Osk"]),
        ("Когда Иван построил Богемию?", ["Иван", "Богемию"]),
        ("Combien de Skarv y a-t-il ?", ["Skarv"]),
        ("Wann lief der Silberne Reiher aus?", ["Silberne Reiher"]),
    ],
)
def test_the_word_that_asks_is_no_part_of_a_name(question: str, found: list[str]) -> None:
    assert sure_names(question) == found


def test_two_names_joined_in_spanish_may_stand_in_two_documents(tmp_path: Path) -> None:
    oslo, bergen = "Oslo tiene 700 barcos.", "Bergen tiene 300 barcos."
    report = ask(tmp_path, "¿Cuántos barcos tienen Oslo y Bergen?", oslo_md=f"# Oslo\n\n{oslo}\n", bergen_md=bergen)
    assert oslo in report.partition("\n")[0] and bergen in report.partition("\n")[0]
