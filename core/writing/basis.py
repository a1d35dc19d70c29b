"""Input of the report's writer: what findings state, passages behind it, the main message."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ...state import ResearchState
from ..dialogue.transcripts import CHARACTERS_PER_TOKEN, mark_withheld
from ..events.blocks import ReportPackets
from ..events.packets import Packet, Placement
from ..evidence.checking.source_text import SourceText
from ..evidence.memory.learned import facts_of, fitting_learnings, thoughts
from ..evidence.memory.observations import insights, relevance
from ..evidence.text.similarity import grouped
from ..records.plan import Fact, Learning
from ..records.research import Finding
from ..records.sources import Source
from ..store.pages import Pages

_ANALYSIS = "Analysis, not a source:"
"""Line above the conclusions in the text of a finding."""
_EARLIER_ANALYSIS = "Earlier analysis, not a source; later findings may overrule it:"
"""Line above the conclusions in a finding for another question of the thread."""
_MAIN_MESSAGE_TOKENS = 500
"""Token budget for choosing the most relevant learnings, the first of which replaces a missing main
message."""
_PASSAGES_TOKENS = 12_000
"""Maximum length of all passages, in tokens."""
_PASSAGES_SHARE = 0.25
"""Maximum share of the writer's context window for all passages."""
_LEARNINGS_PER_SOURCE = (100, 12, 6, 3, 1)
"""Numbers of learnings per source to show passages for, tried in order until all passages fit."""
_RECALLED_PER_SOURCE = 4
"""Maximum number of passages per source for a follow-up question."""


def findings_for_writer(state: ResearchState, refused: Collection[str] = ()) -> dict[str, Finding]:
    """Return the thread's findings by id, with the texts that the writer is shown.

    Findings that the provider's filter refused are withheld (`refused`: their ids). A step's
    finding is left out if others state all of it.
    """
    findings = {**state.findings, **mark_withheld(state.findings, refused)}
    # A fact that an earlier question has found too is shown with the current one's findings.
    own_first = sorted(findings.values(), key=lambda finding: finding.question_id != state.run.id)
    for finding_id, text in texts_of_steps(state, own_first).items():
        if text:
            findings[finding_id] = findings[finding_id].model_copy(update={"numbered": text})
        else:
            del findings[finding_id]
    return findings


def texts_of_steps(state: ResearchState, findings: Iterable[Finding]) -> dict[str, str]:
    """Return the texts of steps' findings by id: one cited fact per line, then the conclusions.

    What several steps state is only in the text of the first; a text is empty if nothing is left.
    Findings of researchers, excerpts, withheld findings, and those of steps that learned nothing
    are left out.
    """
    stated = list[tuple[Finding, list[Learning]]]()
    all_learnings = list[Learning]()
    for finding in findings:
        if finding.lists_learnings and not finding.is_withheld:
            learnings = state.stated_in(finding)
            stated.append((finding, learnings))
            all_learnings += learnings
    facts = facts_of(all_learnings)
    noticed = insights(state.memory.values())
    concluded = set[str]()
    texts = dict[str, str]()
    for finding, learnings in stated:
        if not learnings:
            continue
        own_ids = {learning.id for learning in learnings}
        lines = list[str]()
        conclusions = list[str]()
        for fact in facts:
            if fact.learnings[0].id not in own_ids:
                continue
            if fact.sources:
                lines.append(_cited_line(fact, state.sources))
            else:
                conclusions.append(fact.text)
        for insight in noticed:
            # Insights that several steps have in common rest on learnings of each.
            if not own_ids.isdisjoint(insight.learnings):
                conclusions.append(insight.text)
        new = [text for text in dict.fromkeys(conclusions) if text not in concluded]
        if new:
            is_current = finding.question_id == state.run.id
            lines += [_ANALYSIS if is_current else _EARLIER_ANALYSIS, *new]
            concluded.update(new)
        texts[finding.id] = "\n".join(lines)
    return texts


def has_conclusions(state: ResearchState) -> bool:
    """Whether the thread has conclusions without a source: of a plan's analyses, or insights."""
    if any(not learning.source for learning in state.learnings.values()):
        return True
    return any(noted.kind == "insight" for noted in state.memory.values())


def states_anything(state: ResearchState, finding: Finding) -> bool:
    """Whether a finding has anything to write about: text, or at least one learning if it is a
    step's.
    """
    if finding.is_withheld or not finding.text:
        return False
    return not finding.lists_learnings or bool(state.stated_in(finding))


def _cited_line(fact: Fact, sources: Mapping[str, Source]) -> str:
    """Return a fact with its sources' numbers in the thread."""
    numbers = ", ".join(str(sources[key].number) for key in fact.sources)
    return f"{fact.text} [{numbers}]"


