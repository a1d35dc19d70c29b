"""What a report is written from: findings, sources and open points, as models are shown them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlsplit

from ...prompts import fence
from ...state import ResearchState
from ..dialogue.conversation import Conversation
from ..dialogue.transcripts import CHARACTERS_PER_TOKEN, mark_withheld
from ..evidence.checking.calculator import Calculator, answer_on
from ..evidence.checking.proof import Known
from ..evidence.checking.source_text import SourceText
from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.memory.learned import facts_of
from ..evidence.memory.observations import ResearchMemory, ThreadDisputes
from ..evidence.text.sentences import cited_sentences
from ..evidence.text.similarity import grouped, is_same_statement
from ..evidence.text.words import tokens
from ..records.plan import Fact, Learning
from ..records.report import ClaimCheck
from ..records.research import Calculation, Finding
from ..records.sources import Dispute, Source
from ..settings.context import Context
from ..store.pages import Pages
from ._outline import Outline
from ._source_passages import fitting_passages
from .notes import missing_of

_ANALYSIS = "Analysis, not a source:"
"""Line above the conclusions in the text of a finding."""
_EARLIER_ANALYSIS = "Earlier analysis, not a source; later findings may overrule it:"
"""Line above the conclusions in a finding for another question of the thread."""
_PASSAGES_TOKENS = 12_000
"""Maximum length of all passages, in tokens."""
_PASSAGES_SHARE = 0.25
"""Maximum share of the writer's context window for all passages."""
_RECALLED_PER_SOURCE = 4
"""Maximum number of passages per source for a follow-up question."""
_EXTENTS = {
    "part": "read in part",
    "excerpt": "only a search excerpt was read",
    "not opened": "could not be opened, only a search excerpt was read",
}
_TITLE = 100
"""Maximum characters of a source's title."""
_TEXTS_AT_ONCE = 50
"""Number of texts that are read from the store at once."""


class SourcePassage(NamedTuple):
    """A passage of a source."""

    key: str
    """Key of the source."""
    text: str


