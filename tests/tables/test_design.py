"""The design of a table as the text of a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.dialogue.plan_text import PlanText
from deep_research.core.records.table import TableColumn
from deep_research.core.tables.design import (
    MOST_COLUMNS,
    TableDesign,
    clean_columns,
    plan_fault,
)

WORDS = st.text("abc |:()*#;-1.\n", max_size=12)
COLUMNS = st.builds(
    TableColumn,
    name=WORDS,
    kind=st.sampled_from(["text", "number", "money", "date", "yes/no", "link"]),
    meaning=st.sampled_from(["", "what was paid (net): in all"]),
    is_key=st.booleans(),
)
GRANTS = """\
# Grants for harbour towns

1. Grant (text, key)
2. Amount (money in EUR): what was granted
3. Kind (choice: loan; grant)
4. Deadline (date)

## Rows

- One row: one grant
- Counts if: for harbour towns
- Counts if: above 50,000 euros
- Look in: the register of the ministry
- At most: 25 rows"""


def test_the_text_of_a_plan_says_the_design_and_is_read_back() -> None:
    plan = PlanText.read(GRANTS).plan(MOST_COLUMNS)
    design = TableDesign.read(plan)
    assert [column.name for column in design.key_columns] == ["Grant"]
    amount, kind = design.columns[1:3]
    assert (amount.kind, amount.unit, amount.meaning) == ("money", "EUR", "what was granted")
    assert kind.choices == ("loan", "grant")
    assert design.rules == ("for harbour towns", "above 50,000 euros")
    assert (design.ways, design.max_rows) == (("the register of the ministry",), 25)
    assert design.plan().text == GRANTS


def test_columns_that_a_user_types_without_kinds_are_texts_and_the_first_is_the_key() -> None:
    plan = PlanText.read("1. Name\n2. Height: in metres\n3. Name").plan(MOST_COLUMNS)
    design = TableDesign.read(plan)
    assert [(column.name, column.kind, column.is_key) for column in design.columns] == [
        ("Name", "text", True),
        ("Height", "text", False),
    ]
    assert design.columns[1].meaning == "in metres"


@pytest.mark.parametrize(
    ("line", "changed", "words"),
    [
        (
            "2. Amount (money in EUR): what was granted",
            "2. Place (colour)",
            "(colour) is no kind of",
        ),
        (
            "4. Deadline (date)",
            "4. Deadline (date of the year)",
            "(date of the year) is no kind of",
        ),
        ("4. Deadline (date)", "4. Height (m): in all", "(m) is no kind of"),
        ("- At most: 25 rows", "- At most: lots of rows", "name a number"),
        ("- At most: 25 rows", "- Keep: everything", "“rows and cells”, “rows”, “nothing”"),
    ],
)
def test_a_changed_line_that_says_nothing_is_named_with_what_it_may_say(
    line: str, changed: str, words: str
) -> None:
    before = PlanText.read(GRANTS).plan(MOST_COLUMNS)
    after = PlanText.read(GRANTS.replace(line, changed)).plan(MOST_COLUMNS)
    fault = plan_fault(after, before)
    assert words in fault and changed.partition(" ")[2] in fault
    assert plan_fault(after, after) == ""


@pytest.mark.parametrize(
    "changed",
    [
        "4. Deadline",
        "4. Amount (net) (money)",
        "4. Size (number): in m (net)",
        "4. Name (text, key)",
    ],
)
def test_a_changed_line_with_a_known_kind_or_none_is_right(changed: str) -> None:
    before = PlanText.read(GRANTS).plan(MOST_COLUMNS)
    text = GRANTS.replace("4. Deadline (date)", changed).replace("25 rows", "1,200 rows")
    after = PlanText.read(text).plan(MOST_COLUMNS)
    assert plan_fault(after, before) == ""
    assert TableDesign.read(after).max_rows == 1_200


@given(st.lists(COLUMNS, max_size=5))
def test_any_columns_survive_the_text_of_the_plan(columns: list[TableColumn]) -> None:
    clean = clean_columns([TableColumn(name="Name", is_key=True), *columns])
    design = TableDesign("Title", "one row", (), clean, ("a register",), 40)
    read = TableDesign.read(PlanText.read(design.plan().text).plan(MOST_COLUMNS))
    assert read == design
