"""Whole runs over folders of one or two small documents: what the answer begins with, and where none is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from extracting import ask

from deep_research.app.strategies import Strategy

SERVICES = "# Price list\n\n| Item | Price |\n| --- | --- |\n| Full service | 1,790 |\n| Flat tyre | 290 |\n"
PENALTY = "# Minutes\n\nThe penalty was paid in full by the supplier in 2025.\n"
SALES = "month,city,model,units\n2026-02,Bergen,Skarv,17\n2026-03,Bergen,Skarv,21\n2026-03,Oslo,Skarv,8\n"
PEOPLE = "# People\n\nSigrid Moe leads the sales department. She joined the firm in 2015.\n"
KILN = "# Halls\n\nThe kiln in Hall 7 is fired on Mondays. The paint is kept in Hall 3.\n"
SHOWROOM = "# Showroom\n\nThe showroom of Bergen was opened on 1 June 2024. It closed in 2025.\n"
BRIDGES = "# Bridges\n\nThe Bridge of Osk was opened in 1911. It is painted green.\n"
STAFF = """# Staff of the yard

Ada Brandt is the manager. She joined the yard in 1998.

Per Moen is the cook. He joined the yard in 2016. He lives in Velm.
"""
BIKES = """The Skarv is a bike for one person. It weighs {} kilograms.

The Lomvi is a tricycle for two children. It weighs {} kilograms.
"""
LAMPS = """# Lamps

The lamps of Tarn have been made since 1950. The factory stands by the river. The models come in:

- moss green
- sea blue
"""
SHOP = """# Shop

The prices are as follows:

| Item | Price |
| --- | --- |
| Bell | 20 |

## Days on which the shop is closed

