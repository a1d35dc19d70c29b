"""Merges rows that are the same, and sends out researchers who fill those that count."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ..core.events.blocks import TablePackets
from ..core.evidence.text.similarity import components
from ..core.records.table import RowEntry, RowRecord
from ..core.tables.design import TableDesign
from ..core.tables.rows import RowPair, merged_rows, pairs_alike
from ..core.writing.forms import Form
from ..prompts import fence
from ..state import ResearchState, StateUpdate
from ._tables import (
    ENOUGH,
    design_of,
    has_enough,
    in_phase,
    keep_rows,
    send_researchers,
    stored_rows,
)
from .turn import NodeRuntime, Turn, begin_turn

_MOST_PAIRS = 60
"""Maximum number of pairs that the model is asked about."""
_LONGEST_WORDS = 200
"""Maximum characters of the words by which a row was found that the model is shown."""


class JudgePairs(Form):
    """Hand in which pairs are the same."""

    same: list[int] = Field(default_factory=list)
    """Numbers of the pairs whose two names mean the same row."""


async def merge_rows(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Merge the rows that a model takes for the same; send out a researcher for each that counts.

    Rows beyond `max_rows` and `max_cells` are left out. After a limit of the run, the rows stay as
    they were found.
    """
    turn = await begin_turn(state, runtime)
    turn.announce("analyze")
    design = design_of(turn)
    found = [entry for entry in turn.state.rows.values() if entry.standing == "found"]
    rows = await stored_rows(turn, found)
    async with turn.paid():
        pairs = await _same_pairs(turn, design, list(rows.values()))
    entries = await _merged(turn, rows, pairs)
    turn.apply(rows={**turn.state.rows, **entries})
    entries |= _left_out(turn, design)
    turn.apply(rows={**turn.state.rows, **entries})
    turn.emit(*TablePackets(turn.placement).rows(entries.values()))
    counting = [entry for entry in turn.state.rows.values() if entry.standing == "found"]
    work = in_phase(turn, "filling")
    limit = turn.limit
    update: StateUpdate
    if limit or not counting:
        stop = limit or turn.state.run.stop_reason
        update = {**turn.update(stop_reason=stop), "tasks": [], "table": work}
    else:
        stored = await stored_rows(turn, counting)
        groups = list[dict[str, list[str]]]()
        for row in stored.values():
            columns = _columns_to_fill(row, design)
            if columns:
                groups.append({row.id: columns})
        update = send_researchers(turn, design, groups, stored, work)
    return {**update, "rows": entries}


def _columns_to_fill(row: RowRecord, design: TableDesign) -> list[str]:
    """Return the names of the columns to fill for a row: those that it was not kept with."""
    columns = list[str]()
    for column in design.columns:
        if design.keeps == "rows" or row.cell(column.name) is None:
            columns.append(column.name)
    return columns


async def _same_pairs(turn: Turn, design: TableDesign, rows: Sequence[RowRecord]) -> list[RowPair]:
    """Return the pairs of rows that a model takes for the same; none without a capable model."""
    if design.has_row_per_document or turn.limit or not turn.is_capable("orchestrator"):
        return []
    pairs = list[RowPair]()
    for pair in pairs_alike(rows, _MOST_PAIRS):
        # Two rows that were kept are known to differ.
        if not (pair.first.cells and pair.second.cells):
            pairs.append(pair)
    if not pairs:
        return []
    lines = list[str]()
    for number, pair in enumerate(pairs, 1):
        lines.append(f"{number}. {_shown(pair.first)}\n   {_shown(pair.second)}")
    form = await turn.filler.ask_if_possible(
        JudgePairs,
        "orchestrator",
        "merge_rows",
        turn.conversation,
        row=design.row,
        pairs=fence("\n".join(lines)),
    )
    if form is None:
        return []
    return [pairs[number - 1] for number in form.same if 0 < number <= len(pairs)]


def _shown(row: RowRecord) -> str:
    """Return a row as the model is shown it: its name, and the words by which it was found."""
    words = " ".join(row.candidates[0].words.split())[:_LONGEST_WORDS]
    return f"{row.name} ({words})" if words else row.name


async def _merged(
    turn: Turn, rows: dict[str, RowRecord], pairs: Sequence[RowPair]
) -> dict[str, RowEntry]:
    """Store the merged rows; return the entries that change, by id."""
    same = set[tuple[str, str]]()
    named = set[str]()
    for pair in pairs:
        ids = (pair.first.id, pair.second.id)
        same.add(ids)
        named.update(ids)
    groups = components(
        [row for row in rows if row in named],
        lambda row, other: (row, other) in same or (other, row) in same,
    )
    merged = list[RowRecord]()
    entries = dict[str, RowEntry]()
    for group in groups:
        row = merged_rows([rows[row_id] for row_id in group])
        merged.append(row)
        for duplicate in group[1:]:
            entry = turn.state.rows[duplicate]
            update = {"standing": "duplicate", "reason": row.name}
            entries[duplicate] = entry.model_copy(update=update)
    return entries | await keep_rows(turn, merged, {})


def _left_out(turn: Turn, design: TableDesign) -> dict[str, RowEntry]:
    """Return the entries of the rows beyond the plan and the limits, as left out."""
    most_by_cells = turn.context.limits.max_cells // max(1, len(design.columns))
    most = design.max_rows
    reason = ENOUGH if has_enough(turn, design) else "max_rows"
    if most_by_cells < most:
        most = max(1, most_by_cells)
        reason = "max_cells"
    left_out = dict[str, RowEntry]()
    counted = 0
    for entry in turn.state.rows.values():
        if entry.standing not in ("found", "filled"):
            continue
        counted += 1
        if counted > most:
            update = {"standing": "left out", "reason": reason}
            left_out[entry.id] = entry.model_copy(update=update)
    return left_out
