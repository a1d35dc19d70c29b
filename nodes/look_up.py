"""Finds the passages that a small question is answered from: by one round of every search tool, or in what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langgraph.runtime import Runtime

from ..core.evidence.memory.observations import gap_of
from ..core.records.plan import Learning, PlanStep
from ..core.records.research import Ending, Finding
from ..core.records.sources import Source
from ..core.run import tool_names
from ..core.run.branches import StepState, StepTask, assignment_of
from ..core.run.context import Context, Watch
from ..core.run.conversation import question_of, subject_of
from ..core.run.decisions import PENDING
from ..core.run.events.call import document, step_failed
from ..core.run.events.packets import Activity, ResearchAgentStart
from ..core.run.limits import Limits
from ..core.run.spending import terms
from ..core.writing.passages import SourcePassage, recalled_passages
from ..core.writing.turn import begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.addresses import Addresses, addresses_in
from ..tools.excerpts import finding_packets
from ..tools.results import JOINT, Result, results_in
from ..tools.search_round import SearchRound
from ..tools.shown import note_user

LOOK_UP = "look-up"
"""Id of the step that stands for the only search."""
SMALL = "A small question: answered from one search."
QUICK = "Answered from one search."
RECALLED = "Answered from what was read for earlier questions."
PIECE = 2000
"""Characters of a passage; a longer one, as of a document that is read whole, is cut at a blank line."""


async def look_up(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Keep the best passages of one search, or of what the thread has read; no model is asked."""
    run, turn = state.run, await begin_turn(state, runtime)
    limits, place = turn.context.limits, turn.place
    said = question_of(state.messages)
    addresses = addresses_in(said)[: limits.max_open]
    await Addresses(turn.pages, run.id).allow(addresses)
    await note_user(turn.pages, state.messages, run)
    task = _task(turn.state, limits, said)
    queries = state.brief.queries[: limits.max_queries] or (task.text,)
    step = StepState([task], iteration=1, queries=queries, open_next=tuple(addresses))
    work = SearchRound(step, turn.context, turn.pages, turn.events.bill, turn.emitter, Watch(turn.context.clock, 0.0))
    words = RECALLED if run.is_recalled else SMALL if run.depth == "auto" else QUICK
    begun = Activity(placement=place, text=words, icon="lightbulb")
    turn.emit(begun, ResearchAgentStart(placement=place, research_task=task.text))
    reason = ""
    if run.is_recalled:
        found = await recalled_passages(run.question, state, turn.pages, limits.pages_characters)
    else:
        async with turn.paid():
            reason = await work.do(is_only=True) or work.lasting_fault()
            results = results_in(await turn.pages.fill_in(work.notes))
        found = list(_passages(results, step, work, limits.pages_characters))
    sources = _numbered(found, {**state.sources, **work.sources})
    finding = _finding(task, found, sources, work, reason)
    cited = [document(one) for one in sources.values()]
    turn.emit(*(step_failed(place, failure) for failure in work.failures), *finding_packets(place, finding, cited))
    call = tool_call(name=tool_names.RESEARCH_AGENT, args={"task": task.text}, id=task.id)
    gap = gap_of(task.text, run.id, 0, task.id, about=task.text)
    # What was read before is known to the thread already.
    new = [] if run.is_recalled else found
    learnings = [Learning(text=one.text, source=one.key, step=task.step.id, question_id=run.id) for one in new]
    return {
        **turn.update(),
        "transcript": [[AIMessage("", tool_calls=[call]), ToolMessage(PENDING, tool_call_id=task.id)]],
        "findings": {finding.id: finding},
        "sources": {**work.sources, **sources},
        "learnings": {one.id: one for one in learnings},
        "memory": {} if found else {gap.key: gap},
    }


def _task(state: ResearchState, limits: Limits, said: str) -> StepTask:
    """Return the search as the task of a step."""
    run, subject = state.run, subject_of(said)
    return StepTask(
        id=f"{run.id[:8]}-{LOOK_UP}",
        question=run.question,
        text=subject,
        cycle=0,
        position=0,
        turn=state.progress.turn,
        step=PlanStep(id=LOOK_UP, title=subject, task=subject, requires_search=True),
        **{**terms(run, limits, state.spending, 1), "seconds": limits.max_seconds_planned},
    )


def _passages(results: Sequence[Result], step: StepState, work: SearchRound, most: int) -> Iterator[SourcePassage]:
    """Yield the passages of results, the best first, up to so many characters."""
    keys = [*step.keys, *work.new]
    for result in results:
        for text in (piece for shown in result["text"].split(JOINT) for piece in _pieces(shown)):
            most -= len(text)
            if most < 0:
                return
            yield SourcePassage(keys[result["document"] - 1], text)


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for block in filter(None, (block.strip("\n") for block in text.split("\n\n"))):
        if piece and len(piece) + len(block) > PIECE:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{block}" if piece else block
    if piece:
        yield piece


def _numbered(found: Sequence[SourcePassage], sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the sources of the passages with their numbers in the thread, in the order of the passages."""
    numbered: dict[str, Source] = {}
    last = max((source.number for source in sources.values()), default=0)
    for key in dict.fromkeys(one.key for one in found):
        number = sources[key].number or last + 1
        last = max(last, number)
        numbered[key] = sources[key].model_copy(update={"number": number})
    return numbered


def _finding(
    task: StepTask, found: Sequence[SourcePassage], sources: Mapping[str, Source], work: SearchRound, reason: str
) -> Finding:
    """Return the passages as a finding; `reason` says why the search was not carried out to its end."""
    ended: Ending = "done"
    if reason:
        ended = "partial" if found else "failed"
    return Finding(
        **assignment_of(task),
        text=_text(found, {key: number for number, key in enumerate(sources, 1)}),
        numbered=_text(found, {key: source.number for key, source in sources.items()}),
        is_excerpt=True,
        sources=tuple(sources),
        ended=ended,
        reason=reason,
        failures=tuple(work.failures),
        seconds=work.watch.seconds,
        actions=tuple(work.actions),
    )


def _text(found: Sequence[SourcePassage], numbers: Mapping[str, int]) -> str:
    """Return the passages source by source; what is written in brackets within them is left as it stands."""
    groups = [(key, [one.text for one in group]) for key, group in groupby(found, lambda one: one.key)]
    return "\n\n".join("\n\n".join([f"Source [{numbers[key]}]:", *texts]) for key, texts in groups)
