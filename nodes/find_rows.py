"""Sends out scouts, round by round, until no further rows are found."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from ..core.events.blocks import TablePackets
from ..core.evidence.checking.proof import stands_in
from ..core.library.library import Library
from ..core.records.table import RowCandidate, RowEntry, RowRecord, ScoutResult, TableWork
from ..core.tables.design import TableDesign
from ..core.tables.report_tables import kept_rows
from ..core.tables.rows import own_rejections, rejection_of, with_candidates
from ..core.writing.forms import Form
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._tables import (
    ENOUGH,
    design_of,
    found_rows,
    handed_in,
    has_enough,
    keep_rows,
    lost_ways,
    new_ways,
    send_scouts,
    stored_rows,
    unread_ways,
)
from .turn import NodeRuntime, Turn, begin_turn

_MOST_SCOUTS = 20
"""Maximum number of scouts in a round; further ways to look wait for the next one."""
_MOST_QUIET = 2
"""Number of rounds without a new row after which the search ends."""
_SPARE = 0.25
"""Share of `max_rows` that is found in addition, as a reserve."""
_QUIET = "two rounds brought nothing new"
_COVERED = "all parts were searched"
_EACH_DOCUMENT = "each document is a row"
_NOT_WANTED = "no further rows were asked for"


class NameWays(Form):
    """Hand in where else rows may be found."""

    ways: list[str] = Field(default_factory=list)
    """Further ways to look, each in a phrase that is understood alone: another register or list, other words, a part such as a year or a country. Empty if nothing more can be expected."""  # noqa: E501


async def find_rows(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Record the rows that the last round of scouts has found, and send out the next round.

    Without a next round there are no tasks, and `TableWork.stopped` says why. A run that was
    stopped after the search goes on behind it.
    """
    if state.table and state.table.phase != "finding":
        return {"tasks": []}
    turn = await begin_turn(state, runtime)
    turn.announce("search")
    heard = turn.hear()
    await turn.note_user()
    design = design_of(turn)
    kept: Mapping[str, RowEntry] = {}
    if not (state.table and state.table.round):
        kept = await _keep_rows(turn, design)
    async with turn.paid():
        work, entries = await _take_results(turn, design)
        stopped = _reason_to_stop(turn, design, work)
        ways: Sequence[str] = ()
        if not stopped:
            ways = await _ways(turn, design, work)
            if not ways:
                stopped = _COVERED if work.round else _NOT_WANTED
    if stopped:
        logger = logging.getLogger(__name__)
        logger.info("The search for rows of %s ends: %s", state.run.id, stopped)
        is_complete = stopped in (_QUIET, _COVERED, _EACH_DOCUMENT, _NOT_WANTED, ENOUGH)
        work = work.model_copy(
            update={"stopped": stopped, "is_complete": is_complete, "waiting": ()}
        )
        update: StateUpdate = {**turn.update(), "tasks": [], "table": work}
    else:
        work = work.model_copy(update={"waiting": tuple(ways[_MOST_SCOUTS:])})
        update = send_scouts(turn, design, ways[:_MOST_SCOUTS], work)
    return {**update, "rows": {**kept, **entries}, "messages": heard}


async def _keep_rows(turn: Turn, design: TableDesign) -> Mapping[str, RowEntry]:
    """Put the rows that are kept of the thread's table into the turn's state; return their
    entries."""
    base = turn.state.base
    if base is None or design.keeps == "nothing":
        return {}
    rows = await asyncio.to_thread(kept_rows, base)
    entries = await keep_rows(turn, rows, {})
    turn.emit(*TablePackets(turn.placement).rows(entries.values()))
    turn.apply(rows={**turn.state.rows, **entries})
    return entries


