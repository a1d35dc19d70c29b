"""Input of the report's writer: learnings by source, passages behind them, and the main message."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from ...prompts import fenced_knowledge
from ...state import ResearchState
from ..evidence.checking.source_text import SourceText
from ..evidence.memory.learned import fitting_learnings, merged_by_source, thoughts
from ..evidence.memory.observations import WITHHELD_REASON, insights, relevance
from ..evidence.text.similarity import grouped
from ..records.plan import Learning, Observation
from ..records.sources import Source
from ..run import tool_names
from ..run.events.call import final_document
from ..run.events.packets import Placement, ReportFraming, Sources
from ..run.store.pages import Pages
from ..run.transcripts import CHARACTERS_PER_TOKEN, EARLIER, WITHHELD_NOTICE

_ANALYSIS = "analysis"
"""Id of the tool call whose result is the analysis."""
_MAIN_MESSAGE_TOKENS = 500
"""Token budget for choosing the most relevant learnings, the first of which replaces a missing main message."""
_PASSAGES_TOKENS = 12_000
"""Maximum length of all passages, in tokens."""
_PASSAGES_SHARE = 0.25
"""Maximum share of the writer's context window for all passages."""
_LEARNINGS_PER_SOURCE = (100, 12, 6, 3, 1)
"""Numbers of learnings per source to show passages for, tried in order until all passages fit."""
_RECALLED_PER_SOURCE = 4
"""Maximum number of passages per source for a follow-up question."""


def report_basis(state: ResearchState, refused: Collection[str]) -> list[AnyMessage]:
    """Return tool calls and their results: one for each source, in the order of numbers, and one for the analysis.

    Results that the provider's filter refused are withheld (`refused`: call ids).
    """
    results = [*_results(state)]
    if not results:
        return []
    calls = [
        tool_call(name=tool_names.RESEARCH_AGENT, args={"task": result.task}, id=result.call_id) for result in results
    ]
    texts = [(WITHHELD_NOTICE if result.call_id in refused else result.text, result.call_id) for result in results]
    return [
        # Marked calls may have their results shortened if the prompt does not fit.
        AIMessage("", tool_calls=calls, additional_kwargs={EARLIER: True}),
        *(ToolMessage(text, tool_call_id=call_id) for text, call_id in texts),
    ]


def withheld_notes(state: ResearchState, refused: Collection[str]) -> list[str]:
    """Return notes for the reader on results that the provider's filter refused (`refused`: call ids)."""
    return [
        f"Found, but left out: {result.name}: {WITHHELD_REASON}."
        for result in _results(state)
        if result.call_id in refused
    ]


def _conclusions(learnings: Sequence[Learning], noticed: Iterable[Observation]) -> list[str]:
    """Return the texts of all learnings without a source, and of all insights."""
    return [*(thought.text for thought in thoughts(learnings)), *(insight.text for insight in insights(noticed))]


class _Result(NamedTuple):
    """What the writer is shown as the result of one research call."""

    call_id: str
    task: str
    """Name shown to the model; never a source's title, which might contain instructions."""
    name: str
    """Name shown to the reader."""
    text: str


def _results(state: ResearchState) -> Iterator[_Result]:
    """Yield what each source says, in the order of their numbers, and then the analysis if there is one."""
    learnings = list(state.learnings.values())
    merged = [(state.sources[key], facts) for key, facts in merged_by_source(learnings)]
    for source, facts in sorted(merged, key=lambda pair: pair[0].number):
        numbers = (", ".join(str(state.sources[key].number) for key in fact.sources) for fact in facts)
        text = "\n".join(f"{fact.text} [{cited}]" for fact, cited in zip(facts, numbers, strict=True))
        name = f"What source {source.number} says"
        yield _Result(f"source-{source.number}", name, f"What {source.title!r} says", text)
    own = list(dict.fromkeys(_conclusions(state.own_learnings, state.own_observations)))
    earlier = [text for text in dict.fromkeys(_conclusions(learnings, state.memory.values())) if text not in own]
    if own or earlier:
        lines = ["Analysis, not a source and without a number:", *own]
        if earlier:
            lines += ["Analysis for earlier questions, which what was found since may overrule:", *earlier]
        yield _Result(_ANALYSIS, "What follows from it", "What follows from it", "\n".join(lines))


