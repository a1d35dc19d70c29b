"""Checks the report against its sources, repairs it, and delivers it with its audit."""

from __future__ import annotations

import asyncio

from ..core.accounts.ledger import FinishedRuns
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import without_marks
from ..core.library.earlier import EarlierPages
from ..core.models.resolve import RoleModels
from ..core.writing.forms import Filler
from ..core.writing.language import into_one_language
from ..core.writing.notes import ReportNotes, asked_notes
from ..core.writing.report import audited_report, unchecked, with_house_words
from ..core.writing.versions import ThreadVersions
from ..state import ResearchState, StateUpdate
from ._examining import UnreadPages, context_of_check, examination_of, has_no_calls_left
from .turn import NodeRuntime, begin_turn


async def verify_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Check and repair the draft unless `verify` is off, and end the run.

    The report is put into the conversation.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    run = state.run
    draft = state.draft
    assert draft is not None
    report = await asyncio.to_thread(unchecked, draft)
    cited = report.sources
    text = draft.text
    notices = list(run.notices)
    context = context_of_check(turn)
    kept = state.base.kept if state.base else ""
    pages = UnreadPages(turn)
    was_checked = context.verify != "off"
    if was_checked:
        turn.announce("verify")
        filler = Filler(context, run, turn.events, turn.placement)
        async with turn.paid():
            # An edited report has the marks of the last check.
            unmarked = without_marks(draft.text)
            text, foreign = await into_one_language(unmarked, run, context, turn.events)
            notices += foreign
            examination = await examination_of(
                turn, draft, text, filler, pages, turn.announce_progress
            )
            examined = await examination.examine()
            state = turn.state
            notices += examination.notices
            if examination.is_cut_off:
                limit = turn.budget.used_up()
                notices.append(f"Not all statements of this report were checked: {limit}.")
            text = examined.text
            cited = tuple(examined.keys.values())
            if has_no_calls_left(turn) and not RoleModels(context).is_extractive("writer"):
                notices.append(await asyncio.to_thread(examination.looked_up))
    asked = list[str]()
    for action in state.own_actions:
        asked += action.asked
    notices += asked_notes(asked)
    outline = turn.basis.outline(turn.context)
    if outline:
        deviations = tuple(await asyncio.to_thread(outline.deviations, text))
        report = report.model_copy(update={"outline_deviations": deviations})
    turn.apply(report=report)
    missing = await asyncio.to_thread(ReportNotes(turn.state).missing, cited)
    is_partly_checked = was_checked and examination.is_cut_off
    has_gaps = any(missing) or is_partly_checked
    status = "completed_with_gaps" if has_gaps else "completed"
    # Lists and exports of the run show the same time as its packets.
    update = turn.update(status=status, notices=tuple(notices), active_seconds=turn.worked)
    spending = {**state.spending, **turn.spending}
    turn.apply(run=update["run"], spending=spending, report=report)
    if was_checked:
        report = await asyncio.to_thread(
            audited_report, turn.state, examined, examination.texts, filler.failures
        )
        verdicts = await asyncio.to_thread(examination.kept_verdicts)
        if verdicts:
            kept = await turn.pages.keep(verdicts)
    report = report.model_copy(
        update={
            "kept": kept,
            "fewest_words": draft.fewest_words,
            "most_words": draft.most_words,
            "columns": draft.columns,
            "blanks": draft.blanks,
        }
    )
    report = with_house_words(report, draft, labels(run.language_code))
    turn.apply(report=report)
    delivery = turn.delivery
    turn.emit(*delivery.end_packets(was_checked=was_checked))
    if run.entry != "edit":
        finished = FinishedRuns.like(turn.pages, turn.state.run, RoleModels(context).names())
        await finished.record(turn.state)
    await EarlierPages(turn.pages, context).record(state.sources.values())
    messages = await asyncio.to_thread(delivery.report_messages)
    versions = await ThreadVersions(turn.state).keep(turn.pages, context.clock.now())
    if pages.sources:
        update |= {"sources": pages.sources, "brief": turn.state.brief}
    return {**update, "messages": messages, "report": report, "versions": versions}
