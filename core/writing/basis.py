"""What the writer of a planned research is shown: learnings by source, disagreements, the frame of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from ...state import ResearchState
from ..evidence.checking.source_text import SourceText
from ..evidence.memory.learned import fitting_learnings, merged_by_source, own_learnings, own_observations, thoughts
from ..evidence.memory.observations import WITHHELD, ConfirmedPair, confirmed_contradictions, insights, relevance
from ..evidence.text.sentences import sentences_of
from ..evidence.text.words import stems
from ..records.plan import Fact, Learning, Observation
from ..records.report import Report
from ..records.sources import Source
from ..run import tool_names
from ..run.events.call import final_document
from ..run.events.packets import Contradiction, ContradictionsFound, Placement, ReportFraming, Sources
from ..run.store.pages import Pages
from ..run.transcripts import EARLIER
from ..run.transcripts import WITHHELD as WITHHELD_RESULT

ANALYSIS = "analysis"
"""Id of the call whose result holds the thoughts."""
FIRST = 500
"""Tokens of what was learned, of which the best stands in for a conclusion."""


def report_basis(state: ResearchState, refused: Collection[str]) -> list[AnyMessage]:
    """Return a call and its result for each source in the order of their numbers, and one for all thoughts.

    Results that the provider's filter `refused` (ids of calls) are withheld.
    """
    results = {
        one.call_id: (one.task, WITHHELD_RESULT if one.call_id in refused else one.text) for one in _results(state)
    }
    if not results:
        return []
    calls = [
        tool_call(name=tool_names.RESEARCH_AGENT, args={"task": task}, id=call_id)
        for call_id, (task, _) in results.items()
    ]
    return [
        # The mark lets results be shortened where the prompt does not fit.
        AIMessage("", tool_calls=calls, additional_kwargs={EARLIER: True}),
        *(ToolMessage(text, tool_call_id=call_id) for call_id, (_, text) in results.items()),
    ]


def withheld_notes(state: ResearchState, refused: Collection[str]) -> list[str]:
    """Return notes for the reader on results that the provider's filter `refused` (ids of calls)."""
    return [f"Found, but left out: {one.name}: {WITHHELD}." for one in _results(state) if one.call_id in refused]


def _texts(learnings: Sequence[Learning], noticed: Iterable[Observation]) -> list[str]:
    return [*(thought.text for thought in thoughts(learnings)), *(insight.text for insight in insights(noticed))]


def _citation(state: ResearchState, fact: Fact) -> str:
    return f"[{', '.join(str(state.sources[key].number) for key in fact.sources)}]"


class _Result(NamedTuple):
    call_id: str
    task: str
    """What a model is told of it; never the title of a source, which might instruct it."""
    name: str
    """The same for a reader."""
    text: str


def _results(state: ResearchState) -> Iterator[_Result]:
    learnings = list(state.learnings.values())
    merged = [(state.sources[key], facts) for key, facts in merged_by_source(learnings)]
    for source, facts in sorted(merged, key=lambda pair: pair[0].number):
        number, lines = source.number, "\n".join(f"{fact.text} {_citation(state, fact)}" for fact in facts)
        yield _Result(f"source-{number}", f"What source {number} says", f"What {source.title!r} says", lines)
    own = list(dict.fromkeys(_texts(own_learnings(state), own_observations(state))))
    earlier = [text for text in dict.fromkeys(_texts(learnings, state.memory.values())) if text not in own]
    if own or earlier:
        head = "Analysis, not a source and without a number:"
        behind = (
            ["Analysis for earlier questions, which what was found since may overrule:", *earlier] if earlier else []
        )
        text = "\n".join([head, *own, *behind])
        yield _Result(ANALYSIS, "What follows from it", "What follows from it", text)


def framing_packets(state: ResearchState, place: Placement) -> list[ReportFraming | Sources]:
    """Return packets of the main message, unless nothing was learned, and of all sources that may be cited."""
    ordered = sorted(state.sources.values(), key=lambda source: (not source.number, source.number, source.key))
    documents = [final_document(source) for source in ordered]
    cited = [source.key for source in ordered if source.number]
    packets: list[ReportFraming | Sources] = []
    if concluded := _conclusions(state):
        message, *reasons = concluded
        packets.append(ReportFraming(placement=place, main_message=message, reasoning=" ".join(reasons)))
    return [*packets, Sources(placement=place, documents=documents, cited=cited)]


def _conclusions(state: ResearchState) -> list[str]:
    """Return the conclusions of the last analysis; else the insights, or the fact most relevant to the question."""
    own = own_learnings(state)
    thought = thoughts(own)
    if thought:
        return [one.text for one in thought if one.step == thought[-1].step]
    about = state.brief.summary
    noticed = sorted((one.text for one in insights(own_observations(state))), key=lambda text: -relevance(text, about))
    return noticed or [one.text for one in fitting_learnings([own], state.brief.summary, FIRST)[:1]]


def disagreement(state: ResearchState) -> list[ConfirmedPair]:
    """Return the confirmed contradictions of the present question."""
    return _confirmed(state, state.run.id)


def disagreement_in_thread(state: ResearchState) -> list[ConfirmedPair]:
    """Return the confirmed contradictions of all questions of the thread."""
    questions = dict.fromkeys(one.question_id for one in state.memory.values())
    return [pair for one in questions for pair in _confirmed(state, one)]


def _confirmed(state: ResearchState, question_id: str) -> list[ConfirmedPair]:
    return confirmed_contradictions(
        state.memory.values(), state.learnings, state.sources, question_id, were_checked=state.has_typed_plan
    )


def disagreement_with(state: ResearchState, text: str) -> list[ConfirmedPair]:
    """Return the contradictions that a report touches: a sentence of its text has half the words of a claim."""
    said = [set(stems(sentence.text)) for sentence in sentences_of(text)]

    def is_said(claim: str) -> bool:
        words = set(stems(claim))
        return any(2 * len(words & one) >= len(words) for one in said)

    return [pair for pair in disagreement(state) if any(map(is_said, pair.claims))]


def disagreement_of(state: ResearchState, report: Report) -> list[ConfirmedPair]:
    """Return what the sources of a report disagree on, by its check too."""
    if report.audit is None:
        return disagreement_with(state, report.text)
    return [
        ConfirmedPair(found.claims, (state.sources[found.sources[0]], state.sources[found.sources[1]]))
        for found in report.audit.disagreements
    ]


def disagreement_packets(pairs: list[ConfirmedPair], place: Placement) -> list[ContradictionsFound]:
    """Return the packet of these contradictions; nothing if there are none."""
    shown = [
        Contradiction(
            claim=pair.claims[0],
            document_id=pair.sources[0].key,
            other_claim=pair.claims[1],
            other_document_id=pair.sources[1].key,
            newer_document_id=pair.newer.key if pair.newer else "",
        )
        for pair in pairs
    ]
    return [ContradictionsFound(placement=place, contradictions=shown)] if shown else []


async def source_texts(sources: Mapping[str, Source], keys: Iterable[str], pages: Pages) -> dict[str, list[SourceText]]:
    """Return by key the text of each source, if it was read, and its excerpts in search results."""
    texts: dict[str, list[SourceText]] = {}
    for key in filter(None, keys):
        source = sources[key]
        hashes = dict.fromkeys(name for name in (source.content_hash, *source.excerpts) if name)
        kept = [(name, await pages.text(name)) for name in hashes]
        texts[key] = [SourceText(name, text) for name, text in kept if text]
    return texts