class ReportBasis:
    """What a thread has found, as the models that write, extend and grade its report read it."""

    def __init__(self, state: ResearchState) -> None:
        self.state = state

    def findings(self, refused: Collection[str] = ()) -> dict[str, Finding]:
        """Return the thread's findings by id, with the texts that the writer is shown.

        Findings that the provider's filter refused are withheld (`refused`: their ids). A step's
        finding is left out if others state all of it.
        """
        known = self.state.findings
        findings = {**known, **mark_withheld(known, refused)}
        question_id = self.state.run.id
        # A fact that an earlier question has found too is shown with the current one's findings.
        own_first = sorted(findings.values(), key=lambda found: found.question_id != question_id)
        for finding_id, text in self.texts_of_steps(own_first).items():
            if text:
                changes = {"numbered": text}
                findings[finding_id] = findings[finding_id].model_copy(update=changes)
            else:
                del findings[finding_id]
        return findings

    def texts_of_steps(self, findings: Iterable[Finding]) -> dict[str, str]:
        """Return the texts of steps' findings by id: one cited fact per line, then the conclusions.

        What several steps state is only in the text of the first; a text is empty if nothing is
        left. Findings of researchers, excerpts, withheld findings, and those of steps that learned
        nothing are left out.
        """
        state = self.state
        stated = list[tuple[Finding, list[Learning]]]()
        all_learnings = list[Learning]()
        for finding in findings:
            if finding.lists_learnings and not finding.is_withheld:
                learnings = state.stated_in(finding)
                stated.append((finding, learnings))
                all_learnings += learnings
        facts = facts_of(all_learnings)
        noticed = ResearchMemory(state.memory.values()).insights()
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

    @property
    def has_conclusions(self) -> bool:
        """Whether the thread has conclusions without a source: of a plan's analyses, or
        insights.
        """
        for learning in self.state.learnings.values():
            if not learning.source:
                return True
        return any(noted.kind == "insight" for noted in self.state.memory.values())

    @property
    def has_unproved(self) -> bool:
        """Whether the thread has learnings whose sources lack their figures or names."""
        return any(learning.unproved for learning in self.state.learnings.values())

    def has_findings(self, refused: Collection[str]) -> bool:
        """Whether there is anything to write about besides findings that the provider's filter
        refused (`refused`: their ids).
        """
        known = self.state.findings
        findings = {**known, **mark_withheld(known, refused)}
        return any(map(self._states_anything, findings.values()))

    def _states_anything(self, finding: Finding) -> bool:
        """Whether a finding has anything to write about: text, or at least one learning if it is a
        step's.
        """
        if finding.is_withheld or not finding.text:
            return False
        return not finding.lists_learnings or bool(self.state.stated_in(finding))

    @property
    def missing(self) -> list[str]:
        """What the question asks for and nothing answers."""
        state = self.state
        return missing_of(state.run, state.findings.values(), state.memory.values())

    @property
    def earlier_gaps(self) -> list[str]:
        """Open questions that earlier questions of the thread have left."""
        gaps = list[str]()
        for gap in ResearchMemory(self.state.memory.values()).open_gaps():
            if gap.question_id != self.state.run.id:
                gaps.append(gap.text)
        return gaps

    @property
    def disputes(self) -> list[str]:
        """The disputes between the thread's sources, a line each."""
        numbers = self.state.numbers
        lines = list[str]()
        for dispute in ThreadDisputes(self.state).in_thread():
            lines.append(dispute_line(dispute, numbers))
        return lines

    @property
    def calculations(self) -> str:
        """Fenced text with a line on each calculation of the thread: number, name, formula, result,
        and where its inputs come from."""
        lines = list[str]()
        for calculation in self.state.calculations.values():
            lines.append(_with_inputs(calculation, self.state.numbers))
        return fence("\n".join(lines)) if lines else ""

    async def calculator(self, pages: Pages) -> Calculator:
        """Return the calculator for models that know the thread's sources by their numbers."""
        sources = dict[int, tuple[str, Known]]()
        texts = await self.texts(pages)
        for number, source in by_number(self.state.sources.values()).items():
            about = source.about
            sources[number] = source.key, Known(texts[source.key], about)
        requested = "\n".join(Conversation(self.state.messages).texts_of_user)
        return Calculator(sources, requested, self.state.calculations.values())

    @property
    def described_sources(self) -> str:
        """Fenced text with a line on each source that findings cite.

        A line has the source's title, date, kind and status.
        """
        state = self.state
        text = "\n".join(finding.numbered or "" for finding in state.findings.values())
        learned = {learning.source for learning in state.learnings.values()}
        numbered = by_number(state.sources.values())
        cited = set(cited_numbers(text, numbered))
        lines = list[str]()
        for number, source in sorted(numbered.items()):
            if number in cited or source.key in learned:
                lines.append(f"[{number}] {_description(source)}")
        return fence("\n".join(lines)) if lines else ""

    def known_findings(self, tokens: int) -> list[str]:
        """Return the texts of the question's findings, shortened to `tokens` in all."""
        findings = [finding for finding in self.state.own_findings if finding.text]
        room = tokens * CHARACTERS_PER_TOKEN // max(1, len(findings))
        shown = list[str]()
        for finding in findings:
            if finding.is_withheld:
                continue
            text = finding.numbered or finding.text
            if len(text) > room:
                text = cited_sentences(text, room / len(text))
            shown.append(text)
        return shown

    @property
    def not_found(self) -> list[str]:
        """What the question asks for and nothing answers, and what its researchers looked for in
        vain; of gaps that say nearly the same, or one of which has all words of the other, only
        the most precise one."""
        texts = self.missing
        for finding in self.state.own_findings:
            if finding.text:
                texts += finding.missing
        precise = list[str]()
        for text in dict.fromkeys(texts):
            if not any(covers_gap(other, text) for other in precise):
                precise = [other for other in precise if not covers_gap(text, other)]
                precise.append(text)
        return precise

    def outline(self, context: Context) -> Outline | None:
        """Return the outline that the user gives for the report; None if there is none that the
        report can follow."""
        return Outline.used(self.state.run, context)

    async def texts(
        self, pages: Pages, keys: Iterable[str] | None = None
    ) -> dict[str, list[SourceText]]:
        """Return the stored texts of sources, by default of the thread's numbered ones, by key.

        They are the text that was read, and excerpts from search results.
        """
        wanted = self.state.numbers if keys is None else keys
        return await source_texts(self.state.sources, wanted, pages)

    async def recalled_passages(self, pages: Pages, characters: int) -> list[SourcePassage]:
        """Return passages of the thread's numbered sources for the current question, a follow-up:
        those on its words, best source first, then those behind the claims of the thread's report.

        Their total length is at most `characters`; the latter have half of it, if they need that.
        The list is empty if no texts are stored.
        """
        base = self.state.base
        claims = base.claims if base else ()
        texts = await self.texts(pages)
        question = self.state.run.question
        return await asyncio.to_thread(_recalled_passages, question, claims, texts, characters)

    async def passages_on(self, words: str, pages: Pages, characters: int) -> list[SourcePassage]:
        """Return passages of the thread's numbered sources on these words, like
        `recalled_passages`."""
        return await asyncio.to_thread(_passages_on, words, await self.texts(pages), characters)

    async def deciding_passages(self, pages: Pages, window: int) -> str:
        """Return fenced JSON with the passages behind each source's learnings, and the source's
        number in the thread.

        They take at most a share of `window` (input tokens of the writer's model). Empty if no
        texts are stored or fit.
        """
        sources = self.state.sources
        learnings = list[Learning]()
        for learning in self.state.learnings.values():
            if learning.source and sources[learning.source].number:
                learnings.append(learning)
        by_source = grouped(learnings, lambda learning: learning.source)
        texts = await self.texts(pages, by_source)
        room = int(min(_PASSAGES_TOKENS, _PASSAGES_SHARE * window) * CHARACTERS_PER_TOKEN)
        return await asyncio.to_thread(fitting_passages, sources, by_source, texts, room)


