"""Writes the report of a table: a summary by the writer's model, and the table itself by code."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import HumanMessage, SystemMessage

from ..core.dialogue.conversation import Conversation
from ..core.evidence.citations.citing import by_number
from ..core.evidence.citations.rendering import clean_prose
from ..core.evidence.text.sentences import sentences_of
from ..core.models.ask import ask_model
from ..core.models.resolve import RoleModels
from ..core.records.report import Report, word_count
from ..core.records.table import (
    RowBlanks,
    RowEntry,
    RowRecord,
    RowStanding,
    TableCell,
    TableColumn,
    TableWork,
)
from ..core.tables.design import TableDesign
from ..core.tables.report_tables import cell_quotations, row_names, table_changes
from ..core.tables.rows import TableWriter
from ..core.writing.report import ReportEvents, new_draft
from ..prompts import fence, render_prompt
from ..state import ResearchState, StateUpdate
from ._tables import ENOUGH, design_of, in_phase, stored_rows
from .turn import NodeRuntime, Turn, begin_turn

_MOST_WORDS = 150
"""Maximum words of the summary."""
_SUMMARY_TOKENS = 1024
"""Maximum output tokens of the summary."""
_TABLE_CHARACTERS = 60_000
"""Maximum characters of the table that the model is shown."""
_NAMED = 10
"""Maximum number of rows that a notice names."""
_NOTICES: Mapping[RowStanding, str] = {
    "rejected": "Rows that do not count",
    "duplicate": "Rows that are the same as another",
    "left out": "Rows left out because of a limit",
}
_BEYOND = "Rows beyond those that the plan asks for"
"""Beginnings of the notices on rows that are not in the table, by their standing."""
_NO_ROWS = "No row was found that counts."


async def write_table(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have the summary written and streamed, put the table below it, and store both as the
    draft."""
    turn = await begin_turn(state, runtime)
    heard = turn.hear()
    turn.note_read(heard, "writer", turn.placement)
    state = turn.state
    run = state.run
    design = design_of(turn)
    writer = TableWriter(design.columns, state.numbers, turn.scope.excluded)
    entries = [entry for entry in state.rows.values() if entry.standing in ("found", "filled")]
    stored = await stored_rows(turn, entries)
    rows = [row for row in stored.values() if writer.is_citable(row)]
    table = writer.markdown(rows) if rows else _NO_ROWS
    work = in_phase(turn, "done")
    notices = _notices(state.rows.values(), work, rows, writer._replace(numbers={}))
    changes = list[str]()
    if state.base and design.keeps != "nothing":
        changes = _changes(state.base, table, entries, rows, design)
    notices += changes
    events = ReportEvents(state, turn.emitter, turn.placement)
    async with turn.paid(events):
        if rows and not RoleModels(turn.context).is_extractive("writer"):
            cited = _notices(state.rows.values(), work, rows, writer)
            await _write_summary(turn, events, table, [*cited, *changes])
        summary = _shortened(clean_prose(events.raw.strip(), by_number(state.sources.values())))
        events.on_text(f"\n\n{table}" if events.written else table)
        events.finish()
        blanks = await asyncio.to_thread(_blanks, turn, rows, table, design.columns)
        limit = _limit(state.rows.values(), work)
        if blanks and not limit:
            # It may have kept researchers from looking for these cells.
            limit = turn.limit
        update = turn.update(
            stop_reason=run.stop_reason or limit,
            not_read=(*run.not_read, *Conversation(state.messages).not_read),
            notices=(*run.notices, *notices),
        )
        turn.apply(run=update["run"])
        text = "\n\n".join(filter(None, (summary, table)))
        draft = await asyncio.to_thread(new_draft, turn.state, events, text)
        quotations = await asyncio.to_thread(cell_quotations, table, design.columns, rows)
        draft = draft.model_copy(
            update={
                "columns": design.columns,
                "blanks": blanks,
                "quotations": await turn.pages.keep(quotations.model_dump_json()),
            }
        )
        turn.apply(draft=draft)
        delivery = turn.delivery
        message = await asyncio.to_thread(delivery.draft_message, draft, events)
    delivery.stream_sources(draft, events)
    return {**update, "draft": draft, "table": work, "messages": [*heard, message]}


def _blanks(
    turn: Turn, rows: Sequence[RowRecord], table: str, columns: Sequence[TableColumn]
) -> tuple[RowBlanks, ...]:
    """Return where the empty cells of these rows, which are those of the table, were looked for."""
    blanks = list[RowBlanks]()
    known = dict[str, Sequence[str]]()
    for before in turn.state.base.blanks if turn.state.base else ():
        known[before.row] = before.read
    # A run does not fail for a table that cannot be read back.
    for row, name in zip(rows, row_names(table, columns), strict=False):
        if not any(_is_blank(row.cell(column.name)) for column in columns):
            continue
        places = dict.fromkeys(known.get(name, ()))
        for key in row.read:
            source = turn.state.sources.get(key)
            if source and source.kind == "document":
                places[source.short_location] = None
            elif source and source.content_hash:
                # An excerpt among the results of a search was not read.
                places[source.location] = None
        blanks.append(RowBlanks(row=name, read=tuple(places)))
    return tuple(blanks)


