"""What stands behind each sentence of a report: the passages of its sources, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...audit import CitedPassage, ClaimCheck, ClaimVerdict
from ...evidence.citations.fragments import link_to
from ...evidence.citations.rendering import shown_title
from ...evidence.text.sentences import sentences_of
from ...knowledge import Source
from .finished import Finished
from .markup import plain_words


class Quote(NamedTuple):
    """A sentence of the report and what one source says of it."""

    claim: int
    """Number of the sentence among those that were checked, from 0."""
    sentence: str
    """Its words."""
    number: int
    """Number of the source; 0 if the sentence cites none."""
    title: str
    """Title of the source."""
    link: str
    """Where the source opens, at the quote if possible; empty if nowhere."""
    read_at: str
    """Day on which the source was read (ISO 8601); empty if it was not."""
    verdict: ClaimVerdict
    """That of the sentence, by all its sources together."""
    passage: CitedPassage | None
    """The passage; none if the sentence cites none."""

    @property
    def words(self) -> str:
        """The passage; empty if there is none."""
        return self.passage.quote if self.passage else ""

    @property
    def page(self) -> int:
        """Page of the source on which the passage begins; 0 if that is not known."""
        return self.passage.page if self.passage else 0

    @property
    def judge(self) -> str:
        """The model that gave the verdict; empty if rules did, or if there is no passage."""
        return self.passage.judge if self.passage else ""


def quotes_of(finished: Finished) -> list[Quote]:
    """All sentences that were checked with their passages, in the order of the report."""
    report = finished.report
    numbers = {key: number for number, key in enumerate(report.sources, 1)}
    quotes: list[Quote] = []
    for place, claim in enumerate(report.claims):
        words = sentence_words(report.text[claim.start : claim.end])
        known = [passage for passage in claim.passages if passage.source in numbers]
        for passage in known:
            number = numbers[passage.source]
            quotes.append(_quote(place, words, number, finished.cited[number - 1], claim, passage))
        if not known:
            quotes.append(Quote(place, words, 0, "", "", "", claim.verdict, None))
    return quotes


def sentence_words(markdown: str) -> str:
    """The words of a sentence of the report, also of a row of a table: no markers, no markup."""
    words = " ".join(plain_words(sentence.text) for sentence in sentences_of(markdown))
    return " · ".join(cell.strip() for cell in words.split("|") if cell.strip())


def places_of(quotes: Sequence[Quote]) -> Mapping[tuple[int, int], int]:
    """Where the quote of a source (its number) for a sentence (its number) stands among the quotes."""
    return {(quote.number, quote.claim): place for place, quote in enumerate(quotes)}


def _quote(place: int, words: str, number: int, source: Source, claim: ClaimCheck, passage: CitedPassage) -> Quote:
    link = link_to(source, passage.quote, passage.page)
    return Quote(place, words, number, shown_title(source), link, source.read_at[:10], claim.verdict, passage)
