"""Checks the sentences of a report against the texts of the sources that they cite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, get_args

from ..audit import CitedPassage, ClaimCheck, ClaimVerdict, SupportVerdict
from .citing import UNKNOWN
from .learned import plain_fact
from .pages import page_of
from .protected import settle_fences
from .refusal import refusals_in
from .sentences import LINE_MARK, Sentence, sentences_of
from .support import Evidence, check_claim, read_evidence
from .words import stems, tokens

NO_TEXT = "no text of the source is kept"
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s|[*_]{2}[^*_]+[*_]{2}\s*$)")
_RULE = re.compile(r"[\s|:=+*_-]*")
_FIGURE = re.compile(r"\d")
_FEWEST_WORDS = 3
_FEWEST_STEMS = 5
"""Words that carry meaning of a sentence that is looked for in the sources although it claims no figures."""
_CANDIDATES = 4
"""Sources that are looked at when others than the cited ones may support a sentence."""
_SHARE = 0.4
"""Share of a sentence's telling words that such a source must hold."""


class SourceText:
    """One text of a source, read only when a sentence is held against it."""

    def __init__(self, content_hash: str, text: str) -> None:
        self.content_hash = content_hash
        """SHA-256 (hex) under which the text is kept."""
        self.text = text
        """The text."""

    @cached_property
    def evidence(self) -> Evidence:
        """The text, read."""
        return read_evidence(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of its words that carry meaning."""
        return frozenset(stems(self.text))


class Claim(NamedTuple):
    """A sentence of a report that claims something."""

    sentence: Sentence
    text: str
    """Its words, without markers and what makes a list or a table."""
    sources: tuple[str, ...]
    """Keys of the sources that it cites."""


class Verifier:
    """Holds sentences against sources, each pair once; what was found out of a pair otherwise can be put in."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts` by the key of the source: its whole text, or what is known of it."""
        self._texts = texts
        self._passages: dict[tuple[str, str], CitedPassage] = {}

    def passage(self, claim: str, source: str) -> CitedPassage:
        """The best passage of a source for a sentence."""
        if (claim, source) not in self._passages:
            self._passages[claim, source] = self._found(claim, source)
        return self._passages[claim, source]

    def put(self, claim: str, passage: CitedPassage) -> None:
        """Take this passage and its verdict from now on."""
        self._passages[claim, passage.source] = passage

    def check(self, claim: Claim) -> ClaimCheck:
        """What there is for one sentence."""
        passages = tuple(self.passage(claim.text, source) for source in claim.sources)
        return ClaimCheck(
            start=claim.sentence.start,
            end=claim.sentence.end,
            verdict=self._verdict(claim.text, passages),
            passages=passages,
        )

    def elsewhere(self, claim: Claim) -> list[CitedPassage]:
        """Passages of other sources that support a sentence, the best first."""
        wanted = frozenset(stems(claim.text))
        shares = {
            key: max((len(wanted & text.stems) / len(wanted) for text in own), default=0.0)
            for key, own in self._texts.items()
            if wanted and key not in claim.sources
        }
        near = sorted((key for key, share in shares.items() if share >= _SHARE), key=lambda key: (-shares[key], key))
        found = [self.passage(claim.text, key) for key in near[:_CANDIDATES]]
        return sorted((one for one in found if one.verdict == "supported"), key=lambda one: (-one.score, one.source))

    def _found(self, claim: str, source: str) -> CitedPassage:
        checks = [(check_claim(claim, one.evidence), one) for one in self._texts.get(source, ())]
        if not checks:
            return CitedPassage(
                source=source,
                verdict="unsupported",
                score=0.0,
                quote="",
                start=0,
                end=0,
                content_hash="",
                reasons=(NO_TEXT,),
            )
        best, own = max(checks, key=lambda pair: pair[0].score)
        page = page_of(own.text, best.start)
        return CitedPassage(source=source, content_hash=own.content_hash, page=page, **best._asdict())

    def _verdict(self, claim: str, passages: Sequence[CitedPassage]) -> ClaimVerdict:
        """That of the best passage, or of all together where each has a part."""
        if not passages:
            return "uncited"
        verdicts: set[ClaimVerdict] = {one.verdict for one in passages}
        if len(passages) > 1 and "supported" not in verdicts:
            verdicts.add(check_claim(claim, "\n".join(one.quote for one in passages)).verdict)
        return next(verdict for verdict in get_args(SupportVerdict) if verdict in verdicts)


def claims_of(text: str, sources: Sequence[str]) -> list[Claim]:
    """The sentences of a report that cite something or state figures; `sources`: keys by the report's numbers, from 1.

    A sentence whose citation named no source (`[0]`) has claimed to be somebody's word, too.

    Headings, rules and heads of tables claim nothing, nor do sentences that only lead on to a list, nor those that say
    what was sought in vain.
    """
    claims = list[Claim]()
    for sentence in _told(text):
        cited = tuple(sources[number - 1] for number in sentence.numbers if 0 < number <= len(sources))
        words = plain_words(sentence)
        if words and (cited or UNKNOWN in sentence.numbers or _states_figures(sentence, words)):
            claims.append(Claim(sentence, words, cited))
    return claims


def bare_sentences(text: str) -> list[Claim]:
    """The sentences of running text and lists that neither cite anything nor state figures, but say enough to be looked
    for in the sources."""
    found = [(sentence, plain_words(sentence)) for sentence in _told(text) if not sentence.numbers]
    return [
        Claim(sentence, words, ())
        for sentence, words in found
        if len(stems(words)) >= _FEWEST_STEMS and not _FIGURE.search(words) and _is_statement(sentence, words)
    ]


def plain_words(sentence: Sentence) -> str:
    """The words of a sentence as it would stand in running text; empty if it is a heading or only draws a line."""
    if _HEADING.match(sentence.raw) or _RULE.fullmatch(sentence.raw):
        return ""
    text = sentence.text or LINE_MARK.sub("", plain_fact(sentence.raw))
    cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    return re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", ", ".join(cell for cell in cells if cell))


def _told(text: str) -> list[Sentence]:
    """The sentences in which a report tells something."""
    refusals = refusals_in(settle_fences(text))
    return [sentence for sentence in sentences_of(text) if not refusals.hold(sentence)]


def _states_figures(sentence: Sentence, words: str) -> bool:
    is_enough = len(tokens(words)) >= _FEWEST_WORDS
    return is_enough and bool(_FIGURE.search(words)) and _is_statement(sentence, words)


def _is_statement(sentence: Sentence, words: str) -> bool:
    return not words.endswith((":", "?", "：", "？")) and not sentence.raw.lstrip().startswith("|")
