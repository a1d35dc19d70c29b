"""Writes down what a researcher found."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter
from typing_extensions import TypedDict

from deep_research.evidence.citations import cited_numbers
from deep_research.models.ask import Reply, ask_model
from deep_research.models.request import Request
from deep_research.models.settings import settings_of
from deep_research.prompts import render
from deep_research.run.branch import ResearcherState
from deep_research.run.calls import in_order, was_cut_off
from deep_research.run.context import Context
from deep_research.run.errors import ModelFailed, RunFailed
from deep_research.run.packets import (
    FindingCitedDocuments,
    FindingDelta,
    FindingStart,
    Placement,
    SectionEnd,
    document,
)
from deep_research.run.pages import pages_of
from deep_research.run.telling import StepTeller, Teller
from deep_research.state import Finding, Spent
from deep_research.tools.results import SHORTENERS

CUT_OFF = "it was cut off at the output limit (finding_tokens)"


class WriteFindingUpdate(TypedDict):
    """What `write_finding` writes."""

    findings: dict[str, Finding]
    spending: dict[str, Spent]
    thoughts: dict[str, str]


class FindingTeller(StepTeller):
    """Sends the finding's words as they come; they stand beside the researcher's steps, not among them."""

    def __init__(self, writer: StreamWriter, place: Placement, step: int) -> None:
        """Take the researcher's place and the number of its next step."""
        super().__init__(writer, place.model_copy(update={"sub_turn_index": step}))
        self.place = place

    def text(self, words: str) -> None:
        """Take words of the finding."""
        self.end()
        if not self.has_started:
            self.has_started = True
            self.tell(FindingStart(placement=self.place))
        self.tell(FindingDelta(placement=self.place, content=words))


async def write_finding(state: ResearcherState, runtime: Runtime[Context]) -> WriteFindingUpdate:
    """Have the finding written from the notes."""
    task = state.task
    if state.ended == "failed":
        raise RunFailed(state.reason)
    place = Placement(turn_index=task.turn, tab_index=task.position)
    teller = FindingTeller(runtime.stream_writer, place, state.step)
    reply = await _ask_twice(state, runtime, teller)
    text = reply.message.text.strip()
    cited = [state.numbered[number - 1] for number in cited_numbers(text, range(1, len(state.numbered) + 1))]
    documents = [document(state.sources[key]) for key in cited]
    teller.tell(FindingCitedDocuments(placement=place, cited_docs=documents), SectionEnd(placement=place))
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
        failures=tuple(state.failures),
        seconds=state.seconds + reply.seconds,
        actions=tuple(state.actions),
        thought=task.thought,
    )
    thoughts = teller.kept(task.question_id)
    return {"findings": {task.id: finding}, "spending": reply.spent, "thoughts": thoughts}


async def _ask_twice(state: ResearcherState, runtime: Runtime[Context], teller: Teller) -> Reply:
    """The finding; an empty one is asked for once more."""
    seconds, spending = 0.0, dict[str, Spent]()
    for again in (False, True):
        reply = await _ask(state, runtime, teller, again)
        seconds, spending = seconds + reply.seconds, {**spending, **reply.spent}
        if reply.message.text.strip():
            return reply._replace(seconds=seconds, spent=spending)
    raise ModelFailed("its model wrote nothing")


async def _ask(state: ResearcherState, runtime: Runtime[Context], teller: Teller, again: bool) -> Reply:
    context, task, limits = settings_of(runtime), state.task, settings_of(runtime).limits
    notes = await pages_of(runtime.store, task.question_id).fill_in(in_order(state.notes))
    reminder = render("write_finding", "reminder", task=task.text, reason=state.reason, again=again)
    system = SystemMessage(render("write_finding", "system"))
    messages = [system, HumanMessage(task.text), *notes, HumanMessage(reminder)]
    request = Request(
        "researcher", task.question_id, messages, SHORTENERS, max_tokens=limits.finding_tokens, is_long=True
    )
    async with asyncio.timeout(limits.researcher_seconds_hard - state.seconds):
        return await ask_model(request, context, teller)