def framing_packets(state: ResearchState, placement: Placement) -> list[ReportFraming | Sources]:
    """Return the packets with the report's main message, if anything was learned, and with all sources."""
    ordered = sorted(state.sources.values(), key=lambda source: (not source.number, source.number, source.key))
    documents = [final_document(source) for source in ordered]
    cited = [source.key for source in ordered if source.number]
    own, about = state.own_learnings, state.brief.summary
    # The last analysis's conclusions, else the insights, else the fact most relevant to the question.
    thought = thoughts(own)
    concluded = [conclusion.text for conclusion in thought if conclusion.step == thought[-1].step]
    if not concluded:
        noticed = [insight.text for insight in insights(state.own_observations)]
        concluded = sorted(noticed, key=lambda text: -relevance(text, about))
    if not concluded:
        concluded = [learning.text for learning in fitting_learnings([own], about, _MAIN_MESSAGE_TOKENS)[:1]]
    packets: list[ReportFraming | Sources] = []
    if concluded:
        message, *reasons = concluded
        packets.append(ReportFraming(placement=placement, main_message=message, reasoning=" ".join(reasons)))
    return [*packets, Sources(placement=placement, documents=documents, cited=cited)]


async def source_texts(sources: Mapping[str, Source], keys: Iterable[str], pages: Pages) -> dict[str, list[SourceText]]:
    """Return the stored texts of these sources by key: the text that was read, and excerpts from search results."""
    texts: dict[str, list[SourceText]] = {}
    for key in filter(None, dict.fromkeys(keys)):
        source = sources[key]
        hashes = dict.fromkeys(name for name in (source.content_hash, *source.excerpts) if name)
        texts[key] = [SourceText(name, text) for name in hashes if (text := await pages.text(name))]
    return texts


class SourcePassage(NamedTuple):
    """A passage of a source."""

    key: str
    """Key of the source."""
    text: str


async def recalled_passages(state: ResearchState, pages: Pages, characters: int) -> list[SourcePassage]:
    """Return passages of the thread's numbered sources for the current question, a follow-up, best source first.

    Their total length is at most `characters`. The list is empty if no texts are stored.
    """
    question = state.run.question
    texts = await source_texts(state.sources, state.numbers, pages)

    def find() -> list[SourcePassage]:
        windows = {key: own[0].windows for key, own in texts.items() if own}
        shares = {key: own.share(question) for key, own in windows.items()}
        found, left = list[SourcePassage](), characters
        for key in sorted((key for key in windows if shares[key]), key=lambda key: -shares[key]):
            for text in windows[key].shown(windows[key].best(question, _RECALLED_PER_SOURCE)):
                left -= len(text)
                if left < 0:
                    return found
                found.append(SourcePassage(key, text))
        return found

    return await asyncio.to_thread(find)


async def deciding_passages(state: ResearchState, pages: Pages, window: int) -> str:
    """Return fenced JSON with the passages behind each source's learnings, and the source's number in the thread.

    They take at most a share of `window` (input tokens of the writer's model). Empty if no texts are stored or fit.
    """
    cited = [learning for learning in state.learnings.values() if learning.source]
    learnings = [learning for learning in cited if state.sources[learning.source].number]
    texts = await source_texts(state.sources, (learning.source for learning in learnings), pages)
    room = int(min(_PASSAGES_TOKENS, _PASSAGES_SHARE * window) * CHARACTERS_PER_TOKEN)
    return await asyncio.to_thread(_fitting_passages, state, learnings, texts, room)


def _fitting_passages(
    state: ResearchState, learnings: Iterable[Learning], texts: Mapping[str, Sequence[SourceText]], room: int
) -> str:
    """Return the passages of as many learnings per source as fit into `room` characters, as fenced JSON."""
    by_source = grouped(learnings, lambda learning: learning.source)
    by_source = {key: own for key, own in by_source.items() if texts.get(key)}
    in_order = sorted(by_source, key=lambda key: state.sources[key].number)
    for most in _LEARNINGS_PER_SOURCE:
        shown = list[dict[str, Any]]()
        for key in in_order:
            # The best window for each learning, with adjacent windows joined.
            windows = texts[key][0].windows
            best = (number for learning in by_source[key][:most] for number in windows.best(learning.text, 1))
            shown.append({"source": state.sources[key].number, "passages": windows.shown(best)})
        text = fenced_knowledge(passages=shown)
        if len(text) <= room:
            return text
    return ""