- Mondays
"""
OVEN = "# Oven\n\nHow to bake\n1. Open the lid of the oven\n2. Set the oven of Tarn to 220 degrees\n3. Close the lid\n"
LETTER = (
    "# A letter\n\n> The kiln of Tarn was never fired again after the flood of\n> 1950 until Ada Moran mended it.\n"
)
RECORDS = "# Cargo bikes of 2024\n" + "".join(
    f"\n## {name}\n\nPayload: {payload} kg\nDesigner: {designer}\n"
    for name, payload, designer in (
        ("Skarv", 120, "Ole Dahl"),
        ("Terne", 180, "Yngve Fosse"),
        ("Lomvi", 210, "Eva Lind"),
    )
)
BUDGETS = "# Budgets\n\n| Department | Budget |\n| --- | --- |\n| Workshop | 120 |\n| Research | 340 |\n"
POLICY = "# Policy\n\nThe policy was issued by the IT department.\n"


def test_a_row_comes_before_a_sentence_that_holds_less_of_the_question(tmp_path: Path) -> None:
    text = ask(tmp_path, "How much is a full service?", prices_md=SERVICES, minutes_md=PENALTY)
    assert text.startswith("| Item | Price | Source |\n| --- | --- | --- |\n| Full service | 1,790 | [")
    assert text.index("1,790") < text.index("The penalty was paid in full")


def test_a_planned_run_tells_a_row_in_words(tmp_path: Path) -> None:
    text = ask(tmp_path, "How much is a full service?", "planned", prices_md=SERVICES, minutes_md=PENALTY)
    assert text.startswith("Item: Full service, Price: 1,790. [")


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("How many Skarv were sold in Bergen in March 2026?", "| 2026-03 | Bergen | Skarv | 21 | [1] |"),
        ("How many units of the Skarv in Oslo in March 2026?", "| 2026-03 | Oslo | Skarv | 8 | [1] |"),
        ("How many Skarv were sold in Bergen in 2026-02?", "| 2026-02 | Bergen | Skarv | 17 | [1] |"),
    ],
)
def test_months_in_words_meet_months_in_numbers_and_a_place_is_a_name_of_its_own(
    tmp_path: Path, question: str, row: str
) -> None:
    lines = ask(tmp_path, question, sales_csv=SALES).splitlines()
    assert lines[:3] == ["| month | city | model | units | Source |", "| --- | --- | --- | --- | --- |", row]


@pytest.mark.parametrize(
    ("strategy", "begin"),
    [("orchestrated", "Terne: Payload: 180 kg Designer: Yngve Fosse [1]"), ("planned", "Terne: ")],
)
def test_a_record_is_quoted_behind_the_heading_that_tells_whose_it_is(
    tmp_path: Path, strategy: Strategy, begin: str
) -> None:
    text = ask(tmp_path, "What is the payload of the Terne?", strategy, bikes_md=RECORDS)
    assert text.startswith(begin)
    assert "not verified" not in text


@pytest.mark.parametrize("question", ["What is the salary of Sigrid Moe?", "How many children does Sigrid Moe have?"])
@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
def test_a_name_without_what_is_asked_about_it_is_no_answer(tmp_path: Path, strategy: Strategy, question: str) -> None:
    text = ask(tmp_path, question, strategy, people_md=PEOPLE)
    assert text.startswith("The documents do not answer this question.")
    assert "Sigrid Moe leads the sales department. [1]" in text


def test_a_sentence_that_only_holds_a_date_is_no_part_of_the_answer(tmp_path: Path) -> None:
    text = ask(tmp_path, "When is the kiln in Hall 7 fired?", halls_md=KILN, showroom_md=SHOWROOM)
    assert text.startswith("The kiln in Hall 7 is fired on Mondays. [1]")
    assert "1 June 2024" not in text.partition("This report is an extract")[0]


def test_a_word_of_asking_may_be_part_of_what_is_asked_for(tmp_path: Path) -> None:
    text = ask(tmp_path, "What is the budget of the research department?", budgets_md=BUDGETS, policy_md=POLICY)
    assert "| Research | 340 | [" in text.partition("This report is an extract")[0]


def test_code_of_a_console_is_not_quoted_as_a_list(tmp_path: Path) -> None:
    text = "# Clauses\n\nA finally clause drops what was raised:\n\n>>> def f():\n...     return 42\n>>> f()\n42\n"
    assert "42" not in ask(tmp_path, "What does a finally clause do with what was raised?", clauses_md=text)


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
def test_who_is_meant_by_a_pronoun_stands_before_it(tmp_path: Path, strategy: Strategy) -> None:
    text = ask(tmp_path, "When did Per Moen join the yard?", strategy, staff_md=STAFF)
    assert text.startswith("Per Moen is the cook. [1]")
    assert text.index("He joined the yard in 2016.") < text.find("She joined the yard in 1998.") % len(text)


def test_an_outdated_value_is_that_of_the_thing_that_is_asked_for(tmp_path: Path) -> None:
    new = f"# Bike data 2026\n\n{BIKES.format(31, 58)}\nThis data sheet supersedes the 2024 edition.\n"
    old = f"# Bike data 2024\n\n{BIKES.format(30, 57)}"
    text = ask(tmp_path, "How much does the Lomvi weigh?", data2024_md=old, data2026_md=new)
    _, _, outdated = text.partition("## Outdated versions")
    assert "58 kilograms" in text
    assert "57 kilograms" in outdated
    assert "30 kilograms" not in outdated


def test_an_amount_between_1000_and_2099_is_no_year_where_its_unit_follows(tmp_path: Path) -> None:
    text = "# Velm Reservoir\n\nThe Velm Reservoir has a volume of 1600 litres. It is green.\n"
    report = ask(tmp_path, "How much does the Velm Reservoir hold?", reservoir_md=text)
    assert report.startswith("The Velm Reservoir has a volume of 1600 litres. [1]")


@pytest.mark.parametrize(
    "question",
    [
        "Which lorries drive over the Bridge of Osk?",
        "Which lorries go across the Bridge of Osk?",
        "When did the last lorries drive over the Bridge of Osk?",
        "Wie viele Lastwagen fahren nachts über die Bridge of Osk?",
        "Who wrote novels about the Bridge of Osk?",
    ],
)
def test_only_a_question_for_whatever_there_is_on_a_name_is_answered_with_anything(
    tmp_path: Path, question: str
) -> None:
    text = ask(tmp_path, question, bridges_md=BRIDGES)
    assert not text.startswith("The Bridge of Osk")
    assert "## N" in text


@pytest.mark.parametrize(
    "question",
    [
        "What do the papers say about the Bridge of Osk?",
        "What is known about the Bridge of Osk?",
        "Was steht dort über die Bridge of Osk?",
        "Wat weten we over de Bridge of Osk?",
        "¿Qué se sabe sobre Bridge of Osk?",
    ],
)
def test_such_a_question_is_answered_in_many_languages(tmp_path: Path, question: str) -> None:
    text = ask(tmp_path, question, bridges_md=BRIDGES)
    assert text.startswith("The Bridge of Osk was opened in 1911. [1]")


def test_a_list_that_is_only_spoken_of_makes_no_question_a_broad_one(tmp_path: Path) -> None:
    text = ask(tmp_path, "How much is the membership fee of Sigrid Moe in the list?", people_md=PEOPLE)
    assert text.startswith("The documents do not answer this question.")


def test_the_items_of_a_list_are_quoted_behind_the_sentence_that_leads_them_in(tmp_path: Path) -> None:
    text = ask(tmp_path, "In which colours do the models of the lamps of Tarn come?", lamps_md=LAMPS)
    assert text.startswith("- The models come in: moss green [1]\n- The models come in: sea blue [1]\n")
    assert text.count("The factory") <= 1


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
def test_what_leads_in_a_table_leads_in_no_list_below_it(tmp_path: Path, strategy: Strategy) -> None:
    text = ask(tmp_path, "When is the shop closed?", strategy, shop_md=SHOP)
    assert "as follows: Mondays" not in text


def test_the_steps_of_a_numbered_list_are_quoted_whole_and_without_their_numbers(tmp_path: Path) -> None:
    text = ask(tmp_path, "To how many degrees is the oven of Tarn set?", oven_md=OVEN)
    assert text.startswith("Set the oven of Tarn to 220 degrees [1]")
    assert "Open the lid of the oven [1]" in text


def test_a_sentence_of_a_quoted_passage_goes_on_in_its_next_line(tmp_path: Path) -> None:
    text = ask(tmp_path, "When was the kiln of Tarn fired after the flood?", letter_md=LETTER)
    assert text.startswith(
        "The kiln of Tarn was never fired again after the flood of 1950 until Ada Moran mended it. [1]"
    )


def test_of_two_questions_each_is_answered_from_its_own_words(tmp_path: Path) -> None:
    question = "When did Ada Brandt join the yard, and where does Per Moen live?"
    lead = ask(tmp_path, question, staff_md=STAFF).partition("This report is an extract")[0]
    assert lead.startswith("Ada Brandt is the manager. [1] She joined the yard in 1998. [1] Per Moen is the cook. [1]")
    assert "He lives in Velm. [1]" in lead


def test_a_row_that_says_nothing_of_what_is_asked_is_no_answer(tmp_path: Path) -> None:
    text = "# Doors\n\n| Door | Height |\n| --- | --- |\n| Blue | 40 |\n| Red | 60 |\n"
    assert ask(tmp_path, "Who painted the Blue door in Venn?", doors_md=text).startswith("The documents do not answer")


def test_a_number_in_brackets_in_a_cell_is_no_citation(tmp_path: Path) -> None:
    text = "# Herons\n\n| Year | Nests |\n| --- | --- |\n| 2018 | 4100 |\n| 2019 | 4870 [2] |\n"
    report = ask(tmp_path, "How many nests of herons were there in 2019?", herons_md=text)
    assert report.startswith("| Year | Nests | Source |\n| --- | --- | --- |\n| 2019 | 4870 (2) | [1] |")