def _is_blank(cell: TableCell | None) -> bool:
    return cell is None or cell.state == "not found"


def _changes(
    base: Report,
    table: str,
    entries: Iterable[RowEntry],
    rows: Iterable[RowRecord],
    design: TableDesign,
) -> list[str]:
    """Return what readers are told on how a table differs from the one before it in its thread."""
    changes = table_changes(base, table, design.columns)
    notices = _listed("New rows", changes.new_rows)
    notices += _listed("Rows that are gone", changes.gone_rows)
    notices += _listed("Cells that have changed", changes.cells)
    if design.keeps != "rows":
        return notices
    if not notices:
        notices.append("Nothing has changed since the table before.")
    unread = [entry.name for entry in entries if entry.standing == "found"]
    notices += _listed("Rows that were not read again because of a limit", unread)
    stale = list[str]()
    for row in rows:
        for cell in row.cells:
            if cell.written and cell.state == "found" and row.name not in unread:
                stale.append(f"{row.name}, {cell.column}")
    return notices + _listed("Cells that were not found again and stay as they were", stale)


def _limit(entries: Iterable[RowEntry], work: TableWork) -> str:
    """Return the limit that has left rows out or ended the search for them, worded for the reader;
    empty if there is none."""
    for entry in entries:
        if entry.standing == "left out" and entry.reason != ENOUGH:
            return f"rows were left out ({entry.reason})"
    if work.is_complete:
        return ""
    return work.stopped


async def _write_summary(
    turn: Turn, events: ReportEvents, table: str, notices: Sequence[str]
) -> None:
    """Have the writer's model write the summary, streamed to `events`."""
    run = turn.state.run
    system = render_prompt(
        "write_table",
        "system",
        date=run.date,
        language=run.language,
        instructions=turn.context.instructions,
        most_words=_MOST_WORDS,
    )
    reminder = render_prompt(
        "write_table",
        "reminder",
        table=fence(table[:_TABLE_CHARACTERS]),
        notices=notices,
        most_words=_MOST_WORDS,
    )
    messages = [SystemMessage(system), *turn.conversation, HumanMessage(reminder)]
    request = turn.request("writer", messages, max_tokens=_SUMMARY_TOKENS, is_long=True)
    await ask_model(request._replace(keeps_broken=True), turn.context, events)
    events.settle()


def _shortened(summary: str) -> str:
    """Return a summary without the sentences beyond its maximum length, and without tables."""
    kept = list[str]()
    words = 0
    for sentence in sentences_of(summary):
        words += word_count(sentence.text)
        if words > _MOST_WORDS:
            return " ".join(kept)
        kept.append(sentence.raw.strip())
    return summary


def _notices(
    entries: Iterable[RowEntry],
    work: TableWork,
    rows: Sequence[RowRecord],
    writer: TableWriter,
) -> list[str]:
    """Return what readers are told on how complete the table is, with the citations of a writer."""
    named = {label: list[str]() for label in (*_NOTICES.values(), _BEYOND)}
    for entry in entries:
        if entry.reason == ENOUGH:
            named[_BEYOND].append(entry.name)
        elif entry.standing in _NOTICES:
            words = f"{entry.name} ({entry.reason}){writer.marker(entry.source)}"
            named[_NOTICES[entry.standing]].append(words)
    states = Counter[str]()
    for row in rows:
        for column in writer.columns:
            cell = row.cell(column.name)
            is_named = column.is_key and (cell is None or cell.state == "not found")
            if is_named:
                # The name by which the row was found stands there.
                states["found"] += 1
            else:
                states[cell.state if cell else "not found"] += 1
    notices = [f"Rows: {len(rows)}. The search for rows ended: {work.stopped}."]
    if rows:
        counts = ", ".join(f"{state}: {count}" for state, count in sorted(states.items()))
        notices.append(f"Cells: {states.total()} ({counts}).")
    for label, names in named.items():
        notices += _listed(label, names)
    return notices


def _listed(label: str, names: Sequence[str]) -> list[str]:
    """Return the notice that names these; empty if there are none."""
    if not names:
        return []
    named = list(names[:_NAMED])
    if len(names) > _NAMED:
        named.append(f"{len(names) - _NAMED} more")
    return [f"{label}: {'; '.join(named)}."]
