"""Puts what researchers have handed in into the rows of the table."""

from __future__ import annotations

from ..core.records.table import RowResults
from ..core.tables.rows import with_cells
from ..state import ResearchState, StateUpdate
from ._tables import design_of, handed_in, keep_rows, stored_rows
from .turn import NodeRuntime, begin_turn


async def collect_rows(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Fill the rows with what the last round has found; those that do not count are rejected.

    This needs no model. Rows whose researcher has failed stay as they were found.
    """
    turn = await begin_turn(state, runtime)
    cycle = state.progress.cycle
    last = [finding for finding in turn.state.own_findings if finding.cycle == cycle - 1]
    rows = await stored_rows(turn, turn.state.rows.values())
    is_anew = design_of(turn).keeps == "rows"
    changes = dict[str, dict[str, object]]()
    for finding, text in await handed_in(turn, last):
        for result in RowResults.model_validate_json(text).rows:
            row = rows[result.row]
            rows[result.row] = with_cells(row, result, finding.sources, is_anew=is_anew)
            standing = "rejected" if result.reason else "filled"
            changes[result.row] = {
                "standing": standing,
                "reason": result.reason,
                "source": result.source,
            }
    entries = await keep_rows(turn, [rows[row] for row in changes], changes)
    return {**turn.costs(), "rows": entries}
