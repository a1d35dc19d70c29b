"""Writes down what a researcher found."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict, override

from ...core.evidence.citations.citing import cited_numbers
from ...core.evidence.text.continuation import Continuation, join_continuation
from ...core.models.ask import Reply, ask_model
from ...core.models.request import Request
from ...core.models.resolve import settings_of
from ...core.records.research import Finding, Spent
from ...core.run.branches import ResearcherState, assignment_of
from ...core.run.concurrency import Failed, attempt
from ...core.run.context import Context, Watch, within_scope
from ...core.run.errors import ModelFailed, RunFailed
from ...core.run.events.call import ProseEvents, document
from ...core.run.events.log import Emitter, emitter
from ...core.run.events.packets import FindingCitedDocuments, FindingDelta, FindingStart, Placement, SectionEnd
from ...core.run.spending import recorded
from ...core.run.store.pages import Pages, pages_of
from ...core.run.transcripts import broke_off, count_withheld, missing_in, results_in_order, was_cut_off
from ...core.writing.facts import facts_of_researcher
from ...core.writing.write import go_on
from ...prompts import render
from ...tools.excerpts import keep_excerpts
from ...tools.offer import researcher_conversation, researcher_schemas, researcher_tools
from ...tools.results import shortener, shrunk

NOTHING_CONSULTED = "it consulted no source"
CUT_OFF = "it was cut off at the output limit (finding_tokens)"


class WriteFindingUpdate(TypedDict):
    """What `write_finding` writes."""

    findings: dict[str, Finding]
    spending: dict[str, Spent]


class FindingEvents(ProseEvents):
    """Emits the finding; its words stand beside the researcher's iterations, not among them."""

    def __init__(self, emitter: Emitter, place: Placement, step: int) -> None:
        """Take the researcher's place and the number of its next step."""
        super().__init__(emitter, place.model_copy(update={"sub_turn_index": step}))
        self.place = place
        self._seam: Continuation | None = None

    @override
    def start(self) -> FindingStart:
        return FindingStart(placement=self.place)

    @override
    def pass_on(self, words: str) -> None:
        if new := self._seam.feed(words) if self._seam else words:
            self.emit(FindingDelta(placement=self.place, content=new))

    def begin_rest(self, text: str) -> None:
        """Begin a continuation of the text; what it repeats is not shown again."""
        self._seam = Continuation(text)

    def end_rest(self) -> None:
        """End the continuation."""
        seam, self._seam = self._seam, None
        if seam:
            self.pass_on(seam.finish())


async def write_finding(state: ResearcherState, runtime: Runtime[Context]) -> WriteFindingUpdate:
    """Have the finding written from the notes; if that fails, excerpts of them stand in for it."""
    task, context, pages = (
        state.task,
        within_scope(settings_of(runtime), state.task.scope),
        pages_of(runtime.store, state.task.question_id),
    )
    place = Placement(turn_index=task.turn, tab_index=task.position)
    events, watch = FindingEvents(emitter(task.question_id), place, state.step), Watch(context.clock, state.seconds)
    left = context.limits.researcher_seconds_hard - state.seconds
    booking = recorded(pages, task.question_id, events.bill, researcher=task.id)
    finding = await attempt(_finding(state, context, pages, events, watch), left, booking)
    if isinstance(finding, Failed):
        finding = await keep_excerpts(state, pages, emitter(task.question_id), finding.reason, watch.seconds)
    return {"findings": {task.id: finding}, "spending": events.bill.costs}


async def _finding(
    state: ResearcherState, context: Context, pages: Pages, events: FindingEvents, watch: Watch
) -> Finding:
    if state.ended == "failed" or not state.actions:
        # What a model writes without a source it has from memory.
        raise RunFailed(state.reason or NOTHING_CONSULTED)
    reply, declared = await _ask_twice(state, context, pages, events)
    text, was_cut = reply.message.text.strip(), was_cut_off(reply.message)
    cited = [state.numbered[number - 1] for number in cited_numbers(text, range(1, len(state.numbered) + 1))]
    documents = [document(state.sources[key]) for key in cited]
    events.emit(FindingCitedDocuments(placement=events.place, cited_docs=documents), SectionEnd(placement=events.place))
    return Finding(
        **assignment_of(state.task),
        text=text,
        sources=tuple(state.numbered),
        ended="partial" if was_cut else state.ended or "done",
        reason=state.reason or (CUT_OFF if was_cut else ""),
        missing=state.missing or declared,
        failures=tuple(state.failures),
        withheld=count_withheld(state.notes) + len(reply.refused),
        seconds=watch.seconds,
        actions=tuple(state.actions),
    )


def _declared(message: AIMessage) -> tuple[str, ...]:
    """Return what the finding declares missing, by a call beside its text."""
    return next((missing_in(call["args"]) or () for call in message.tool_calls), ())


async def _ask_twice(
    state: ResearcherState, context: Context, pages: Pages, events: FindingEvents
) -> tuple[Reply, tuple[str, ...]]:
    """Return the finding and what it declares missing; an empty one is requested once more, as text alone."""
    declared: tuple[str, ...] = ()
    for again in (False, True):
        reply = await _ask(state, context, pages, events, again)
        declared = _declared(reply.message) or declared
        if reply.message.text.strip():
            return reply, declared
    raise ModelFailed("its model wrote nothing")


async def _ask(state: ResearcherState, context: Context, pages: Pages, events: FindingEvents, again: bool) -> Reply:
    """Return one answer; one whose stream breaks is continued once."""
    task = state.task
    notes = shrunk(await pages.fill_in(results_in_order(state.notes)), max(state.shrunk, default=0), task.text)
    may_declare = not again and not researcher_tools(context, has_read_all=task.scope.reads_all)
    reminder = render(
        "write_finding",
        "reminder",
        task=task.text,
        language=task.language,
        reason=state.reason,
        again=again,
        may_declare=may_declare,
    )
    messages = [*researcher_conversation(task, context, notes), HumanMessage(reminder)]
    request = Request(
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
    begun = await ask_model(request._replace(keeps_broken=True), context, events)
    if not broke_off(begun.message):
        return begun
    text = begun.message.text
    events.begin_rest(text)
    rest = await ask_model(request._replace(messages=[*messages, *go_on(text)]), context, events)
    events.end_rest()
    whole = rest.message.model_copy(update={"content": join_continuation(text, rest.message.text)})
    return rest._replace(message=whole, refused=tuple({*begun.refused, *rest.refused}))
