"""Finds passages that answer a small question, in one search or the thread's sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..core.dialogue.conversation import Conversation, question_line
from ..core.dialogue.transcripts import Transcript
from ..core.events.blocks import ResearcherPackets, StepPackets
from ..core.events.packets import Activity
from ..core.reading.addresses import addresses_in
from ..core.records.plan import Learning, Observation, PlanStep
from ..core.records.research import Ending, Finding
from ..core.records.sources import Source
from ..core.settings.context import Watch
from ..core.writing.basis import SourcePassage
from ..state import ResearchState, StateUpdate, StepState
from ..tools.results import JOINT, Result, results_in
from ..tools.use import SearchRound
from .turn import NodeRuntime, Turn, begin_turn

_LOOK_UP = "look-up"
"""Id of the step that represents the search."""
_SMALL = "A small question: answered from one search."
_QUICK = "Answered from one search."
_RECALLED = "Answered from what was read for earlier questions."
_PIECE = 2000
"""Maximum characters of a passage; longer texts, such as whole documents, are split at blank
lines."""


async def look_up(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Make the best passages of one search the only finding, without a model.

    Instead of a search, they may come from the thread's earlier sources.
    """
    turn = await begin_turn(state, runtime)
    run = turn.state.run
    limits = turn.context.limits
    placement = turn.placement
    await turn.note_user()
    step = _step(turn)
    task = step.task
    work = SearchRound(step, turn.context, turn.pages, turn.events, Watch(turn.context.clock, 0.0))
    description = _QUICK
    if run.is_recalled:
        description = _RECALLED
    elif run.depth == "auto":
        description = _SMALL
    turn.emit(
        Activity(placement=placement, text=description, icon="lightbulb"),
        ResearcherPackets(placement).start(task.text),
    )
    reason = ""
    if run.is_recalled:
        passages = await turn.basis.recalled_passages(turn.pages, limits.pages_characters)
    else:
        async with turn.paid():
            reason = await work.do(is_only=True) or work.lasting_fault()
            results = results_in(await turn.pages.fill_in(work.notes))
        keys = [*step.keys, *work.new]
        passages = _first_passages(results, keys, limits.pages_characters)
    sources = _numbered(passages, {**turn.all_sources, **work.sources})
    own_numbers = {key: number for number, key in enumerate(sources, 1)}
    thread_numbers = {key: source.number for key, source in sources.items()}
    ended: Ending = "done"
    if reason:
        ended = "partial" if passages else "failed"
    finding = Finding(
        **task.assignment,
        text=_text(passages, own_numbers),
        numbered=_text(passages, thread_numbers),
        is_excerpt=True,
        sources=tuple(sources),
        ended=ended,
        reason=reason,
        failures=tuple(work.failures),
        seconds=work.watch.seconds,
        actions=tuple(work.actions),
    )
    for failure in work.failures:
        turn.emit(StepPackets(placement).failure(failure))
    turn.emit(*ResearcherPackets(placement).finding(finding.text, sources.values()))
    learnings = dict[str, Learning]()
    # The thread already has the learnings of recalled passages.
    if not run.is_recalled:
        for key, text in passages:
            learning = Learning(text=text, source=key, step=task.step.id, question_id=run.id)
            learnings[learning.id] = learning
    memory = dict[str, Observation]()
    if not passages:
        gap = Observation.of_gap(task.text, run.id, 0, task.id)
        memory[gap.key] = gap
    return {
        **turn.update(),
        "transcript": [Transcript.pending([(task.id, task.text)])],
        "findings": {finding.id: finding},
        "sources": {**work.sources, **sources},
        "learnings": learnings,
        "memory": memory,
    }


def _step(turn: Turn) -> StepState:
    """Return the search as a step of a plan, with its queries and the pages to open."""
    limits = turn.context.limits
    question = Conversation(turn.state.messages).question
    subject = question_line(question)
    searching = PlanStep(id=_LOOK_UP, title=subject, task=subject, requires_search=True)
    task = turn.single_task(searching, cycle=0)
    queries = turn.state.brief.queries[: limits.max_queries] or (task.text,)
    addresses = tuple(addresses_in(question)[: limits.max_open])
    return StepState([task], iteration=1, queries=queries, open_next=addresses, opens_best=True)


def _first_passages(
    results: Iterable[Result], keys: Sequence[str], max_characters: int
) -> list[SourcePassage]:
    """Return passages of the results, best first, with at most `max_characters` in total.

    `keys` are those of the sources, by their numbers from 1; for the passages, see `_pieces`.
    """
    passages = list[SourcePassage]()
    characters_left = max_characters
    for result in results:
        key = keys[result["document"] - 1]
        for shown in result["text"].split(JOINT):
            for text in _pieces(shown):
                characters_left -= len(text)
                if characters_left < 0:
                    return passages
                passages.append(SourcePassage(key, text))
    return passages


def _pieces(text: str) -> Iterator[str]:
    """Split a text at blank lines into pieces of at most `_PIECE` characters.

    A longer paragraph stays whole.
    """
    piece = ""
    for part in text.split("\n\n"):
        block = part.strip("\n")
        if not block:
            continue
        if piece and len(piece) + len(block) > _PIECE:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{block}" if piece else block
    if piece:
        yield piece


def _numbered(
    passages: Iterable[SourcePassage], sources: Mapping[str, Source]
) -> dict[str, Source]:
    """Return the passages' sources with their numbers in the thread, in the passages' order."""
    numbered: dict[str, Source] = {}
    last = 0
    for source in sources.values():
        last = max(last, source.number)
    for passage in passages:
        source = sources[passage.key]
        if passage.key in numbered:
            continue
        number = source.number or last + 1
        last = max(last, number)
        numbered[passage.key] = source.model_copy(update={"number": number})
    return numbered


def _text(passages: Iterable[SourcePassage], numbers: Mapping[str, int]) -> str:
    """Return the passages as text, each source's under a heading with its number."""
    lines = list[str]()
    key_above = ""
    for passage in passages:
        if passage.key != key_above:
            lines.append(f"Source [{numbers[passage.key]}]:")
            key_above = passage.key
        lines.append(passage.text)
    return "\n\n".join(lines)