def _cited_line(fact: Fact, sources: Mapping[str, Source]) -> str:
    """Return a fact with its sources' numbers in the thread, and what they lack."""
    numbers = ", ".join(str(sources[key].number) for key in fact.sources)
    return f"{fact.text} [{numbers}]{fact.remark}"


async def source_texts(
    sources: Mapping[str, Source], keys: Iterable[str], pages: Pages
) -> dict[str, list[SourceText]]:
    """Return the stored texts of sources by key: the text that was read, and excerpts from search
    results.
    """
    hashes = dict[str, list[str]]()
    for key in filter(None, keys):
        source = sources[key]
        own = dict.fromkeys((source.content_hash, *source.excerpts))
        hashes[key] = list(filter(None, own))
    wanted = list(dict.fromkeys(chain.from_iterable(hashes.values())))
    stored = dict[str, str | None]()
    for start in range(0, len(wanted), _TEXTS_AT_ONCE):
        some = wanted[start : start + _TEXTS_AT_ONCE]
        stored.update(zip(some, await pages.texts(some), strict=True))
    texts = dict[str, list[SourceText]]()
    for key, own_hashes in hashes.items():
        texts[key] = []
        for content_hash in own_hashes:
            text = stored[content_hash]
            if text:
                texts[key].append(SourceText(content_hash, text))
    return texts


