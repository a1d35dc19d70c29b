"""What the nodes of a table share: its design, its rows in the store, and the tasks of scouts and
researchers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..core.events.blocks import PlanPackets
from ..core.evidence.citations.citing import name_of
from ..core.records.research import Finding
from ..core.records.sources import short_hash, text_hash
from ..core.records.table import (
    RowEntry,
    RowRecord,
    TablePhase,
    TableTask,
    TableWork,
    TaskRow,
)
from ..core.tables.design import PagePart, TableDesign
from ..prompts import fence, render_prompt
from ..state import StateUpdate
from ._budget import Budget
from .turn import Turn

_TITLE = 80
"""Maximum characters of a task's title."""
_SCOUTS_SHARE = 3
"""The remaining budget is divided by this for the scouts, so that two thirds are left to fill
rows."""
_AROUND_ADDRESSES = ".,;:()[]<>\"'“”"
"""Signs around an address in a way to look."""
ENOUGH = "the plan asks for no more rows"
"""Why rows are left out, or not looked for, beyond the number that the plan names."""
_ROWS_SHOWN = 200
"""Maximum number of known rows that a scout is told."""


def design_of(turn: Turn) -> TableDesign:
    """Return the design of the table, as the plan says it, with at most `max_rows` rows."""
    plan = turn.state.plan
    assert plan is not None
    design = TableDesign.read(plan)
    most = turn.context.limits.max_rows
    return design._replace(max_rows=min(design.max_rows or most, most))


def has_enough(turn: Turn, design: TableDesign) -> bool:
    """Whether it is the plan that ends the table at its number of rows, and not a limit."""
    return design.max_rows < turn.context.limits.max_rows


def in_phase(turn: Turn, phase: TablePhase) -> TableWork:
    """Return how far the table has come, in its next phase."""
    work = turn.state.table or TableWork()
    return work.model_copy(update={"phase": phase})


async def stored_rows(turn: Turn, entries: Iterable[RowEntry]) -> dict[str, RowRecord]:
    """Return rows as they are stored, by id."""
    rows = dict[str, RowRecord]()
    for text in await turn.pages.texts([entry.content for entry in entries]):
        if text:
            row = RowRecord.model_validate_json(text)
            rows[row.id] = row
    return rows


def found_rows(turn: Turn) -> list[RowEntry]:
    """Return the latest rows that may count."""
    found = [entry for entry in turn.state.rows.values() if entry.standing != "rejected"]
    return found[-_ROWS_SHOWN:]


async def keep_rows(
    turn: Turn, rows: Iterable[RowRecord], changes: Mapping[str, dict[str, Any]]
) -> dict[str, RowEntry]:
    """Store rows; return their entries in the state, by id.

    `changes`: fields of entries that change, by id of the row.
    """
    texts = dict[str, str]()
    entries = dict[str, RowEntry]()
    for row in rows:
        text = row.model_dump_json()
        content = text_hash(text)
        texts[content] = text
        known = turn.state.rows.get(row.id)
        entry = known or RowEntry(id=row.id, name=row.name, content=content)
        update = {"content": content, "address": row.address, **changes.get(row.id, {})}
        entries[row.id] = entry.model_copy(update=update)
    await turn.pages.write(texts)
    return entries


async def handed_in(turn: Turn, findings: Iterable[Finding]) -> list[tuple[Finding, str]]:
    """Return the findings that have handed something in, in the order of their tasks, each with
    that as JSON."""
    having = [finding for finding in findings if finding.handed_in]
    ordered = sorted(having, key=lambda finding: (finding.cycle, finding.position))
    texts = await turn.pages.texts([finding.handed_in for finding in ordered])
    return [(finding, text) for finding, text in zip(ordered, texts, strict=True) if text]


def send_scouts(
    turn: Turn, design: TableDesign, ways: Sequence[str], work: TableWork
) -> StateUpdate:
    """Return the update that sends out a scout for each way to look."""
    known = "\n".join(f"{row.name} {row.address}".rstrip() for row in found_rows(turn))
    tasks = list[dict[str, Any]]()
    for way in ways:
        text = render_prompt(
            "_scout_task",
            "system",
            row=design.row,
            rules=design.rules,
            keys=[column.name for column in design.key_columns],
            way=way,
            known=fence(known) if known else "",
        )
        fields: dict[str, Any] = {
            "text": text,
            "title": way[:_TITLE],
            "columns": design.columns,
            "reads_anew": design.keeps == "rows",
        }
        part = PagePart.read(way)
        if part:
            fields |= {"open_first": (part.address,), "open_from": part.start}
        tasks.append(fields)
    work = work.model_copy(
        update={"round": work.round + 1, "tried": (*work.tried, *ways), "sent": tuple(ways)}
    )
    return _sent_out(turn, tasks, work, _SCOUTS_SHARE)


