"""Checks the report against its sources, repairs it, and delivers it with its audit."""

from __future__ import annotations

import asyncio

from ..core.accounts.ledger import FinishedRuns
from ..core.dialogue.conversation import Conversation
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import title_line, without_marks
from ..core.library.earlier import EarlierPages
from ..core.models.resolve import is_extractive, model_names
from ..core.records import tool_names
from ..core.records.report import Draft
from ..core.writing.basis import source_texts
from ..core.writing.examination import Examination
from ..core.writing.forms import Filler
from ..core.writing.language import into_one_language
from ..core.writing.notes import ReportNotes, asked_notes
from ..core.writing.report import audited_report, unchecked, with_house_words
from ..core.writing.versions import keep_version
from ..state import ResearchState, StateUpdate
from .turn import NodeRuntime, Turn, begin_turn


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
    context = turn.context
    # A quick answer has used its two model calls.
    has_no_calls_left = run.is_quick and not run.is_recalled
    if has_no_calls_left or "max_tokens" in run.stop_reason or "max_usd" in run.stop_reason:
        limits = context.limits.model_copy(update={"max_opinions": 0, "max_rewrites": 0})
        context = context.model_copy(update={"limits": limits})
    kept = state.base.kept if state.base else ""
    was_checked = context.verify != "off"
    if was_checked:
        turn.announce("verify")
        filler = Filler(context, run, turn.events, turn.placement)
        async with turn.paid():
            # An edited report has the marks of the last check.
            unmarked = without_marks(draft.text)
            text, foreign = await into_one_language(unmarked, run, context, turn.events)
            notices += foreign
            # The title is printed above the text, so it is checked with it.
            titled = [title_line(state.title), text]
            draft = draft.model_copy(update={"text": "\n\n".join(filter(None, titled))})
            texts = await source_texts(state.sources, _citable(draft, turn), turn.pages)
            examination = Examination(
                draft,
                texts,
                state.sources,
                filler,
                run.language_code,
                _calculations(turn),
                asked=_texts_of_user(turn),
                kept=await _kept_before(turn),
            )
            examined = await examination.examine()
            notices += examination.notices
            text = examined.text
            cited = tuple(examined.keys.values())
            if has_no_calls_left and not is_extractive("writer", context):
                notices.append(await asyncio.to_thread(examination.looked_up))
    asked = list[str]()
    for action in state.own_actions:
        asked += action.asked
    notices += asked_notes(asked)
    if turn.outline:
        deviations = tuple(await asyncio.to_thread(turn.outline.deviations, text))
        report = report.model_copy(update={"outline_deviations": deviations})
    turn.apply(report=report)
    missing = await asyncio.to_thread(ReportNotes(turn.state).missing, cited)
    status = "completed_with_gaps" if any(missing) else "completed"
    update = turn.update(status=status, notices=tuple(notices))
    spending = {**state.spending, **turn.spending}
    turn.apply(run=update["run"], spending=spending, report=report)
    if was_checked:
        report = await asyncio.to_thread(
            audited_report, turn.state, examined, texts, filler.failures
        )
        verdicts = await asyncio.to_thread(examination.kept_verdicts)
        if verdicts:
            kept = await turn.pages.keep(verdicts)
    report = report.model_copy(update={"kept": kept})
    report = with_house_words(report, draft, labels(run.language_code))
    turn.apply(report=report)
    delivery = turn.delivery
    turn.emit(*delivery.end_packets(was_checked=was_checked))
    if run.entry != "edit":
        finished = FinishedRuns.like(turn.pages, turn.state.run, model_names(context))
        await finished.record(turn.state)
    await EarlierPages(turn.pages, context).record(state.sources.values())
    messages = await asyncio.to_thread(delivery.report_messages)
    versions = await keep_version(turn.state, turn.pages, context.clock.now())
    return {**update, "messages": messages, "report": report, "versions": versions}


async def _kept_before(turn: Turn) -> str:
    """Return the stored verdicts of the thread's last report; empty if there are none."""
    base = turn.state.base
    if base is None or not base.kept:
        return ""
    return await turn.pages.text(base.kept) or ""


def _citable(draft: Draft, turn: Turn) -> list[str]:
    """Return the keys of the sources that the draft cites, then of the others it could cite."""
    return [*draft.sources, *turn.state.numbers]


def _texts_of_user(turn: Turn) -> list[str]:
    """Return what the user has written: messages, and the outline of the report."""
    texts = Conversation(turn.state.messages).texts_of_user
    if turn.outline:
        texts = [*texts, turn.outline.text]
    return texts


def _calculations(turn: Turn) -> list[str]:
    """Return the lines that researchers have calculated."""
    lines = list[str]()
    for action in turn.state.own_actions:
        if action.tool == tool_names.CALCULATE:
            lines += action.inputs
    return lines
