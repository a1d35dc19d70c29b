"""Holds the report against its sources, has it mended, and hands it over with its account."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.verification import with_independence
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import with_marks
from ..core.models.resolve import settings_of
from ..core.records.report import Draft, Report
from ..core.records.research import Run, Spent
from ..core.run.context import Context
from ..core.run.events.call import SilentEvents
from ..core.run.events.log import emitter
from ..core.run.spending import recorded, unsettled_costs
from ..core.run.store.pages import pages_of
from ..core.writing.basis import source_texts
from ..core.writing.estimate import record_finished
from ..core.writing.examination import Examination, Examined
from ..core.writing.fill_in import Filler
from ..core.writing.language import into_one_language
from ..core.writing.report import audit_of, check_place, check_start, end_packets, ended, report_message, unchecked
from ..state import ResearchState


class VerifyReportUpdate(TypedDict):
    """What `verify_report` writes."""

    messages: list[AnyMessage]
    run: Run
    report: Report
    spending: dict[str, Spent]


async def verify_report(state: ResearchState, runtime: Runtime[Context]) -> VerifyReportUpdate:
    """Check and mend the draft, unless that is not wanted, and put it into the conversation."""
    context, run, draft = settings_of(runtime), state.run, state.draft
    assert run is not None and draft is not None
    pages = pages_of(runtime.store, run.id)
    lost = await unsettled_costs(pages, run.id)
    run, events = lost.settled(run), SilentEvents(emitter(run.id), check_place(state))
    started, report = context.clock.seconds(), await asyncio.to_thread(unchecked, draft)
    context = _affordable(context, run)
    if context.verify != "off":
        emitter(run.id).emit(check_start(state))
        filler = Filler(context, run, events, events.placement)
        async with recorded(pages, run.id, events.bill):
            text, notices = await into_one_language(draft.text, run, context, events)
            draft = draft.model_copy(update={"text": text})
            run = run.model_copy(update={"notices": (*run.notices, *notices)})
            texts = await source_texts(state.sources, _readable(state, draft), pages)
            examination = Examination(
                draft.text, draft.sources, texts, state.sources, context, filler, run.language_code
            )
            examined = await examination.examine()
    spending = {**lost.new(state.spending), **events.bill.costs}
    run = ended(run, has_gaps=draft.has_gaps, seconds=context.clock.seconds() - started)
    state = replace(state, run=run, spending={**state.spending, **spending}, report=report)
    if context.verify != "off":
        report = await asyncio.to_thread(_audited, state, examined, texts, filler.failures)
        state = replace(state, report=report)
    emitter(run.id).emit(*end_packets(state, was_checked=context.verify != "off"))
    await record_finished(pages, state, context)
    message = await asyncio.to_thread(report_message, state, report)
    return VerifyReportUpdate(messages=[message], run=run, report=report, spending=spending)


def _affordable(context: Context, run: Run) -> Context:
    """Return settings that call no model, if the run ended because its budget is spent, or has had its two calls."""
    if not run.is_quick and not any(name in run.stop_reason for name in ("max_tokens", "max_usd")):
        return context
    limits = context.limits.model_copy(update={"max_opinions": 0, "max_rewrites": 0})
    return context.model_copy(update={"limits": limits})


def _readable(state: ResearchState, draft: Draft) -> list[str]:
    """Return the keys of the sources that the report cites or may cite."""
    numbered = (key for key, source in state.sources.items() if source.number)
    return list(dict.fromkeys([*draft.sources, *numbered]))


def _audited(
    state: ResearchState, examined: Examined, texts: Mapping[str, Sequence[SourceText]], failures: Sequence[str]
) -> Report:
    """Return the report with its marks and its audit."""
    assert state.run is not None
    text, claims = with_marks(examined.text, examined.claims, labels(state.run.language_code), state.sources)
    examined = examined._replace(claims=claims)
    audit = audit_of(state, examined, texts, failures)
    return Report(text=text, sources=examined.sources, claims=with_independence(claims, audit.reprints), audit=audit)
