"""Writes down what a researcher found."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import override

from ...core.evidence.checking.units import states_figures, units_of
from ...core.evidence.citations.citing import cited_numbers
from ...core.evidence.citations.markers import plain_prose
from ...core.evidence.text.repetition import without_loop
from ...core.models.ask import Reply
from ...core.models.request import Request
from ...core.models.resolve import EXTRACTIVE, is_small, with_model
from ...core.records.research import ConflictingClaims, Finding
from ...core.run.branches import BranchUpdate, ResearcherState, assignment_of
from ...core.run.concurrency import Failed
from ...core.run.context import Context
from ...core.run.errors import ModelFailed, RunFailed
from ...core.run.events.call import document
from ...core.run.events.log import Emitter
from ...core.run.events.packets import FindingCitedDocuments, FindingDelta, FindingStart, Placement, SectionEnd
from ...core.run.transcripts import contradictions_in, count_withheld, missing_in, results_in_order, was_cut_off
from ...core.writing.attribution import known_from, with_found_citations
from ...core.writing.continued import ContinuedEvents, ask_for_prose
from ...core.writing.facts import facts_of_researcher
from ...core.writing.from_facts import with_other_sources
from ...core.writing.turn import BranchTurn
from ...core.writing.write import ask_to_cite, write_silently
from ...prompts import render
from ...tools.excerpts import keep_excerpts
from ...tools.offer import researcher_conversation, researcher_schemas, researcher_tools
from ...tools.results import results_in, shortener, shrunk

NOTHING_CONSULTED = "it consulted no source"
UNCITED = "its model named no source for what it wrote, so quotations stand in for it"
CUT_OFF = "it was cut off at the output limit (finding_tokens)"


class FindingEvents(ContinuedEvents):
    """Emits the finding; its words stand beside the researcher's iterations, not among them."""

    def __init__(self, emitter: Emitter, place: Placement) -> None:
        """Take the place of the researcher's next step."""
        super().__init__(emitter, place)
        self.place = place.model_copy(update={"sub_turn_index": None})

    @override
    def start(self) -> FindingStart:
        return FindingStart(placement=self.place)

    @override
    def show(self, words: str) -> None:
        self.emit(FindingDelta(placement=self.place, content=words))


async def write_finding(state: ResearcherState, runtime: Runtime[Context]) -> BranchUpdate:
    """Have the finding written from the notes; if that fails, excerpts of them stand in for it."""
    turn = BranchTurn(state.task, state.seconds, state.step, runtime, FindingEvents)
    left = turn.context.limits.researcher_seconds_hard - state.seconds
    finding = await turn.attempt(_finding(state, turn), left)
    if isinstance(finding, Failed):
        finding = await keep_excerpts(state, turn.pages, turn.emitter, finding.reason, turn.seconds)
    return {"findings": {finding.id: finding}, "spending": turn.spending}


async def _finding(state: ResearcherState, turn: BranchTurn[FindingEvents]) -> Finding:
    if state.ended == "failed" or not state.actions:
        # What a model writes without a source it has from memory.
        raise RunFailed(state.reason or NOTHING_CONSULTED)
    request, reply, declared, disputed = await _ask_twice(state, turn)
    known = range(1, len(state.numbered) + 1)
    text, was_cut = without_loop(plain_prose(reply.message.text.strip(), known)), was_cut_off(reply.message)
    fault, is_listed = CUT_OFF if was_cut else "", is_small("researcher", turn.context)
    if known and not was_cut and not cited_numbers(text, known):
        shown = known_from(results_in(await turn.pages.fill_in(results_in_order(state.notes))))
        text = await asyncio.to_thread(with_found_citations, text, shown)
        # Small models that cite nothing do not cite when asked again either.
        if not is_listed and not cited_numbers(text, known):
            text = await ask_to_cite(request, text, known, turn.context, turn.events)
        # Figures without a source are of no use, unless they belong to what was looked for and is missing.
        is_useless = is_listed or any(states_figures(one.text) for one in units_of(text, {}))
        if is_useless and not (cited_numbers(text, known) or state.missing or declared):
            text, fault = await _quoted(request, turn), UNCITED
            if not cited_numbers(text, known):
                raise ModelFailed(UNCITED)
    if is_listed and not fault and cited_numbers(text, known):
        text = with_other_sources(text, await _quoted(request, turn), known)
    cited = [state.numbered[number - 1] for number in cited_numbers(text, known)]
    documents = [document(state.sources[key]) for key in cited]
    turn.emit(FindingCitedDocuments(placement=turn.tab, cited_docs=documents), SectionEnd(placement=turn.tab))
    return Finding(
        **assignment_of(state.task),
        text=text,
        sources=tuple(state.numbered),
        ended="partial" if fault else state.ended or "done",
        reason=state.reason or fault,
        missing=state.missing or declared,
        contradictions=state.contradictions or disputed,
        failures=tuple(state.failures),
        withheld=count_withheld(state.notes) + len(reply.refused),
        seconds=turn.seconds,
        actions=tuple(state.actions),
    )


async def _quoted(request: Request, turn: BranchTurn[FindingEvents]) -> str:
    """Return the finding as the model that quotes writes it."""
    context = with_model("researcher", EXTRACTIVE, turn.context)
    return (await write_silently(request, context, turn.events)).text


async def _ask_twice(
    state: ResearcherState, turn: BranchTurn[FindingEvents]
) -> tuple[Request, Reply, tuple[str, ...], tuple[ConflictingClaims, ...]]:
    """Return the request, the finding, and what it declares missing and disputed by a call beside its text.

    An empty one is requested again, as text alone.
    """
    declared, disputed = tuple[str, ...](), tuple[ConflictingClaims, ...]()
    for again in (False, True):
        request = await _request(state, turn, again)
        reply = await ask_for_prose(request, turn.context, turn.events)
        for call in reply.message.tool_calls[:1]:
            declared = missing_in(call["args"]) or declared
            disputed = contradictions_in(call["args"], state.numbered) or disputed
        if reply.message.text.strip():
            return request, reply, declared, disputed
    raise ModelFailed("its model wrote nothing")


async def _request(state: ResearcherState, turn: BranchTurn[FindingEvents], again: bool) -> Request:
    task, context = state.task, turn.context
    notes = shrunk(await turn.pages.fill_in(results_in_order(state.notes)), max(state.shrunk, default=0), task.text)
    can_declare = not (again or is_small("researcher", context))
    may_declare = can_declare and not researcher_tools(context, has_read_all=task.scope.reads_all)
    reminder = render(
        "write_finding",
        "reminder",
        task=task.text,
        language=task.language,
        reason=state.reason,
        again=again,
        may_declare=may_declare,
        is_small=is_small("researcher", context),
    )
    messages = [*researcher_conversation(task, context, notes), HumanMessage(reminder)]
    return Request(
        "researcher",
        task.question_id,
        messages,
        shortener(task.text),
        researcher_schemas(task, context),
        tool_choice="auto" if may_declare else "none",
        max_tokens=context.limits.finding_tokens,
        facts=facts_of_researcher(state, notes),
        is_long=True,
    )