def framing_packets(state: ResearchState, placement: Placement) -> list[Packet]:
    """Return the packets with the report's main message, if anything was learned, and with all
    sources.
    """
    packets: list[Packet] = []
    conclusions = _main_conclusions(state)
    if conclusions:
        message, *reasons = conclusions
        packets.append(ReportPackets(placement).framing(message, " ".join(reasons)))
    # Cited sources first.
    ordered = sorted(
        state.sources.values(),
        key=lambda source: (not source.number, source.number, source.key),
    )
    return [*packets, ReportPackets(placement).sources(ordered)]


def _main_conclusions(state: ResearchState) -> list[str]:
    """Return the texts from which the report's main message is made; empty if nothing was learned.

    They are the last analysis's conclusions, else the insights, else the fact most relevant to the
    question.
    """
    learnings = state.own_learnings
    about = state.brief.summary
    conclusions = thoughts(learnings)
    if conclusions:
        last_step = conclusions[-1].step
        return [conclusion.text for conclusion in conclusions if conclusion.step == last_step]
    noticed = [insight.text for insight in insights(state.own_observations)]
    if noticed:
        return sorted(noticed, key=lambda text: -relevance(text, about))
    relevant = fitting_learnings([learnings], about, _MAIN_MESSAGE_TOKENS)
    return [learning.text for learning in relevant[:1]]


async def source_texts(
    sources: Mapping[str, Source], keys: Iterable[str], pages: Pages
) -> dict[str, list[SourceText]]:
    """Return the stored texts of these sources by key.

    They are the text that was read, and excerpts from search results.
    """
    texts: dict[str, list[SourceText]] = {}
    for key in dict.fromkeys(keys):
        if not key:
            continue
        source = sources[key]
        texts[key] = []
        for content_hash in dict.fromkeys((source.content_hash, *source.excerpts)):
            if not content_hash:
                continue
            text = await pages.text(content_hash)
            if text:
                texts[key].append(SourceText(content_hash, text))
    return texts


class SourcePassage(NamedTuple):
    """A passage of a source."""

    key: str
    """Key of the source."""
    text: str


async def recalled_passages(
    state: ResearchState, pages: Pages, characters: int
) -> list[SourcePassage]:
    """Return passages of the thread's numbered sources for the current question, a follow-up, best
    source first.

    Their total length is at most `characters`. The list is empty if no texts are stored.
    """
    question = state.run.question
    texts = await source_texts(state.sources, state.numbers, pages)
    return await asyncio.to_thread(_passages_on, question, texts, characters)


def _passages_on(
    question: str, texts: Mapping[str, Sequence[SourceText]], characters: int
) -> list[SourcePassage]:
    """Return passages relevant to a question, best source first, of at most `characters` in all."""
    shares = dict[str, float]()
    for key, stored in texts.items():
        if not stored:
            continue
        share = stored[0].windows.share(question)
        if share:
            shares[key] = share
    passages = list[SourcePassage]()
    characters_left = characters
    for key in sorted(shares, key=lambda key: -shares[key]):
        windows = texts[key][0].windows
        for text in windows.shown(windows.best(question, _RECALLED_PER_SOURCE)):
            characters_left -= len(text)
            if characters_left < 0:
                return passages
            passages.append(SourcePassage(key, text))
    return passages


async def deciding_passages(state: ResearchState, pages: Pages, window: int) -> str:
    """Return fenced JSON with the passages behind each source's learnings, and the source's number
    in the thread.

    They take at most a share of `window` (input tokens of the writer's model). Empty if no texts
    are stored or fit.
    """
    learnings = list[Learning]()
    for learning in state.learnings.values():
        if learning.source and state.sources[learning.source].number:
            learnings.append(learning)
    by_source = grouped(learnings, lambda learning: learning.source)
    texts = await source_texts(state.sources, by_source, pages)
    room = int(min(_PASSAGES_TOKENS, _PASSAGES_SHARE * window) * CHARACTERS_PER_TOKEN)
    return await asyncio.to_thread(_fitting_passages, state, by_source, texts, room)


def _fitting_passages(
    state: ResearchState,
    learnings: Mapping[str, Sequence[Learning]],
    texts: Mapping[str, Sequence[SourceText]],
    room: int,
) -> str:
    """Return the passages of as many learnings per source as fit into `room` characters.

    `learnings` and `texts` are by source key; the passages are fenced JSON.
    """
    keys = [key for key in learnings if texts.get(key)]
    keys.sort(key=lambda key: state.sources[key].number)
    for most in _LEARNINGS_PER_SOURCE:
        shown = list[dict[str, Any]]()
        for key in keys:
            # The best window for each learning, with adjacent windows joined.
            windows = texts[key][0].windows
            best = list[int]()
            for learning in learnings[key][:most]:
                best += windows.best(learning.text, 1)
            shown.append({"source": state.sources[key].number, "passages": windows.shown(best)})
        text = fenced_knowledge(passages=shown)
        if len(text) <= room:
            return text
    return ""
