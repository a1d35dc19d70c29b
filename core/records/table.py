"""Records of a table whose rows are researched: columns, candidates, rows, cells, and its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from typing_extensions import override

from .research import Task
from .sources import Record

ColumnKind = Literal["text", "number", "money", "date", "yes/no", "choice", "link"]
CellState = Literal["found", "not found", "does not apply"]
RowStanding = Literal["found", "filled", "rejected", "duplicate", "left out"]
"""How a row stands.

`found`: its cells are still empty; `filled`: a researcher has looked for them; `rejected`: it does
not count; `duplicate`: it is the same as another one; `left out`: a limit was reached before it was
filled.
"""
Kept = Literal["nothing", "rows", "rows and cells"]
"""What a table keeps of the one before it in its thread.

With `rows`, all cells are looked for again, in sources that are read anew.
"""
TablePhase = Literal["finding", "filling", "mending", "done"]
"""What the run works on: rows, their cells, or the cells that were not found at first."""


class TableColumn(Record):
    """A column of a table."""

    name: str
    kind: ColumnKind = "text"
    meaning: str = ""
    """What its cells say, in a phrase; may be empty."""
    unit: str = ""
    """Unit of measure or currency in which its values are wanted; may be empty."""
    choices: tuple[str, ...] = ()
    """The values to choose from, if `kind` is `choice`."""
    is_key: bool = False
    """Whether it tells rows apart."""


class CellValue(Record):
    """What a source says in a cell."""

    text: str
    """The value, normalised by the kind of the column, with its unit: `60 000 EUR`; empty if the
    source says that the column does not apply."""
    original: str
    """The value as the source has it."""
    source: str
    """Key of the source; empty if the researcher named none that it had read."""
    words: str = ""
    """The passage that states it, as the researcher copied it."""


class TableCell(Record):
    """A cell of a row."""

    column: str
    """Name of the column."""
    state: CellState
    values: tuple[CellValue, ...] = ()
    """What the sources say, the most trustworthy first; several if they disagree."""
    looked: str = ""
    """Where it was looked for in vain; may be empty."""
    written: str = ""
    """Its words with their citations in the report before, if it was kept from there."""


class RowCandidate(Record):
    """A row as a scout found it."""

    key: tuple[str, ...]
    """Values of the key columns, in their order."""
    source: str
    """Key of the source that names it; empty if none was named."""
    words: str = ""
    """The passage by which it counts, or is rejected."""
    address: str = ""
    """Address of its own page, as a link of the source gives it; may be empty."""
    reason: str = ""
    """Why it does not count; empty if it does."""

    @property
    def name(self) -> str:
        """The values of its key in one line."""
        return " · ".join(filter(None, self.key))


class ScoutResult(Record):
    """What a scout hands in."""

    rows: tuple[RowCandidate, ...] = ()
    """Candidates, also rejected ones."""
    further: tuple[str, ...] = ()
    """Further ways to look that it saw and did not follow."""


class RowResult(Record):
    """What a researcher hands in for a row."""

    row: str
    """Id of the row."""
    cells: tuple[TableCell, ...] = ()
    reason: str = ""
    """Why the row does not count; empty if it does."""
    source: str = ""
    """Key of the source that says so; may be empty."""


class RowResults(Record):
    """What a researcher hands in for its rows."""

    rows: tuple[RowResult, ...] = ()


class HandedIn(NamedTuple):
    """What a scout or a researcher of rows has handed in."""

    text: str
    """As a finding: a line for each row or cell, with the researcher's source numbers."""
    content: str
    """As JSON: a `ScoutResult` or `RowResults`."""


class Quotation(Record):
    """Words of a source from which a cell of a table was taken."""

    source: str
    """Key of the source."""
    words: str


class CellQuotations(Record):
    """The words of sources from which the cells of a table were taken."""

    by_unit: Mapping[str, tuple[Quotation, ...]]
    """By the words of the cell as it is checked, with the label of its row and column."""


