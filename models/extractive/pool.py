"""Sentences to choose from, and how well each serves a question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from ...evidence.inflection.common_words import IN_QUESTION, evident
from ...evidence.inflection.inflected import Inflections
from ...evidence.inflection.wording import sought_words
from ...evidence.titles import mentions, naming, subject_of
from ...evidence.vocabulary import GENERIC_WORDS
from ...evidence.words import names, stem, stem_run, stems
from .answers import kind_of
from .holding import holds
from .reading import Document
from .sentences import Quotable, each_once, quotables

UNSEEN = 0.5
"""What a common word counts that no text holds: the question may merely be worded so."""
_NAMING = re.compile(
    r"(?<=\w )(?:the|an?|de[rmns]|die|das|les?|la|el|los|las) (\w+)"
    r"(?= (?!(?:of|between|with|on|about|for|to|in|zwischen|von|über|mit|de|du|des|entre|sur|con|sobre)\b)\w)",
    re.IGNORECASE,
)
"""A word before the one that it describes: in "the research department" it asks for nothing, but names something."""
GENERIC_STEMS = GENERIC_WORDS | {stem(word) for word in GENERIC_WORDS}
BRACKET = re.compile(r"\([^()]*\)")
YEAR = re.compile(r"\d{3,}")
DASH = re.compile(r"[–-]")


class Sentence(NamedTuple):
    """A sentence that can be quoted, and where it stands."""

    text: str
    number: int
    """Number of its document."""
    place: int
    """Place in its document, from 0."""
    stems: frozenset[str]
    meant: frozenset[str]
    """Stems that the antecedent adds."""
    context: frozenset[str]
    """Stems that the title adds, and the heading above."""
    antecedent: str
    """If it begins with a pronoun, the sentence that says who or what is meant; else empty."""
    is_right: bool
    """Whether it holds the kind of thing that the question asks for."""

    @property
    def meaning(self) -> frozenset[str]:
        """What is said with its antecedent, without which it is not quoted."""
        return self.stems | self.meant

    @property
    def held(self) -> frozenset[str]:
        """All these stems."""
        return self.meaning | self.context


class Text(NamedTuple):
    """A document as its quotable sentences."""

    number: int
    title: str
    sentences: tuple[Quotable, ...]


class Pool:
    """The sentences of some texts, judged by one question."""

    def __init__(self, texts: Sequence[Text], question: str) -> None:
        self.question = question
        self.kind = kind_of(question)
        self.titles = {text.number: text.title for text in texts}
        self._inflections = Inflections(sought_words(question))
        self._languages = {text.number: _language_of(text, question) for text in texts}
        self.wanted = _weights(question, [self._stems_of(text) for text in texts])
        self.sentences = [sentence for text in texts for sentence in self._sentences_of(text)]
        run = stem_run(question)
        self.named = {number for number, title in self.titles.items() if naming(title, question, run)}
        self._mentioned = {sentence: self._mentions(sentence) for sentence in self.sentences}

    def weight(self, found: Collection[str]) -> float:
        """The share of the question, from 0 to 1, that these stems make up."""
        return sum(weight for stem, weight in self.wanted.items() if stem in found)

    def is_linked(self, one: Sentence, other: Sentence) -> bool:
        """Whether one of two sentences of different documents names the document of the other."""
        return one.number != other.number and (
            other.number in self._mentioned[one] or one.number in self._mentioned[other]
        )

    def _mentions(self, sentence: Sentence) -> frozenset[int]:
        return frozenset(
            number
            for number, title in self.titles.items()
            if number != sentence.number and mentions(sentence.text, subject_of(title))
        )

    def _sentences_of(self, text: Text) -> list[Sentence]:
        read = partial(self._inflections.stems, language=self._languages[text.number])
        title = read(text.title)
        return [
            Sentence(
                text=one.text,
                number=text.number,
                place=place,
                stems=found,
                meant=read(one.antecedent) - found,
                context=(title | read(one.about)) - found,
                antecedent=one.antecedent,
                is_right=holds(self.kind, one.text, self.question),
            )
            for place, one in enumerate(text.sentences)
            for found in [read(one.text) | _told_by_dates(one.text)]
        ]

    def _stems_of(self, text: Text) -> frozenset[str]:
        return self._inflections.stems("\n".join((text.title, *_words_of(text))), self._languages[text.number])


def pool_of(documents: Sequence[Document], question: str) -> Pool:
    """The quotable sentences of documents, each document's without repeats."""
    return Pool(
        [
            Text(
                document.number,
                document.title,
                tuple(each_once(one for text in document.texts for one in quotables(text))),
            )
            for document in documents
        ],
        question,
    )


def _words_of(text: Text) -> list[str]:
    return [one.text for one in text.sentences]


def _language_of(text: Text, question: str) -> str:
    # What is quoted of a text may be one sentence; a wrong language only brings together words that are nearly alike.
    said = evident(sought_words(" ".join(_words_of(text))), IN_QUESTION)
    return said or evident(sought_words(question), IN_QUESTION)


def _told_by_dates(sentence: str) -> frozenset[str]:
    """What two years in a bracket tell of: the birth and death of a person, the begin and end of anything else."""
    return (
        frozenset({"birth", "death", "begin", "end"}) if any(map(_is_span, BRACKET.findall(sentence))) else frozenset()
    )


def _is_span(bracket: str) -> bool:
    """Whether a dash stands between two years; looked for in steps, since one pattern for it all may take seconds."""
    years = [*YEAR.finditer(bracket)]
    return len(years) > 1 and DASH.search(bracket, years[0].end(), years[-1].start()) is not None


def _weights(question: str, texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """The share of the question that each of its stems makes up, given the stems of the texts."""
    counts = Counter(stem for text in texts for stem in text)
    size = len(texts) + 1
    named = frozenset(stems(" ".join(_NAMING.findall(question))))
    wanted = [word for word in stems(question) if word not in GENERIC_STEMS or word in named] or stems(question)
    in_names = {stem for name in names(question) for stem in stems(name)}
    rarities = {
        stem: math.log(1 + size / (counts[stem] + 0.5)) * (1 if counts[stem] or stem in in_names else UNSEEN)
        for stem in wanted
    }
    total = sum(rarities.values()) or 1.0
    return {stem: rarity / total for stem, rarity in rarities.items()}
