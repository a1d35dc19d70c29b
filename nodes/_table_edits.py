"""Changes cells, rows and columns of a report's table; all other cells stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..core.evidence.citations.markers import marker_numbers, replace_markers
from ..core.evidence.text.words import tokens
from ..core.writing.blocks import Table, TableRow
from ._report_edit import ReportEdit

_NEW_RULE = " --- "


class EditedTable(NamedTuple):
    """A table after edits."""

    text: str
    refused: dict[int, str]
    """Reasons for the edits that were not applied, by the edits' keys."""


def edit_table(table: Table, edits: Mapping[int, ReportEdit]) -> EditedTable:
    """Return a table with edits applied, whose rows and columns are those of the table as it is.

    Of edits that exclude each other, the first stands.
    """
    refused = dict[int, str]()
    accepted = dict[int, ReportEdit]()
    for key, edit in edits.items():
        fault = _fault_of(table, edit, edits.values()) or _conflict(table, edit, accepted.values())
        if fault:
            refused[key] = fault
        else:
            accepted[key] = edit
    return EditedTable(_applied(table, list(accepted.values())), refused)


def _fault_of(table: Table, edit: ReportEdit, edits: Iterable[ReportEdit]) -> str:
    """Return why an edit does not fit a table; empty if it does. `edits` are all of the table."""
    rows = len(table.rows)
    columns = len(table.header.cells)
    first_row = 1 if edit.kind == "delete_row" else 0
    if edit.kind in ("set_cell", "delete_row", "insert_row") and not first_row <= edit.row <= rows:
        return f"the table has rows {first_row} to {rows}, not {edit.row}"
    first_column = 0 if edit.kind == "insert_column" else 1
    names_column = edit.kind in ("set_cell", "delete_column", "insert_column")
    if names_column and not first_column <= edit.column <= columns:
        return f"the table has columns {first_column} to {columns}, not {edit.column}"
    if any("\n" in text.strip() for text in (edit.text, *edit.cells)):
        return "a cell is one line"
    given = len(edit.cells)
    if edit.kind == "insert_row" and given not in (columns, _columns_after(columns, edits)):
        return f"the table has {columns} columns, but the new row {given} cells"
    if edit.kind == "insert_column" and given != rows + 1:
        return f"the table has a header and {rows} rows, but the new column {given} cells"
    if edit.kind == "delete_column" and _cites_for_others(table, edit.column):
        return "its column has the citations of the other cells, whose statements stay"
    return ""


def _columns_after(columns: int, edits: Iterable[ReportEdit]) -> int:
    """Return the number of columns that a table has after edits."""
    for edit in edits:
        if edit.kind == "insert_column":
            columns += 1
        elif edit.kind == "delete_column":
            columns -= 1
    return columns


def _cites_for_others(table: Table, column: int) -> bool:
    """Whether a column has nothing but citations, some of which no other cell of their row has."""
    is_citing = False
    for row in table.rows:
        cells = list(row.cells)
        if len(cells) < column:
            continue
        cell = cells.pop(column - 1)
        if tokens(replace_markers(cell, " ")):
            return False
        is_citing |= not set(marker_numbers(cell)).issubset(marker_numbers("|".join(cells)))
    return is_citing


def _conflict(table: Table, edit: ReportEdit, accepted: Iterable[ReportEdit]) -> str:
    """Return why an edit cannot be applied beside those accepted before; empty if it can."""
    deleted_columns = set[int]()
    for other in accepted:
        if other.kind == "delete_column":
            deleted_columns.add(other.column)
        is_same_row = edit.row == other.row
        is_same_column = edit.column == other.column
        kinds = (edit.kind, other.kind)
        if kinds == ("set_cell", "set_cell") and is_same_row and is_same_column:
            return "another edit sets this cell"
        if kinds in (("set_cell", "delete_row"), ("delete_row", "delete_row")) and is_same_row:
            return "another edit deletes this row"
        is_of_column = edit.kind in ("set_cell", "delete_column")
        if is_of_column and other.kind == "delete_column" and is_same_column:
            return "another edit deletes this column"
    columns = len(table.header.cells)
    if edit.kind == "delete_column" and len(deleted_columns) + 1 >= columns:
        return "a table has at least one column; delete the block instead"
    return ""


def _applied(table: Table, edits: Sequence[ReportEdit]) -> str:
    """Return the text of a table with these edits, which fit it."""
    new_columns = [edit for edit in edits if edit.kind == "insert_column"]
    new_rows = [edit for edit in edits if edit.kind == "insert_row"]
    deleted_columns = {edit.column for edit in edits if edit.kind == "delete_column"}
    deleted_rows = {edit.row for edit in edits if edit.kind == "delete_row"}
    columns = len(table.header.cells)

    def line_of(row: TableRow, new_cells: Sequence[str]) -> str:
        """Return a row with the cells of new columns, and without those of deleted ones."""
        cells = list[str]()
        for column in range(columns + 1):
            if column and column not in deleted_columns:
                cells.append(row.cells[column - 1])
            for edit, cell in zip(new_columns, new_cells, strict=True):
                if edit.column == column:
                    cells.append(cell)
        # Cells beyond the last column of the header stay.
        cells += row.cells[columns:]
        return row._replace(cells=tuple(cells)).text

    def changed(number: int, row: TableRow) -> str:
        """Return the line of a row with its new cells; number 0: the header."""
        cells = list(row.cells)
        is_resized = bool(new_columns or deleted_columns)
        if is_resized:
            cells += [" "] * (columns - len(cells))
        for edit in edits:
            if edit.kind == "set_cell" and edit.row == number:
                cells += [" "] * (edit.column - len(cells))
                cells[edit.column - 1] = TableRow.cell(edit.text)
        row = row._replace(cells=tuple(cells))
        if not is_resized:
            return row.text
        return line_of(row, [TableRow.cell(edit.cells[number]) for edit in new_columns])

    def new_line(edit: ReportEdit) -> str:
        row = TableRow("|", tuple(map(TableRow.cell, edit.cells)), "|")
        if len(edit.cells) == columns:
            return line_of(row, [" "] * len(new_columns))
        # It has a cell for each column that the table will have.
        return row.text

    lines = [changed(0, table.header), line_of(table.rule, [_NEW_RULE] * len(new_columns))]
    for number in range(len(table.rows) + 1):
        if number and number not in deleted_rows:
            lines.append(changed(number, table.rows[number - 1]))
        for edit in new_rows:
            if edit.row == number:
                lines.append(new_line(edit))
    return "\n".join(lines)
