"""Finds passages that answer a small question: with one round of all search tools, or in the thread's sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from langchain_core.messages import ToolMessage

from ..core.evidence.memory.observations import gap_of
from ..core.records.plan import Learning, PlanStep
from ..core.records.research import Ending, Finding
from ..core.records.sources import Source
from ..core.run.branches import StepState, assignment_of
from ..core.run.context import Watch
from ..core.run.conversation import question_line, question_of
from ..core.run.decisions import PENDING
from ..core.run.events.call import document, step_failed
from ..core.run.events.packets import Activity, ResearchAgentStart
from ..core.run.transcripts import research_message
from ..core.writing.basis import SourcePassage, recalled_passages
from ..core.writing.steps import single_task
from ..core.writing.turn import NodeRuntime, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.addresses import addresses_in
from ..tools.excerpts import finding_packets
from ..tools.redaction import note_user
from ..tools.results import JOINT, Result, results_in
from ..tools.search_round import SearchRound

_LOOK_UP = "look-up"
"""Id of the step that represents the search."""
_SMALL = "A small question: answered from one search."
_QUICK = "Answered from one search."
_RECALLED = "Answered from what was read for earlier questions."
_PIECE = 2000
"""Maximum characters of a passage; longer texts, such as whole documents, are split at blank lines."""


async def look_up(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Make the best passages of one search, or of the thread's earlier sources, the only finding, without a model."""
    run, turn = state.run, await begin_turn(state, runtime)
    limits, placement = turn.context.limits, turn.placement
    said = question_of(state.messages)
    await note_user(turn.pages, state.messages, run)
    subject = question_line(said)
    searching = PlanStep(id=_LOOK_UP, title=subject, task=subject, requires_search=True)
    task = single_task(turn.state, searching, limits, cycle=0)
    queries = state.brief.queries[: limits.max_queries] or (task.text,)
    step = StepState([task], iteration=1, queries=queries, open_next=tuple(addresses_in(said)[: limits.max_open]))
    work = SearchRound(step, turn.context, turn.pages, turn.events, Watch(turn.context.clock, 0.0))
    searched = _SMALL if run.depth == "auto" else _QUICK
    begun = Activity(placement=placement, text=_RECALLED if run.is_recalled else searched, icon="lightbulb")
    turn.emit(begun, ResearchAgentStart(placement=placement, research_task=task.text))
    reason = ""
    if run.is_recalled:
        found = await recalled_passages(state, turn.pages, limits.pages_characters)
    else:
        async with turn.paid():
            reason = await work.do(is_only=True) or work.lasting_fault()
            results = results_in(await turn.pages.fill_in(work.notes))
        found = list(_passages(results, step, work, limits.pages_characters))
    sources = _numbered(found, {**state.sources, **work.sources})
    ended: Ending = "done"
    if reason:
        ended = "partial" if found else "failed"
    finding = Finding(
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
    cited = [document(source) for source in sources.values()]
    failures = [step_failed(placement, failure) for failure in work.failures]
    turn.emit(*failures, *finding_packets(placement, finding, cited))
    gap = gap_of(task.text, run.id, 0, task.id, about=task.text)
    # The thread already has the learnings of recalled passages.
    new = [] if run.is_recalled else found
    learnings = [Learning(text=text, source=key, step=task.step.id, question_id=run.id) for key, text in new]
    return {
        **turn.update(),
        "transcript": [[research_message([(task.id, task.text)]), ToolMessage(PENDING, tool_call_id=task.id)]],
        "findings": {finding.id: finding},
        "sources": {**work.sources, **sources},
        "learnings": {learning.id: learning for learning in learnings},
        "memory": {} if found else {gap.key: gap},
    }


def _passages(results: Sequence[Result], step: StepState, work: SearchRound, most: int) -> Iterator[SourcePassage]:
    """Yield passages of the results, best first, with at most `most` characters in total; see `_pieces`."""
    keys = [*step.keys, *work.new]
    for result in results:
        for text in (piece for shown in result["text"].split(JOINT) for piece in _pieces(shown)):
            most -= len(text)
            if most < 0:
                return
            yield SourcePassage(keys[result["document"] - 1], text)


def _pieces(text: str) -> Iterator[str]:
    """Split a text at blank lines into pieces of at most `_PIECE` characters; a longer paragraph stays whole."""
    piece = ""
    for block in filter(None, (block.strip("\n") for block in text.split("\n\n"))):
        if piece and len(piece) + len(block) > _PIECE:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{block}" if piece else block
    if piece:
        yield piece


def _numbered(found: Sequence[SourcePassage], sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the passages' sources with their numbers in the thread, in the order of the passages."""
    numbered: dict[str, Source] = {}
    last = max((source.number for source in sources.values()), default=0)
    for key in dict.fromkeys(passage.key for passage in found):
        number = sources[key].number or last + 1
        last = max(last, number)
        numbered[key] = sources[key].model_copy(update={"number": number})
    return numbered


def _text(found: Sequence[SourcePassage], numbers: Mapping[str, int]) -> str:
    """Return the passages as text, each source's under a heading with its number."""
    groups = [(key, [passage.text for passage in group]) for key, group in groupby(found, lambda passage: passage.key)]
    return "\n\n".join("\n\n".join([f"Source [{numbers[key]}]:", *texts]) for key, texts in groups)
