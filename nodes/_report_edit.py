"""The part of a form in which a model says how a block of a report changes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..core.writing.forms import Form

TABLE_EDITS = frozenset({"set_cell", "insert_column", "delete_column", "insert_row", "delete_row"})
"""Kinds of edits that change a table."""


class ReportEdit(Form):
    """One change of the report."""

    kind: Literal[
        "replace",
        "replace_words",
        "delete",
        "insert_after",
        "move_after",
        "set_cell",
        "insert_column",
        "delete_column",
        "insert_row",
        "delete_row",
    ]
    block: int
    """Number of the block that changes; of `insert_after`: the block that the text follows, 0 for the beginning."""  # noqa: E501
    last: int = 0
    """Of `replace`, `delete` and `move_after`: number of the last block, if several in a row are meant."""  # noqa: E501
    after: int = 0
    """Of `move_after`: number of the block that they are to follow, 0 for the beginning."""
    words: str = ""
    """Of `replace_words`: words that occur in the block once, exactly as they stand there."""
    text: str = ""
    """Of `replace` and `insert_after`: the text in Markdown, with its citations such as [3]; of `replace_words`: what stands in their place, empty to take them out; of `set_cell`: the text of the cell."""  # noqa: E501
    is_continued: bool = False
    """Of `insert_after`: whether the text continues the paragraph, item or table of that block."""
    row: int = 0
    """Of `set_cell` and `delete_row`: number of the row, 0 for the header; of `insert_row`: the row that the new one follows."""  # noqa: E501
    column: int = 0
    """Of `set_cell` and `delete_column`: number of the column; of `insert_column`: the column that the new one follows, 0 for the first."""  # noqa: E501
    cells: list[str] = Field(default_factory=list)
    """Of `insert_row` and `insert_column`: the texts of all its cells, a column's header first."""