def send_researchers(
    turn: Turn,
    design: TableDesign,
    groups: Sequence[Mapping[str, Sequence[str]]],
    rows: Mapping[str, RowRecord],
    work: TableWork,
) -> StateUpdate:
    """Return the update that sends out a researcher for each group of rows.

    A group has the names of the columns to fill, by id of the row; `rows` are the stored ones.
    """
    is_again = work.phase == "mending"
    # A row's pages are opened, so its prompt does not grow with the number of documents.
    scope = turn.state.run.scope.model_copy(update={"whole": (), "documents": ""})
    tasks = list[dict[str, Any]]()
    for group in groups:
        asked = list[TaskRow]()
        addresses = dict[str, None]()
        entries = dict[str, str]()
        shown = list[str]()
        columns = list[str]()
        for row_id, names in group.items():
            row = rows[row_id]
            asked.append(TaskRow(id=row.id, name=row.name, columns=tuple(names)))
            own, listing = _addresses(turn, row)
            addresses |= dict.fromkeys([*own, *listing])
            if own:
                entries |= listing
            shown.append(row.name)
            columns += names
        text = render_prompt(
            "_fill_task",
            "system",
            row=design.row,
            rules=design.rules,
            columns=[column for column in design.columns if column.name in columns],
            rows=list(enumerate(asked, 1)),
            is_again=is_again,
        )
        fields = {
            "text": text,
            "title": "; ".join(shown)[:_TITLE],
            "columns": design.columns,
            "rows": tuple(asked),
            "scope": scope,
            "reads_anew": design.keeps == "rows",
        }
        if not is_again:
            fields["open_first"] = tuple(addresses)[: turn.context.limits.max_open]
            fields["entries"] = entries
        tasks.append(fields)
    return _sent_out(turn, tasks, work, 1)


def _addresses(turn: Turn, row: RowRecord) -> tuple[list[str], dict[str, str]]:
    """Return the addresses of a row's own pages and documents, and the words by which others name
    it by their addresses."""
    own = [candidate.address for candidate in row.candidates if candidate.address]
    listing = dict[str, str]()
    for candidate in row.candidates:
        source = turn.state.sources.get(candidate.source)
        if source and source.address not in own:
            listing.setdefault(source.address, candidate.words)
    return own, listing


def _sent_out(
    turn: Turn, tasks: Sequence[dict[str, Any]], work: TableWork, shares: int
) -> StateUpdate:
    """Return the update with tasks, of which each gets an equal part of the budget that is left,
    and all together one of `shares` parts."""
    state = turn.state
    limits = turn.context.limits
    cycle = state.progress.cycle
    if len(tasks) > 1:
        turn.emit(PlanPackets(turn.placement).branching(len(tasks)))
    common = Budget(limits, state.spending).shared_task_fields(state.run, len(tasks) * shares)
    common["seconds"] = limits.max_seconds - state.run.active_seconds
    sent = list[TableTask]()
    for position, fields in enumerate(tasks):
        task = TableTask(
            id=short_hash(state.run.id, work.phase, str(cycle), str(position)),
            cycle=cycle,
            position=position,
            turn=turn.placement.turn_index,
            slots=limits.max_parallel_researchers,
            **{**common, **fields},
        )
        sent.append(task)
    return {
        **turn.costs(),
        "tasks": sent,
        "table": work,
        "progress": turn.advanced(cycle=cycle + 1),
    }


def lost_ways(work: TableWork, findings: Sequence[Finding]) -> list[str]:
    """Return the ways to look of the last round from which no scout has come back, since the run
    was stopped."""
    came_back = {finding.task for finding in findings}
    return [way for way in work.sent if way[:_TITLE] not in came_back]


def new_ways(ways: Iterable[str], tried: Iterable[str]) -> list[str]:
    """Return the ways to look that were not tried yet, each once."""
    known = set(map(name_of, tried))
    new = dict[str, str]()
    for way in ways:
        if name_of(way) and name_of(way) not in known:
            new.setdefault(name_of(way), way)
    return list(new.values())


def unread_ways(ways: Iterable[str], read: Collection[str]) -> list[str]:
    """Return the ways to look without those of which all addresses were `read`; a further part of
    a page stays."""
    unread = list[str]()
    for way in ways:
        words = {word.strip(_AROUND_ADDRESSES) for word in way.split()}
        addresses = {word for word in words if "://" in word}
        if not addresses or not addresses.issubset(read) or PagePart.read(way):
            unread.append(way)
    return unread
