"""Edits of a report's blocks: what they change, what they leave alone, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.citations.markers import settle_fences
from deep_research.core.writing.blocks import Table, changed_blocks, report_blocks
from deep_research.nodes._edits import apply_edits
from deep_research.nodes._losses import losses
from deep_research.nodes._report_edit import TABLE_EDITS, ReportEdit

TABLE = "| Light | Lit | Metres |\n|:--|---|--:|\n| Skerry |  1844 [1] | 38 [2] |\n| Anlow | 1901 [3] | 5 |"
REPORT = f"""\
## The light

It was lit in 1844. [1] Ada Moran kept it from 1901 to 1932. [2] *(not verified)*

- First, the tower [1]
   - Its height: 38 metres [2]
- Then the keeper [2]
1. One
2. Two

**Table 1: Lights**

{TABLE}
Below the table.

```
code | code

more
```

## The end
It is so. [^a]

\\[^a]: By gas.
"""


def edit(kind: Any, block: int, **more: Any) -> ReportEdit:
    return ReportEdit(kind=kind, block=block, **more)


def edited(*edits: ReportEdit, text: str = REPORT) -> str:
    """The report after edits, none of which is refused."""
    result = apply_edits(text, edits)
    assert not result.refused
    return result.text


def refusal(*edits: ReportEdit, text: str = REPORT) -> str:
    """Why the last of these edits is refused; the others are applied."""
    result = apply_edits(text, edits)
    assert list(result.refused) == [len(edits) - 1], result.refused
    assert result.text == apply_edits(text, edits[:-1]).text
    return result.refused[len(edits) - 1]


def test_a_report_is_divided_into_numbered_blocks() -> None:
    blocks = report_blocks(REPORT)
    assert [block.number for block in blocks] == list(range(1, 15))
    assert [block.kind for block in blocks] == [
        *("heading", "paragraph", "item", "item", "item", "item", "item", "caption", "table"),
        *("paragraph", "code", "heading", "paragraph", "footnote"),
    ]
    assert all(REPORT[block.start : block.end] == block.text for block in blocks)


OF_BLOCKS = ("replace", "replace_words", "delete", "insert_after", "move_after")
KINDS = st.sampled_from([*OF_BLOCKS, *sorted(TABLE_EDITS)])
LINES = st.sampled_from(
    [
        *("", "", "  ", "# Head", "Words of 1844. [1]", "*Table 2: Else*", "and more words [2]"),
        *("- an item [1]", "  - nested", "* other", "1. one", "2. two", "1986. was a year"),
        *("| a | b |", "| - | - |", "|--|--|", "| 1 [3] | 2 |", "a | b", "> quoted", "```", "~~~"),
        *("---", "Head\n===", "\\[^a]: A note.", "\ttabbed", "    four", "**Bold line**"),
    ]
)
TEXTS = st.lists(LINES, max_size=14).map("\n".join).map(settle_fences)
SMALL = st.integers(-1, 9)
EDITS = st.builds(
    ReportEdit,
    kind=KINDS,
    block=SMALL,
    last=st.sampled_from([0, 0, 0, 2, 5]),
    after=SMALL,
    words=st.sampled_from(["", "of 1844. [1]", "Words", "and more words [2]", "item", "one"]),
    text=st.one_of(TEXTS, st.just("new | cell [1]")),
    is_continued=st.booleans(),
    row=st.integers(-1, 3),
    column=st.integers(-1, 3),
    cells=st.lists(st.sampled_from(["x", "y [2]", "p | q"]), max_size=4),
)


def named_by(edits: list[ReportEdit]) -> set[int]:
    """The numbers of the blocks that edits change."""
    named = set[int]()
    for given_edit in edits:
        last = given_edit.block
        if given_edit.kind in ("replace", "delete"):
            last = max(last, given_edit.last)
        is_beside = given_edit.kind == "insert_after" and not given_edit.is_continued
        if given_edit.kind != "move_after" and not is_beside:
            named.update(range(given_edit.block, last + 1))
    return named


@given(TEXTS, st.lists(EDITS, max_size=5), st.randoms(use_true_random=False))
def test_blocks_that_no_edit_names_stay_as_they_are(
    text: str, edits: list[ReportEdit], random: Any
) -> None:
    blocks = report_blocks(text)
    result = apply_edits(text, edits)
    applied = [given_edit for index, given_edit in enumerate(edits) if index not in result.refused]
    after = Counter(block.text for block in report_blocks(result.text))
    named = named_by(applied)
    kept = Counter(block.text for block in blocks if block.number not in named)
    assert not kept - after
    # What was inserted stands as blocks of its own, too.
    new = Counter[str]()
    for given_edit in applied:
        is_new = given_edit.kind == "insert_after" and not given_edit.is_continued
        if is_new or given_edit.kind == "replace":
            new.update(block.text.strip() for block in report_blocks(given_edit.text.strip()))
    if not any(given_edit.is_continued for given_edit in applied):
        assert not new - Counter(block.text.strip() for block in report_blocks(result.text))
    # Blocks that are not moved keep their order.
    if not any(given_edit.kind in ("move_after", "insert_after") for given_edit in applied):
        position = 0
        for block in blocks:
            if block.number not in named:
                position = result.text.index(block.text, position) + len(block.text)
    if not any(given_edit.kind == "insert_after" for given_edit in edits):
        shuffled = random.sample(edits, len(edits))
        assert apply_edits(text, shuffled).text == result.text
    if not applied:
        assert result.text == text


@given(TEXTS, st.lists(EDITS, max_size=3))
def test_cells_that_no_edit_names_stay_as_they_are(_: str, edits: list[ReportEdit]) -> None:
    edits = [e.model_copy(update={"block": 9}) for e in edits if e.kind in TABLE_EDITS]
    result = apply_edits(REPORT, edits)
    applied = [e for index, e in enumerate(edits) if index not in result.refused]
    after = Table.read(next(b for b in report_blocks(result.text) if b.kind == "table"))
    lines = [after.header, after.rule, *after.rows]
    assert len({len(row.cells) for row in lines}) == 1
    before = Table.read(report_blocks(REPORT)[8])
    cells = Counter(cell for row in lines for cell in row.cells)
    for number, row in enumerate([before.header, *before.rows]):
        for column, cell in enumerate(row.cells, 1):
            touched = any(
                (e.kind == "set_cell" and (e.row, e.column) == (number, column))
                or (e.kind == "delete_row" and e.row == number)
                or (e.kind == "delete_column" and e.column == column)
                for e in applied
            )
            assert touched or cells[cell]


def test_each_kind_of_edit() -> None:
    replaced = edited(edit("replace", 10, text="Above the code."))
    assert replaced == REPORT.replace(f"{TABLE}\nBelow the table.", f"{TABLE}\n\nAbove the code.")
    assert edited(edit("delete", 3, last=5)) == REPORT.replace(
        REPORT[REPORT.index("- First") : REPORT.index("1. One")], ""
    )
    assert "- Then the keeper [2]\n- New\n\n1. One" in edited(edit("insert_after", 5, text="- New"))
    assert edited(edit("insert_after", 0, text="New.")) == f"New.\n\n{REPORT}"
    moved = edited(edit("move_after", 12, last=13, after=0))
    assert moved.startswith("## The end\nIt is so. [^a]\n\n## The light\n\nIt was lit")
    assert "more\n```\n\n\\[^a]: By gas.\n" in moved
    words = edit("replace_words", 2, words="from 1901  to 1932", text="until 1932")
    taken_out = edit("replace_words", 2, words="It was lit in 1844. [1]")
    assert edited(words) == REPORT.replace("from 1901 to 1932", "until 1932")
    assert edited(words, taken_out) == REPORT.replace(
        "It was lit in 1844. [1] Ada Moran kept it from 1901 to 1932.",
        "Ada Moran kept it until 1932.",
    )
    rest = edit(
        "replace_words", 2, words="Ada Moran kept it from 1901 to 1932. [2] *(not verified)*"
    )
    assert edited(taken_out, rest) == edited(edit("delete", 2))
    goes_on = edit("insert_after", 2, is_continued=True, text="It is old.")
    assert edited(taken_out, rest, goes_on) == edited(edit("replace", 2, text="It is old."))
    alike = edit("replace_words", 1, words="the keeper's light‑house", text="it")
    assert edited(alike, text="At the keeper’s light-house.") == "At it."
    at_the_end = edit("replace_words", 4, words=": 38 metres [2]")
    assert edited(at_the_end) == REPORT.replace("height: 38 metres [2]", "height")
    longer = edited(edit("insert_after", 2, is_continued=True, text="She was born in Tralee. [2]"))
    assert "*(not verified)* She was born in Tralee. [2]\n\n- First" in longer


def test_each_kind_of_edit_of_a_table() -> None:
    def table(*edits: ReportEdit) -> str:
        text = edited(*edits)
        block = next(block for block in report_blocks(text) if block.kind == "table")
        assert text.replace(block.text, TABLE).replace("\n\nBelow", "\nBelow") == REPORT
        return block.text

    assert table(edit("set_cell", 9, row=2, column=3, text="6 | 7 [3]")) == TABLE.replace(
        "| 5 |", "| 6 \\| 7 [3] |"
    )
    column = edit("insert_column", 9, column=1, cells=["Keeper", "Moran [2]", "none"])
    assert table(column) == (
        "| Light | Keeper | Lit | Metres |\n|:--| --- |---|--:|\n"
        "| Skerry | Moran [2] |  1844 [1] | 38 [2] |\n| Anlow | none | 1901 [3] | 5 |"
    )
    assert table(edit("delete_column", 9, column=2)).split("\n")[2] == "| Skerry | 38 [2] |"
    assert table(edit("delete_row", 9, row=1)) == TABLE.replace(
        "| Skerry |  1844 [1] | 38 [2] |\n", ""
    )
    row = edit("insert_row", 9, row=1, cells=["Moor", "1850", "12"])
    assert table(row) == TABLE.replace("38 [2] |\n", "38 [2] |\n| Moor | 1850 | 12 |\n")
    both = table(column, row.model_copy(update={"cells": ["Moor", "Hill", "1850", "12"]}))
    assert "| Moor | Hill | 1850 | 12 |" in both
    appended = edit("insert_after", 9, is_continued=True, text="| Moor | 1850 | 12 |")
    assert table(appended) == f"{TABLE}\n| Moor | 1850 | 12 |"


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([edit("delete", 40)], "there is no block 40; the report has blocks 1 to 14"),
        ([edit("replace", 13, last=15, text="So.")], "there is no block 15"),
        ([edit("replace", 2, text=" \n")], "its text is empty"),
        ([edit("replace", 10, text="```\nopen")], "its code block is not closed"),
        ([edit("replace", 9, text="| a | b |\n|---|\n| 1 | 2 |")], "a table needs a header"),
        ([edit("replace", 9, text="| a | b |\n|---|---|\n| 1 |")], "a row of its table has 1 cells"),
        ([edit("insert_after", 2, text="| a | b |")], "a table needs a header"),
        ([edit("insert_after", 9, is_continued=True, text="| a |")], "the table has 3 columns"),
        ([edit("set_cell", 2, row=1, column=1, text="x")], "block 2 is no table"),
        ([edit("set_cell", 9, row=3, column=1, text="x")], "the table has rows 0 to 2, not 3"),
        ([edit("insert_column", 9, cells=["x"])], "a header and 2 rows, but the new column 1"),
        ([edit("insert_row", 9, cells=["x"])], "3 columns, but the new row 1 cells"),
        ([edit("move_after", 3, last=5, after=4)], "a block cannot follow itself"),
        ([edit("delete", 1, last=14)], "nothing would be left of the report"),
        (
            [edit("replace", 2, text="Lit in 1844. Ada Moran kept it from 1901 to 1932. [2]")],
            'it drops [1], but keeps the statement: "Lit in 1844."',
        ),
        (
            [edit("replace", 2, text="Ada Moran kept the light. [2] It was lit in 1844.")],
            'it drops [1], but keeps the statement: "It was lit in 1844."',
        ),
        (
            [edit("delete", 2), edit("insert_after", 1, text="Ada Moran was its keeper 1901-1932.")],
            'it drops [2], but keeps the statement: "Ada Moran was its keeper 1901-1932."',
        ),
        ([edit("set_cell", 9, row=1, column=3, text="38")], "it drops [2], but keeps"),
        ([edit("replace_words", 2, words="Ada Moran of", text="x")], "occur 0 times in block 2"),
        ([edit("replace_words", 5, words="e", text="x")], "occur 0 times in block 5"),
        ([edit("replace_words", 9, words="Skerry", text="x")], "block 9 is a table"),
        (
            [edit("replace_words", 2, words="in 1844. [1]", text="in 1844.")],
            'it drops [1], but keeps the statement: "It was lit in 1844."',
        ),
        (
            [
                edit("replace_words", 2, words="It was lit", text="It burned"),
                edit("replace_words", 2, words="lit in 1844", text="lit in 1845"),
            ],
            "another edit replaces some of these words",
        ),
    ],
)  # fmt: skip
def test_an_edit_that_cannot_be_applied_is_refused_with_the_reason(
    edits: list[ReportEdit], reason: str
) -> None:
    assert reason in refusal(*edits)


def test_a_statement_may_be_cited_anew() -> None:
    text = "It was lit in 1844. [3] Ada Moran kept it from 1901 to 1932. [2]"
    assert text in edited(edit("replace", 2, text=text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The light of the summary had no citation, although another statement has its figure.
        ("The light dates from 1844.", "Honestly, the light dates from 1844."),
        ("Two keepers were there in 1844.", "Zwei Wärter waren 1844 dort."),
        # A mark of the check between two sentences is part of neither.
        (
            "It is 38 metres tall. [2] *(not verified)* It cost 7.9 pounds. It is red. [2]",
            "It is 38 metres tall. [2] It cost 7.9 pounds.",
        ),
        ("Members pay 1844 euros. [2]", "Honestly, members pay 1844 euros. [2]"),
    ],
)
def test_a_statement_needs_no_citation_that_it_never_had(before: str, after: str) -> None:
    text = f"{before}\n\nIt was lit in 1844. [1]"
    rest = edit("replace", 2, text="So it was lit in 1844. [1]")
    assert edited(edit("replace", 1, text=after), rest, text=text).startswith(after)


def test_of_two_edits_of_a_block_one_is_refused() -> None:
    edits = [edit("delete", 10), edit("replace", 10, last=11, text="So.")]
    assert apply_edits(REPORT, edits).refused == {0: "another edit changes block 10"}


def test_a_column_of_citations_stays_while_the_statements_do() -> None:
    text = "| Light | Lit | Source |\n|---|---|---|\n| Skerry | 1844 | [1] |"
    assert "its column has the citations" in refusal(edit("delete_column", 1, column=3), text=text)
    assert edited(edit("delete_column", 1, column=2), text=text).endswith("| Skerry | [1] |")


def test_moves_in_a_circle_are_refused() -> None:
    result = apply_edits(REPORT, [edit("move_after", 2, after=5), edit("move_after", 5, after=2)])
    assert len(result.refused) == 2 and result.text == REPORT


def test_changed_blocks_are_named_by_number_and_offsets() -> None:
    after = edited(edit("replace", 10, text="Else."), edit("insert_after", 1, text="New."))
    changed = changed_blocks(REPORT, after)
    assert [block.number for block in changed] == [2, 11]
    assert [after[block.start : block.end] for block in changed] == ["New.", "Else."]
    assert changed_blocks(REPORT, REPORT) == []


def test_figures_names_and_citations_that_are_lost_are_named() -> None:
    before = (
        "It was lit in 1844. [1] Its keeper was Ada Moran of Tralee [2], who climbed 154 steps."
    )
    after = "Moran kept it. [1]"
    found = losses(before, after, "Leave out the 154 steps.")
    assert found == ["1844", "Ada Moran of Tralee", "[2]"]
    assert losses(before, before, "") == []
    # A source behind a calculation stays among the sources of the report.
    assert losses(before, after, "", None, [2]) == ["1844", "154"]
    # In a translation names have other words; in German all nouns look like names.
    assert losses(before, after, "", None) == ["1844", "154", "[2]"]
    assert "Tralee" not in losses("Sie kam aus Tralee. Ada Moran.", "Sie kam.", "", 2)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        # A figure or date is compared as a whole, however it is written.
        ("Yet of 12,000 cartridges, 1,800 leaked.", "Of 12,000, 15 % leaked.", ["1,800"]),
        ("It falls due by 1 July, not by 3 May 2026.", "It falls due on July 1.", ["3 May 2026"]),
        ("It falls due on 1 July 2026.", "It falls due in July 2026.", ["1 July 2026"]),
        (
            "Until 31 December 2027, or June 2028.",
            "| Until |\n|---|\n| 2027-12-31 |",
            ["June 2028"],
        ),
        ("It sold 12 boats by 1 March.", "It sold boats by 12 March.", ["12", "1 March"]),
        (
            "Revenue of £36 million, 45 % more.",
            "The share is 36 %, of 45 boats.",
            ["£36 million", "45 %"],
        ),
        (
            "It paid £36 million, or 3.1 million euros.",
            "| £ million |\n|--|\n| 36 |",
            ["3.1 million euros"],
        ),
        ("It paid 3.1 million pounds in 2026.", "It paid £3,100,000 on 1 July 2026.", []),
        ("A change of −12 points, +4 in all.", "It rose by 12, and 4 in all.", ["12"]),
        ("It fell by 3 %.", "A change of -3 %.", []),
        ("The LX-40 and Route 7, the Q-10.", "40 boats, 7 routes, the Q-10.", ["LX-40", "Route 7"]),
        # A word that only begins a sentence or cell is no part of a name.
        ("Later Aquavence left. Yet Brackwater sued.", "In 2026 Aquavence left.", ["Brackwater"]),
        ("Ada Moran kept it; so says Ada Moran.", "Moran kept it.", ["Ada Moran"]),
        ("| Risk | Decided by |\n|---|---|\n| Loss of the Q-40 | none |", "The Q-40: none.", []),
        ("It was so in July.", "It was so.", ["July"]),
    ],
)
def test_what_is_lost_is_compared_and_named_as_a_whole(
    before: str, after: str, lost: list[str]
) -> None:
    assert losses(before, after, "") == lost
    assert losses(before, before, "") == []