async def _take_results(
    turn: Turn, design: TableDesign
) -> tuple[TableWork, Mapping[str, RowEntry]]:
    """Put the rows that the last round has found into the turn's state; return how far the search
    has come, and the entries that are new or have changed."""
    state = turn.state
    work = state.table or TableWork()
    cycle = state.progress.cycle
    candidates = list[RowCandidate]()
    lost = list[str]()
    further = list[str]()
    if design.has_row_per_document:
        candidates += await _documents(turn)
    elif cycle > work.cycle:
        last = [finding for finding in state.own_findings if finding.cycle == cycle - 1]
        lost = lost_ways(work, last)
        work = work.model_copy(update={"tried": tuple(new_ways(work.tried, lost))})
        further += [*lost, *work.waiting]
        for _, text in await handed_in(turn, last):
            result = ScoutResult.model_validate_json(text)
            candidates += result.rows
            further += result.further
        if design.keeps == "nothing":
            further = unread_ways(further, _read_addresses(turn))
    else:
        return work, {}
    known = await stored_rows(turn, state.rows.values())
    changed = with_candidates(known, candidates)
    changes = dict[str, dict[str, object]]()
    proved = await _rejected_by_own_pages(turn, changed.values())
    for row in changed.values():
        rejection = rejection_of(row) or proved.get(row.id)
        changes[row.id] = {
            "standing": "rejected" if rejection else "found",
            "reason": rejection.reason if rejection else "",
            "source": rejection.source if rejection else "",
        }
    entries = await keep_rows(turn, changed.values(), changes)
    has_news = bool(lost) or not known.keys() >= changed.keys()
    turn.emit(*TablePackets(turn.placement).rows(entries.values()))
    turn.apply(rows={**state.rows, **entries})
    work = work.model_copy(
        update={
            "cycle": cycle,
            "quiet": 0 if has_news else work.quiet + 1,
            "waiting": tuple(new_ways(further, work.tried)),
        }
    )
    return work, entries


def _read_addresses(turn: Turn) -> set[str]:
    """Return the addresses of the pages and documents that scouts have opened."""
    addresses = set[str]()
    for finding in turn.state.own_findings:
        for key in finding.sources:
            source = turn.state.sources[key]
            if source.content_hash:
                addresses.add(source.address)
    return addresses


async def _rejected_by_own_pages(turn: Turn, rows: Iterable[RowRecord]) -> dict[str, RowCandidate]:
    """Return by what rows are rejected though some source names them, by id: those whose own page
    has the words by which a scout rejects them."""
    rejections = dict[str, RowCandidate]()
    for row in rows:
        for rejection in own_rejections(row, turn.state.sources):
            rejections.setdefault(row.id, rejection)
    keys = [rejection.source for rejection in rejections.values()]
    texts = await turn.basis.texts(turn.pages, keys)
    proved = dict[str, RowCandidate]()
    for row_id, rejection in rejections.items():
        if any(stands_in(rejection.words, text.text) for text in texts[rejection.source]):
            proved[row_id] = rejection
    return proved


async def _documents(turn: Turn) -> list[RowCandidate]:
    """Return the user's documents, sorted by path, as candidates, without those whose rows are
    known."""
    candidates = list[RowCandidate]()
    without = set(turn.scope.excluded)
    for row in (await stored_rows(turn, turn.state.rows.values())).values():
        without.update(candidate.source for candidate in row.candidates)
    documents = await asyncio.to_thread(lambda: list(Library(turn.context).documents()))
    for document in documents:
        source = document.source
        if source.key in without:
            continue
        name = source.short_location
        candidates.append(RowCandidate(key=(name,), source=source.key, address=source.address))
    return candidates


def _reason_to_stop(turn: Turn, design: TableDesign, work: TableWork) -> str:
    """Return why no further scouts are sent out; empty if they are."""
    if design.has_row_per_document and turn.state.rows:
        return _EACH_DOCUMENT
    standing = [entry.standing for entry in turn.state.rows.values()]
    # Some of them may turn out to be the same, or not to count.
    most = math.ceil(design.max_rows * (1 + _SPARE))
    if standing.count("found") >= most and has_enough(turn, design):
        return ENOUGH
    if standing.count("found") >= most:
        return f"the limit of {design.max_rows} rows was reached (max_rows)"
    if work.quiet >= _MOST_QUIET:
        return _QUIET
    rounds = turn.context.limits.max_cycles
    if work.round >= rounds:
        return f"the last of {rounds} rounds was reached (max_cycles)"
    return turn.limit


async def _ways(turn: Turn, design: TableDesign, work: TableWork) -> Sequence[str]:
    """Return the ways to look that no scout has been given: those of the plan, those that scouts
    have named or, if there are none, those that a model names."""
    if not work.round and design.keeps == "nothing":
        return design.ways or [turn.state.run.question]
    if not work.round:
        return design.ways
    if work.waiting or not turn.is_capable("orchestrator"):
        return work.waiting
    form = await turn.filler.ask_if_possible(
        NameWays,
        "orchestrator",
        "find_rows",
        turn.conversation,
        row=design.row,
        rules=design.rules,
        documents=turn.scope.documents,
        has_web=bool(turn.scope.engines),
        knowledge=fenced_knowledge(rows=[row.name for row in found_rows(turn)], tried=work.tried),
        quiet=work.quiet,
    )
    return new_ways(form.ways, work.tried) if form else []