class RowRecord(Record):
    """A row with all that was found for it; it lies in the store under its hash."""

    id: str
    candidates: tuple[RowCandidate, ...]
    """Where it was found, in that order; the first names it."""
    cells: tuple[TableCell, ...] = ()
    read: tuple[str, ...] = ()
    """Keys of the sources that were read to fill its cells."""

    @property
    def name(self) -> str:
        """Its name as it was found first."""
        return self.candidates[0].name

    @property
    def address(self) -> str:
        """Address of its own page; empty if none is known."""
        return next(filter(None, (candidate.address for candidate in self.candidates)), "")

    def cell(self, column: str) -> TableCell | None:
        """Return the cell of a column; None if nobody has looked for it."""
        for cell in self.cells:
            if cell.column == column:
                return cell
        return None

    def quotations(self, column: TableColumn) -> list[Quotation]:
        """Return the words of sources from which its cell of a column was taken; for a key that
        nobody has looked for, those by which it was found."""
        cell = self.cell(column.name)
        stated: Sequence[CellValue | RowCandidate] = cell.values if cell else ()
        if column.is_key and not stated:
            stated = self.candidates
        quotations = list[Quotation]()
        for value in stated:
            if value.words:
                quotations.append(Quotation(source=value.source, words=value.words))
        return quotations


class RowBlanks(Record):
    """Where the empty cells of a row of a report's table were looked for."""

    row: str
    """The words of its key cells, as the table has them."""
    read: tuple[str, ...]
    """Where the sources that were read for it are: addresses of pages, paths of documents."""


class RowEntry(Record):
    """A row as the state has it."""

    id: str
    name: str
    """Its name as it was found first."""
    address: str = ""
    """Address of its own page; may be empty."""
    standing: RowStanding = "found"
    reason: str = ""
    """Why it was rejected or left out, worded for the reader; the name of the row that a duplicate
    is the same as."""
    source: str = ""
    """Key of the source by which it was rejected; may be empty."""
    content: str
    """SHA-256 (hex) of its `RowRecord` in the thread's store."""


class TableWork(Record):
    """How far the search for the rows of a table has come."""

    phase: TablePhase = "finding"
    round: int = 0
    """Number of rounds of scouts sent out."""
    quiet: int = 0
    """Number of latest rounds in a row that brought no new row."""
    tried: tuple[str, ...] = ()
    """Ways to look that scouts were given."""
    sent: tuple[str, ...] = ()
    """Those of the last round."""
    waiting: tuple[str, ...] = ()
    """Ways to look that wait for a later round."""
    cycle: int = 0
    """`Progress.cycle` when the results of scouts were last read."""
    stopped: str = ""
    """Why no further scouts were sent out, worded for the reader."""
    is_complete: bool = False
    """Whether that is because nothing more can be expected, and not because of a limit."""


class TaskRow(Record):
    """A row of a task."""

    id: str
    name: str
    columns: tuple[str, ...]
    """Names of the columns to fill."""


class TableTask(Task):
    """The complete input of a scout, or of a researcher that fills rows."""

    columns: tuple[TableColumn, ...]
    rows: tuple[TaskRow, ...] = ()
    """The rows to fill; empty for a scout."""
    open_first: tuple[str, ...] = ()
    """Addresses of pages and documents that are opened before its model is first asked."""
    open_from: int = 0
    """Offset from which their texts are shown."""
    entries: Mapping[str, str] = {}
    """Words by which lists name its rows, by the address of the list, if a row has a page of its
    own: of these lists, only the lines with these words are shown then."""
    slots: int = 1
    """Number of tasks dispatched with it that may run at the same time."""
    reads_anew: bool = False
    """Whether pages that were read for earlier questions are read again."""

    @property
    def is_scout(self) -> bool:
        """Whether it looks for rows instead of filling them."""
        return not self.rows

    @property
    def questions(self) -> list[str]:
        """What is asked of a page: each cell to fill."""
        questions = list[str]()
        for row in self.rows:
            for column in self.columns:
                if column.name in row.columns:
                    questions.append(f"{row.name} {column.name} {column.meaning}")
        return questions

    @property
    @override
    def assignment(self) -> dict[str, Any]:
        # Readers are told the way to look or the row; the text repeats the design of the table.
        return {**super().assignment, "task": self.title}
