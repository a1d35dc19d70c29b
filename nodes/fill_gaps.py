"""Sends out the cells of which nothing was found once more, grouped by the source of their rows."""

from __future__ import annotations

from ..core.tables.rows import open_columns
from ..state import ResearchState, StateUpdate
from ._further_research import may_research
from ._tables import design_of, in_phase, send_researchers, stored_rows
from .turn import NodeRuntime, begin_turn

_MOST_TOGETHER = 8
"""Maximum number of rows that one researcher looks for."""


async def fill_gaps(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Send out a researcher for the empty cells of each group of rows; none if a limit is reached,
    or if the documents that are the rows were read and nothing else can be searched."""
    turn = await begin_turn(state, runtime)
    design = design_of(turn)
    work = in_phase(turn, "mending")
    filled = [entry for entry in turn.state.rows.values() if entry.standing == "filled"]
    rows = await stored_rows(turn, filled)
    missing = dict[str, list[str]]()
    for row in rows.values():
        columns = open_columns(row, design.columns)
        if columns:
            missing[row.id] = columns
    is_read = design.has_row_per_document and not turn.scope.engines
    if not missing or is_read or not may_research(turn):
        limit = turn.limit or turn.state.run.stop_reason
        return {**turn.costs(stop_reason=limit), "tasks": [], "table": work}
    by_source = dict[str, list[str]]()
    for row_id in missing:
        by_source.setdefault(rows[row_id].candidates[0].source, []).append(row_id)
    groups = list[dict[str, list[str]]]()
    for together in by_source.values():
        for start in range(0, len(together), _MOST_TOGETHER):
            group = together[start : start + _MOST_TOGETHER]
            groups.append({row_id: missing[row_id] for row_id in group})
    turn.announce("search")
    return send_researchers(turn, design, groups, rows, work)