def _with_inputs(calculation: Calculation, numbers: Mapping[str, int]) -> str:
    """Return a calculation as a line of a prompt; `numbers` are those of sources, by key."""
    inputs = list[str]()
    for used in calculation.inputs:
        origin = ""
        if used.origin == "source" and used.source in numbers:
            origin = f"[{numbers[used.source]}]"
        elif used.origin == "request":
            origin = "(your request)"
        if origin:
            inputs.append(f"{used.value:.12g} {origin}")
    line = answer_on(calculation)
    if inputs:
        line += f"; {', '.join(dict.fromkeys(inputs))}"
    if calculation.found:
        line += f" (calculated anew for the user; the findings still have {calculation.found})"
    return line


def _description(source: Source) -> str:
    """Return a source's title, publisher, date, kind and status."""
    words = [source.title[:_TITLE]]
    if source.kind == "web":
        words.append(urlsplit(source.key).hostname or "")
        words.append(source.shown_publisher)
    kind = source.publisher_kind
    if kind == "own":
        words.append("the user's document")
    elif kind != "other":
        words.append(kind)
    words.append(f"{source.date_words} {source.date}".strip())
    if source.period:
        words.append(f"on {source.period}")
    if source.is_retracted:
        words.append("retracted")
    elif source.has_concern:
        words.append("expression of concern by its publisher")
    if source.superseded_by:
        words.append("superseded")
    if source.is_draft:
        words.append("draft")
    if source.in_force_from:
        words.append(f"in force from {source.in_force_from}")
    words.append(_EXTENTS.get(source.extent, ""))
    return "; ".join(filter(None, words))


def _recalled_passages(
    question: str,
    claims: Iterable[ClaimCheck],
    texts: Mapping[str, Sequence[SourceText]],
    characters: int,
) -> list[SourcePassage]:
    """Return passages on a question, then those behind claims, of at most `characters` in all."""
    length = sum(len(passage.text) for passage in _passages_behind(claims, texts))
    passages = _passages_on(question, texts, characters - min(length, characters // 2))
    shown = "\n".join(passage.text for passage in passages)
    characters_left = characters - len(shown)
    for passage in _passages_behind(claims, texts, shown):
        characters_left -= len(passage.text)
        if characters_left < 0:
            break
        passages.append(passage)
    return passages


def _passages_behind(
    claims: Iterable[ClaimCheck], texts: Mapping[str, Sequence[SourceText]], shown: str = ""
) -> list[SourcePassage]:
    """Return the passages of sources that claims rest on, source by source, without those that are
    in `shown`."""
    by_text: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for claim in claims:
        for cited in claim.passages:
            spans = by_text.setdefault((cited.source, cited.content_hash), [])
            spans.append((cited.start, cited.end))
    passages = list[SourcePassage]()
    for (key, content_hash), spans in by_text.items():
        for text in texts.get(key, ()):
            if text.content_hash != content_hash:
                continue
            numbers = list[int]()
            for start, end in spans:
                numbers += text.windows.within(start, end)
            unseen = list[int]()
            for number in numbers:
                window = text.windows.windows[number]
                if text.text[window.start : window.end] not in shown:
                    unseen.append(number)
            passages += [SourcePassage(key, words) for words in text.windows.texts(unseen)]
    return passages


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


def covers_gap(text: str, other: str) -> bool:
    """Whether a text names the same gap as another one, in nearly the same words or with more."""
    return set(tokens(other)).issubset(tokens(text)) or is_same_statement(text, other)


def dispute_line(dispute: Dispute, numbers: Mapping[str, int]) -> str:
    """Return a dispute as a line of a prompt; `numbers`: numbers of sources in the thread, by key.

    Titles of sources are left out, since they may say anything.
    """
    shown = list[str]()
    for side in dispute.sides:
        words = f"{side.text} [{numbers.get(side.source, 0)}]"
        if side.date:
            words += f" ({side.date})"
        shown.append(words)
    line = f"- {' – but: '.join(shown)}"
    if dispute.is_resolved:
        return f"{line}; resolved: {dispute.resolution}"
    if dispute.newer:
        line += f"; open, [{numbers.get(dispute.newer, 0)}] is newer"
    else:
        line += "; open"
    return line
