"""Input of the report's writer: what the findings state, passages behind it, and the main message."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ...state import ResearchState
from ..evidence.checking.source_text import SourceText
from ..evidence.memory.learned import facts_of, fitting_learnings, thoughts
from ..evidence.memory.observations import insights, relevance
from ..evidence.text.similarity import grouped
from ..records.plan import Fact, Learning
from ..records.research import Finding
from ..records.sources import Source
from ..run.events.call import final_document
from ..run.events.packets import Placement, ReportFraming, Sources
from ..run.store.pages import Pages
from ..run.transcripts import CHARACTERS_PER_TOKEN, mark_withheld

_ANALYSIS = "Analysis, not a source:"
"""Line above the conclusions in the text of a finding."""
_EARLIER_ANALYSIS = "Earlier analysis, not a source; later findings may overrule it:"
"""Line above the conclusions in a finding for another question of the thread."""
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


def findings_for_writer(state: ResearchState, refused: Collection[str] = ()) -> dict[str, Finding]:
    """Return the thread's findings by id, with the texts that the writer is shown.

    Findings that the provider's filter refused are withheld (`refused`: their ids). A step's finding is left out if
    others state all of it.
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

    What several steps state is only in the text of the first; a text is empty if nothing is left. Findings of
    researchers, excerpts, withheld findings, and those of steps that learned nothing are left out.
    """
    steps = [finding for finding in findings if finding.lists_learnings and not finding.is_withheld]
    stated = {finding.id: state.stated_in(finding) for finding in steps}
    facts = facts_of(chain.from_iterable(stated.values()))
    noticed = insights(state.memory.values())
    concluded_before = set[str]()
    texts = dict[str, str]()
    for finding in steps:
        own = {learning.id for learning in stated[finding.id]}
        new_facts = [fact for fact in facts if fact.learnings[0].id in own]
        lines = [_cited_line(fact, state.sources) for fact in new_facts if fact.sources]
        conclusions = [fact.text for fact in new_facts if not fact.sources]
        # Insights that several steps have in common rest on learnings of each.
        conclusions += [insight.text for insight in noticed if not own.isdisjoint(insight.learnings)]
        new = [text for text in dict.fromkeys(conclusions) if text not in concluded_before]
        if new:
            is_current = finding.question_id == state.run.id
            lines += [_ANALYSIS if is_current else _EARLIER_ANALYSIS, *new]
            concluded_before.update(new)
        if own:
            texts[finding.id] = "\n".join(lines)
    return texts


def has_conclusions(state: ResearchState) -> bool:
    """Whether the thread has conclusions without a source: of a plan's analyses, or insights."""
    is_any_thought = any(not learning.source for learning in state.learnings.values())
    return is_any_thought or any(noted.kind == "insight" for noted in state.memory.values())


def states_anything(state: ResearchState, finding: Finding) -> bool:
    """Whether a finding has anything to write about: text, or at least one learning if it is a step's."""
    if finding.is_withheld or not finding.text:
        return False
    return not finding.lists_learnings or bool(state.stated_in(finding))


def _cited_line(fact: Fact, sources: Mapping[str, Source]) -> str:
    """Return a fact with its sources' numbers in the thread."""
    numbers = ", ".join(str(sources[key].number) for key in fact.sources)
    return f"{fact.text} [{numbers}]"


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
