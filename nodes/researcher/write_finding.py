"""Writes down what a researcher found."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.evidence.citations import cited_numbers
from deep_research.models.ask import Reply, Request, ask_model
from deep_research.models.resolve import profile_of
from deep_research.prompts import render
from deep_research.run.branch import ResearcherState
from deep_research.run.calls import was_cut_off
from deep_research.run.context import Context, context_of
from deep_research.run.errors import ModelFailed
from deep_research.run.packets import (
    FindingCitedDocuments,
    FindingDelta,
    FindingStart,
    Placement,
    SectionEnd,
    document,
    emit,
)
from deep_research.run.pages import Pages
from deep_research.run.transcripts import fit
from deep_research.state import Finding, Spent
from deep_research.tools.results import SHORTENERS

CUT_OFF = "it was cut off at the output limit (finding_tokens)"


class WriteFindingUpdate(TypedDict):
    """What `write_finding` writes."""

    findings: dict[str, Finding]
    spending: dict[str, Spent]


async def write_finding(state: ResearcherState, runtime: Runtime[Context]) -> WriteFindingUpdate:
    """Have the finding written from the notes."""
    task = state.task
    place = Placement(turn_index=task.turn, tab_index=task.position)
    emit(runtime.stream_writer, FindingStart(placement=place))
    reply = await _ask(state, runtime, place)
    text = reply.message.text.strip()
    if not text:
        raise ModelFailed("its model wrote nothing")
    cited = [state.numbered[number - 1] for number in cited_numbers(text, range(1, len(state.numbered) + 1))]
    documents = [document(state.sources[key]) for key in cited]
    emit(runtime.stream_writer, FindingCitedDocuments(placement=place, cited_docs=documents))
    emit(runtime.stream_writer, SectionEnd(placement=place))
    was_cut = was_cut_off(reply.message)
    finding = Finding(
        id=task.id,
        question_id=task.question_id,
        task=task.text,
        cycle=task.cycle,
        position=task.position,
        text=text,
        sources=tuple(state.numbered),
        ended="partial" if was_cut else state.ended or "done",
        reason=state.reason or (CUT_OFF if was_cut else ""),
        seconds=state.seconds + reply.seconds,
        actions=tuple(state.actions),
        thought=task.thought,
    )
    return {"findings": {task.id: finding}, "spending": reply.spent}


async def _ask(state: ResearcherState, runtime: Runtime[Context], place: Placement) -> Reply:
    context, task, limits = context_of(runtime), state.task, context_of(runtime).limits
    notes = await Pages(runtime.store, task.question_id).fill_in(state.notes)
    reminder = render("write_finding", "reminder", task=task.text, reason=state.reason)
    system = SystemMessage(render("write_finding", "system"))
    messages = [system, HumanMessage(task.text), *notes, HumanMessage(reminder)]
    room = profile_of("researcher", context).window - limits.finding_tokens

    def tell(words: str) -> None:
        emit(runtime.stream_writer, FindingDelta(placement=place, content=words))

    request = Request(
        "researcher",
        fit(messages, room, SHORTENERS),
        max_tokens=limits.finding_tokens,
        is_long=True,
    )
    async with asyncio.timeout(limits.researcher_seconds_hard - state.seconds):
        return await ask_model(request, context, tell)
