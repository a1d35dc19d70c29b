"""Whole runs over folders of one or two small documents: what the answer begins with, and where none is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_research import research
from deep_research.app.strategies import Strategy

SERVICES = "# Price list\n\n| Item | Price |\n| --- | --- |\n| Full service | 1,790 |\n| Flat tyre | 290 |\n"
PENALTY = "# Minutes\n\nThe penalty was paid in full by the supplier in 2025.\n"
SALES = "month,city,model,units\n2026-02,Bergen,Skarv,17\n2026-03,Bergen,Skarv,21\n2026-03,Oslo,Skarv,8\n"
PEOPLE = "# People\n\nSigrid Moe leads the sales department. She joined the firm in 2015.\n"
KILN = "# Halls\n\nThe kiln in Hall 7 is fired on Mondays. The paint is kept in Hall 3.\n"
SHOWROOM = "# Showroom\n\nThe showroom of Bergen was opened on 1 June 2024. It closed in 2025.\n"
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
BIKES = "# Cargo bikes of 2024\n" + "".join(
    f"\n## {name}\n\nPayload: {payload} kg\nDesigner: {designer}\n"
    for name, payload, designer in (
        ("Skarv", 120, "Ole Dahl"),
        ("Terne", 180, "Yngve Fosse"),
        ("Lomvi", 210, "Eva Lind"),
    )
)
BUDGETS = "# Budgets\n\n| Department | Budget |\n| --- | --- |\n| Workshop | 120 |\n| Research | 340 |\n"
POLICY = "# Policy\n\nThe policy was issued by the IT department.\n"


def ask(folder: Path, question: str, strategy: Strategy = "orchestrated", **files: str) -> str:
    """The text of the report on files that are named by their suffixes."""
    docs = folder / "documents"
    docs.mkdir()
    for name, text in files.items():
        (docs / name.replace("_", ".")).write_text(text, "utf-8")
    answer = research(question, strategy, docs=(docs,), models="extractive", engines=(), data_dir=folder / "data")
    return answer.report.text


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
    text = ask(tmp_path, "What is the payload of the Terne?", strategy, bikes_md=BIKES)
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
