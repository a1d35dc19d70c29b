"""The forms in which scouts hand in rows and researchers cells, and how they become records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from ..core.dialogue.transcripts import NOT_RUN, Calls
from ..core.evidence.citations.markers import without_markers
from ..core.evidence.citations.rendering import plain_line
from ..core.evidence.text.language import detect_language
from ..core.records import tool_names
from ..core.records.research import ToolRequest
from ..core.records.sources import in_one_line
from ..core.records.table import (
    CellState,
    CellValue,
    HandedIn,
    RowCandidate,
    RowResult,
    RowResults,
    ScoutResult,
    TableCell,
    TableColumn,
    TableTask,
)
from ..core.settings.limits import Limits
from ..core.tables.design import PagePart
from ..core.tables.values import depends_on_language, normal_value, quoted_value
from ..core.writing.forms import Form, form_faults
from ..state import ResearcherState
from ..tools.results import Result
from ..tools.tool import tool_schema
from ._disputes import StatedDisputes

_LONGEST_WORDS = 600
"""Maximum characters kept of a passage."""
_LEAST_PART = 1_000
"""Minimum characters of a page that a scout is shown."""
_OVERLAP = 300
"""Characters that two parts of a page have in common."""
_NOTHING_FOUND = "Nothing was found."


class StatedRow(Form):
    """A row."""

    key: list[str] = Field(min_length=1)
    """What tells it apart: the values of the key columns, in their order, as the source has them."""  # noqa: E501
    document: int
    """Number of the result that names it."""
    words: str
    """The words of the result by which it counts, or does not, copied exactly."""
    address: str = ""
    """Address of its own page, from the links of the result; empty if there is none."""


class RejectedRow(StatedRow):
    """Something that looks like a row and does not count."""

    reason: str
    """Why it does not count, in a clause."""


class HandInRows(Form):
    """Hand in the rows that you have found; this ends your work."""

    rows: list[StatedRow]
    """All rows that the results name and that count, each once."""
    rejected: list[RejectedRow] = Field(default_factory=list)
    """What looks like a row but does not count."""
    further: list[str] = Field(default_factory=list)
    """Parts of your way to look, or other lists of such rows that results name, which you did not read: each in a phrase that is understood alone, with its address if you know it."""  # noqa: E501


class StatedCell(Form):
    """A cell; several with the same row and column if sources disagree, the most trustworthy first."""  # noqa: E501

    row: int = 1
    """Number of the row."""
    column: str
    """Name of the column."""
    value: str = ""
    """What the source states, in its own words; empty if it was not found."""
    unit: str = ""
    """Unit of measure or currency of a number, as the source names it."""
    document: int = 0
    """Number of the result that states it."""
    words: str = ""
    """The words of that result that state it, copied exactly: a sentence, a line or a table row."""
    applies: bool = True
    """False: the column does not apply to this row, as `words` say."""
    looked: str = ""
    """If it was not found: where you looked."""


class RowThatDoesNotCount(Form):
    """A row that does not count, now that more is known of it."""

    row: int = 1
    """Number of the row."""
    reason: str
    """Why, in a clause."""
    document: int = 0
    """Number of the result that says so."""
    words: str = ""
    """The words of that result that say so, copied exactly."""


class HandInCells(Form):
    """Hand in the cells; this ends your work."""

    cells: list[StatedCell]
    """An entry for each cell that is asked for."""
    rejected: list[RowThatDoesNotCount] = Field(default_factory=list)
    """Rows that do not count."""
    contradictions: StatedDisputes = Field(default_factory=list)
    """Where results contradict each other; empty if they do not."""


HAND_IN_ROWS_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, HandInRows)
HAND_IN_CELLS_SCHEMA = tool_schema(tool_names.GENERATE_REPORT, HandInCells)


def part_characters(limits: Limits) -> int:
    """Return how many characters of a page a scout is shown at once: of more, its form with the
    rows could be cut off."""
    return max(_LEAST_PART, min(limits.pages_characters, limits.finding_tokens))


def with_unread_parts(
    found: ScoutResult, results: Iterable[Result], numbered: Sequence[str], length: int
) -> ScoutResult:
    """Return what a scout hands in, with the parts that it was not shown as further places to look:
    of the pages naming its rows, and of those with links to these; `length` is that of a part."""
    sources = {candidate.source for candidate in found.rows}
    keys = dict(enumerate(numbered, 1))
    rest: dict[str, tuple[int, int]] = {}
    shown = list(results)
    naming = set[str]()
    for result in shown:
        if keys.get(result["document"]) in sources:
            naming.add(result["address"])
    for result in shown:
        addresses = {result["address"], *(link["address"] for link in result.get("links", ()))}
        if addresses.isdisjoint(naming):
            continue
        # The scout may have read on by itself.
        end = result.get("read_on", 0)
        before = rest.get(result["address"], (0, 0))[0]
        if end > before:
            rest[result["address"]] = (end, result.get("characters", 0))
        elif not end and before and result["text"].startswith(f"[… {before}]"):
            del rest[result["address"]]
    further = list(found.further)
    for address, (end, characters) in rest.items():
        # A row may be cut in two.
        for start in range(end - _OVERLAP, characters, length - _OVERLAP):
            further.append(PagePart(address, start).way)
    return found.model_copy(update={"further": tuple(further)})


def end_of_table_task(task: TableTask) -> dict[str, Any]:
    """Return the schema of the tool that ends a task, and by which its results are handed in."""
    return HAND_IN_ROWS_SCHEMA if task.is_scout else HAND_IN_CELLS_SCHEMA


def read_table_form(
    arguments: Mapping[str, Any], task: TableTask, state: ResearcherState
) -> HandedIn | str:
    """Return what a call hands in for a task, or what is wrong with its arguments, worded for the
    model."""
    try:
        if task.is_scout:
            return _rows_of(HandInRows.model_validate(arguments), task, state.numbered)
        return _cells_of(HandInCells.model_validate(arguments), task, state.numbered)
    except ValidationError as error:
        return form_faults(error)


def with_table_form(
    calls: Calls, task: TableTask, state: ResearcherState
) -> tuple[Calls, HandedIn | None]:
    """Return the calls of a message, of which those that hand in a form with faults are refused;
    and what the first other one hands in."""
    accepted = list[ToolRequest]()
    refused = dict(calls.refused)
    found: HandedIn | None = None
    for call in calls.accepted:
        if call.tool == tool_names.GENERATE_REPORT:
            read = read_table_form(call.arguments, task, state)
            if isinstance(read, str):
                refused[call.id] = f"{NOT_RUN} {read}."
                continue
            found = found or read
        accepted.append(call)
    return calls._replace(accepted=tuple(accepted), refused=refused), found


def quoted_cells(
    quotes: Mapping[str, tuple[str, int]], task: TableTask, state: ResearcherState
) -> HandedIn:
    """Return what quotations hand in for a row; `quotes` have their source numbers, by column."""
    stated = list[StatedCell]()
    for column in task.columns:
        if column.name in quotes:
            quote, number = quotes[column.name]
            words = without_markers(quote)
            value = quoted_value(words, column)
            cell = StatedCell(column=column.name, value=value, document=number, words=words)
            stated.append(cell)
    return _cells_of(HandInCells(cells=stated), task, state.numbered)


def _rows_of(form: HandInRows, task: TableTask, numbered: Sequence[str]) -> HandedIn:
    keys = dict(enumerate(numbered, 1))
    columns = [column.is_key for column in task.columns].count(True)
    rows = list[RowCandidate]()
    lines = list[str]()
    for stated in (*form.rows, *form.rejected):
        reason = in_one_line(stated.reason) if isinstance(stated, RejectedRow) else ""
        candidate = RowCandidate(
            key=tuple(map(in_one_line, stated.key[:columns])),
            source=keys.get(stated.document, ""),
            words=stated.words.strip()[:_LONGEST_WORDS],
            address=stated.address.strip(),
            reason=reason,
        )
        if not candidate.name:
            continue
        rows.append(candidate)
        said = f"does not count: {reason}" if reason else candidate.words
        lines.append(_statement(candidate.name, said, stated.document, keys))
    further = tuple(filter(None, map(in_one_line, form.further)))
    result = ScoutResult(rows=tuple(rows), further=further)
    return HandedIn("\n".join(lines) or _NOTHING_FOUND, result.model_dump_json())


def _cells_of(form: HandInCells, task: TableTask, numbered: Sequence[str]) -> HandedIn:
    keys = dict(enumerate(numbered, 1))
    columns = dict[str, TableColumn]()
    for column in task.columns:
        columns[column.name.casefold()] = column
    is_single = len(task.rows) == 1
    rejections = dict[int, RowThatDoesNotCount]()
    for rejected in form.rejected:
        # A number for the only row may be wrong.
        rejections[1 if is_single else rejected.row] = rejected
    stated = dict[tuple[int, str], list[StatedCell]]()
    for entry in form.cells:
        position = (1 if is_single else entry.row, entry.column.strip().casefold())
        stated.setdefault(position, []).append(entry)
    results = list[RowResult]()
    lines = list[str]()
    for number, row in enumerate(task.rows, 1):
        cells = list[TableCell]()
        for name in row.columns:
            column = columns[name.casefold()]
            entries = stated.get((number, name.casefold()), [])
            cell = _cell(column, entries, keys)
            cells.append(cell)
            if cell.looked and not cell.values:
                said = f"{cell.state}; looked in: {cell.looked}"
                lines.append(_statement(f"{row.name}, {name}", said, 0, keys))
            for value in cell.values:
                cited = numbered.index(value.source) + 1
                said = value.text or cell.state
                lines.append(_statement(f"{row.name}, {name}", said, cited, keys))
        result = RowResult(row=row.id, cells=tuple(cells))
        if number in rejections:
            rejection = rejections[number]
            reason = in_one_line(rejection.reason)
            source = keys.get(rejection.document, "")
            result = result.model_copy(update={"reason": reason, "source": source})
            said = f"does not count: {reason}"
            lines.append(_statement(row.name, said, rejection.document, keys))
        results.append(result)
    content = RowResults(rows=tuple(results)).model_dump_json()
    return HandedIn("\n".join(lines) or _NOTHING_FOUND, content)


def _cell(column: TableColumn, entries: Sequence[StatedCell], keys: Mapping[int, str]) -> TableCell:
    """Return a cell from what was handed in for it."""
    values = dict[tuple[str, str], CellValue]()
    state: CellState = "not found"
    for entry in entries:
        original = in_one_line(entry.value)
        is_sourced = entry.document in keys
        if not is_sourced or (entry.applies and not original):
            # What no result states is not in the table.
            continue
        state = "found"
        if not entry.applies:
            state = "does not apply"
            original = ""
        words = entry.words.strip()[:_LONGEST_WORDS]
        language = ""
        if depends_on_language(original, column):
            language = detect_language(words or original)
        value = CellValue(
            text=normal_value(original, entry.unit, column, language),
            original=" ".join([original, entry.unit]).strip(),
            source=keys[entry.document],
            words=words,
        )
        values.setdefault((value.text, value.source), value)
        if state == "does not apply":
            break
    looked = "; ".join(filter(None, [in_one_line(entry.looked) for entry in entries]))
    return TableCell(column=column.name, state=state, values=tuple(values.values()), looked=looked)


def _statement(subject: str, said: str, number: int, keys: Mapping[int, str]) -> str:
    """Return a line of a finding, with the number of its source behind it, if that is known."""
    line = f"- {plain_line(subject)}: {plain_line(said)}"
    return f"{line} [{number}]" if number in keys else line
