"""Checks the report against its sources, repairs it, and delivers it with its audit."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..core.evidence.memory.observations import asked_notes
from ..core.library.earlier import record_read
from ..core.models.resolve import is_extractive
from ..core.run import tool_names
from ..core.writing.basis import source_texts
from ..core.writing.examination import Examination
from ..core.writing.fill_in import Filler
from ..core.writing.language import into_one_language
from ..core.writing.report import audited_report, end_packets, reader_of, report_messages, unchecked
from ..core.writing.turn import NodeRuntime, begin_turn
from ..core.writing.usual_cost import record_finished
from ..state import ResearchState, StateUpdate


async def verify_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Check and repair the draft unless `verify` is off, put the report into the conversation, and end the run."""
    turn, draft = await begin_turn(state, runtime), state.draft
    assert draft is not None
    report, notices = await asyncio.to_thread(unchecked, draft), tuple[str, ...]()
    context, run, actions = turn.context, state.run, state.own_actions
    # A quick answer has used its two model calls.
    has_no_calls_left = run.is_quick and not run.is_recalled
    if has_no_calls_left or any(name in run.stop_reason for name in ("max_tokens", "max_usd")):
        limits = context.limits.model_copy(update={"max_opinions": 0, "max_rewrites": 0})
        context = context.model_copy(update={"limits": limits})
    if was_checked := context.verify != "off":
        turn.announce("verify")
        filler = Filler(context, state.run, turn.events, turn.placement)
        async with turn.paid():
            text, notices = await into_one_language(draft.text, state.run, context, turn.events)
            draft = draft.model_copy(update={"text": text})
            # The sources that the draft cites first, then the others that it could cite.
            keys = [*draft.sources, *(key for key, source in state.sources.items() if source.number)]
            texts = await source_texts(state.sources, keys, turn.pages)
            calculations = [line for use in actions if use.tool == tool_names.CALCULATE for line in use.inputs]
            examination = Examination(draft, texts, state.sources, filler, run.language_code, calculations)
            examined = await examination.examine()
            notices = (*notices, *examination.notices)
            if has_no_calls_left and not is_extractive("writer", context):
                notices = (*notices, await asyncio.to_thread(examination.looked_up))
    status = "completed_with_gaps" if draft.has_gaps or draft.open_grades else "completed"
    asked = asked_notes(name for action in actions for name in action.asked)
    update = turn.update(status=status, notices=(*state.run.notices, *notices, *asked))
    state = replace(state, run=update["run"], spending={**state.spending, **turn.spending}, report=report)
    if was_checked:
        report = await asyncio.to_thread(audited_report, state, examined, texts, filler.failures)
        state = replace(state, report=report)
    turn.emit(*end_packets(state, was_checked=was_checked))
    await record_finished(turn.pages, state, context)
    await record_read(turn.pages, state.sources.values(), context)
    messages = await asyncio.to_thread(report_messages, state, report, reader_of(context, turn.pages))
    return {**update, "messages": messages, "report": report}
