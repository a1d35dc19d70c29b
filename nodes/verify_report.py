"""Checks the report against its sources, repairs it, and delivers it with its audit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ..core.accounts.ledger import FinishedRuns
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import without_marks
from ..core.library.earlier import EarlierPages
from ..core.models.resolve import RoleModels
from ..core.records import tool_names
from ..core.records.sources import Source, unopened
from ..core.writing.forms import Filler
from ..core.writing.language import into_one_language
from ..core.writing.notes import ReportNotes, asked_notes
from ..core.writing.report import audited_report, unchecked, with_house_words
from ..core.writing.versions import ThreadVersions
from ..state import ResearchState, StateUpdate, merge_sources
from ._checking import begin_examination, texts_for, to_examine
from ._further_research import may_research
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
    pages = _UnreadPages(turn)
    was_checked = context.verify != "off"
    if was_checked:
        turn.announce("verify")
        filler = Filler(context, run, turn.events, turn.placement)
        async with turn.paid():
            # An edited report has the marks of the last check.
            unmarked = without_marks(draft.text)
            text, foreign = await into_one_language(unmarked, run, context, turn.events)
            notices += foreign
            draft = to_examine(draft.model_copy(update={"text": text}), turn)
            examination = await begin_examination(
                turn, draft, await texts_for(draft, turn), filler, open_pages=pages.read
            )
            examined = await examination.examine()
            state = turn.state
            notices += examination.notices
            text = examined.text
            cited = tuple(examined.keys.values())
            if has_no_calls_left and not RoleModels(context).is_extractive("writer"):
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
    status = "completed_with_gaps" if any(missing) else "completed"
    update = turn.update(status=status, notices=tuple(notices))
    spending = {**state.spending, **turn.spending}
    turn.apply(run=update["run"], spending=spending, report=report)
    if was_checked:
        report = await asyncio.to_thread(
            audited_report, turn.state, examined, examination.texts, filler.failures
        )
        verdicts = await asyncio.to_thread(examination.kept_verdicts)
        if verdicts:
            kept = await turn.pages.keep(verdicts)
    length = {"fewest_words": draft.fewest_words, "most_words": draft.most_words}
    report = report.model_copy(update={"kept": kept, **length})
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


class _UnreadPages:
    """The pages of the thread of which only search excerpts were read; opens those that a check
    needs."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.sources = dict[str, Source]()
        """What is known of the pages that were opened, or could not be, by source key."""

    async def read(
        self, keys: Sequence[str]
    ) -> tuple[dict[str, list[SourceText]], Mapping[str, Source]]:
        """Open the pages of these sources, as a researcher would, and put them into the turn's
        state; return the texts and sources of those that could be read, by key.

        None is opened without web search, or once a limit of the run is reached.
        """
        turn = self._turn
        texts = dict[str, list[SourceText]]()
        most = turn.context.limits.max_open
        for tab, start in enumerate(range(0, len(keys), most), 1):
            if tool_names.WEB_SEARCH not in turn.offered or not may_research(turn):
                break
            addresses = [turn.state.sources[key].address for key in keys[start : start + most]]
            name = tool_names.OPEN_URL
            outcome, action = await turn.use(name, addresses, f"check-{tab}", tab)
            for hit in outcome.hits:
                if hit.source.key in keys:
                    texts[hit.source.key] = [SourceText(hit.source.content_hash, hit.text)]
            sources = turn.state.sources
            found = {**outcome.sources, **unopened(sources, outcome.not_read)}
            merged = merge_sources(sources, found)
            self.sources |= {key: merged[key] for key in found}
            brief = turn.state.brief
            brief = brief.model_copy(update={"actions": (*brief.actions, action)})
            turn.apply(sources=merged, brief=brief)
        return texts, {key: self.sources[key] for key in texts}
