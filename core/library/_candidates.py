"""Questions and passages, analysed for search and comparison: terms, titles, names, stems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from ..evidence.text.language import common_words_of
from ..evidence.text.similarity import bare_title, grouped, rarity
from ..evidence.text.words import (
    FAMILIES,
    GENERIC_WORDS,
    MONTHS,
    STOP_WORDS,
    WORDS,
    names,
    sought_words,
    stem,
    stems,
    tokens,
)
from ..records.sources import Source
from ._terms import QuestionWords, unaccented_words

WHOLE_TITLE = 1.0
"""Score of a title that a question contains completely."""
SUBJECT_ONLY = 0.7
"""Score of a title that a question contains without its remark: "Velm" for "Velm (river)"."""

_LONGEST_TITLE = 10
"""Maximum words of a title to look for in a question; longer runs cost look-ups and are hardly ever
titles."""
_ASKING = frozenset(
    {"find", "following", "give", "here", "list", "many", "much", "name", "one", "tell"}
)
_CONTRACTED = frozenset({"d", "ll", "m", "re", "ve"})
_STOP_WORDS = frozenset(WORDS["function_en"].split()) | _ASKING | _CONTRACTED
"""Function and question words of English, and fragments of contractions."""
_FORMS = grouped(FAMILIES, FAMILIES.__getitem__)
"""Forms of irregular words, by base form."""
_MOST_STEMS = 40
"""Maximum number of stems to search for, rarest first; questions have fewer, a pasted text has
hundreds."""
_SHORTEST_NAME = 3
_NO_NAMES = STOP_WORDS | MONTHS
"""Words that are not names when alone."""
_JOINT = re.compile(r"\s+(?:of|the|in|at|de|von|van)\s+")
"""Separates names within a name, as in "Bridge of Velm"."""


def terms_of(question: str) -> list[str]:
    """Return the distinct words of a question without stop words.

    All words if it has only stop words.
    """
    words = sought_words(question)
    stop_words = _STOP_WORDS | common_words_of(words)
    terms = list(dict.fromkeys(words))
    return [word for word in terms if word not in stop_words] or terms


def possible_titles(question: str) -> list[str]:
    """Return the runs of words in a question that may be titles, normalised like `title_key`."""
    words = unaccented_words(question)
    titles = dict[str, None]()
    for start in range(len(words)):
        for end in range(start + 1, start + _LONGEST_TITLE + 1):
            run = words[start:end]
            if not _STOP_WORDS.issuperset(run):
                titles.setdefault(" ".join(run))
    return list(titles)


class Query(NamedTuple):
    """A question or a search, split into words, stems and names."""

    text: str
    weights: dict[str, float]
    """Weight of each of its rarest stems, from 0 to 1; the sum is 1."""
    words: dict[str, tuple[str, ...]]
    """The words to search for, by stem."""
    names: dict[str, tuple[str, ...]]
    """Its names of several words: those stems of the name that have a weight, by all its stems in
    the form of `run`."""
    run: str
    """All its stems in order, each between spaces."""
    plain: str
    """All its words in order, each between spaces."""
    inflections: QuestionWords
    """Finds other forms of its words."""


def read_query(text: str, total: int, counted: Callable[[Sequence[str]], int]) -> Query:
    """Analyse a question or search.

    `counted` returns how many of the `total` passages contain any of these words.
    """
    words = _words_by_stem(text)
    rarities = dict[str, float]()
    for key, variants in words.items():
        # A passage is counted once per form of a word that it has; an exact count is not worth its
        # cost.
        count = min(total, counted(variants))
        if count:
            rarities[key] = rarity(total, count)
    rarest = frozenset(sorted(rarities, key=lambda key: (-rarities[key], key))[:_MOST_STEMS])
    weights = {key: value for key, value in rarities.items() if key in rarest}
    whole = sum(weights.values()) or 1.0
    for key in weights:
        weights[key] /= whole
    long_names = dict[str, tuple[str, ...]]()
    for name in names(text):
        weighted = [key for key in dict.fromkeys(stems(name)) if key in weights]
        if len(weighted) > 1:
            long_names[padded_stems(name)] = tuple(weighted)
    inflections = QuestionWords(sought_words(text))
    return Query(
        text, weights, words, long_names, padded_stems(text), padded_words(text), inflections
    )


def _words_by_stem(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words to search for, by stem; stop and generic words only if there are no
    others."""
    content = [token for token in tokens(text) if token not in STOP_WORDS]
    distinctive = list[str]()
    for token in content:
        if token not in GENERIC_WORDS and stem(token) not in GENERIC_WORDS:
            distinctive.append(token)
    words = dict[str, tuple[str, ...]]()
    for key, written in grouped(distinctive or content or tokens(text), stem).items():
        words[key] = tuple(dict.fromkeys([*written, *_FORMS.get(key, ())]))
    return words


class LibraryPassage(NamedTuple):
    """A passage of a document, as found by a search."""

    source: Source
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    """Headings above it."""
    language: str
    """Language used for stemming it (ISO 639-1); empty for English."""
    text: str


class Candidate:
    """A passage that may be part of a trail; see `trails`. Properties are computed on first use."""

    def __init__(self, passage: LibraryPassage) -> None:
        self.passage = passage
        self.document = passage.source.key
        self.title = passage.source.title
        self.text = passage.text
        self.key = (self.document, passage.start)
        """Breaks ties: of two equally good passages, the one with the smaller key comes first."""

    @cached_property
    def title_stems(self) -> frozenset[str]:
        """Stems of the title."""
        return frozenset(stems(self.title))

    @cached_property
    def _tokens(self) -> list[str]:
        return tokens(self.text)

    @cached_property
    def counts(self) -> Counter[str]:
        """Number of times that each stem occurs in the text."""
        content = [token for token in self._tokens if token not in STOP_WORDS]
        return Counter(map(stem, content))

    @cached_property
    def words(self) -> frozenset[str]:
        """Distinct words of title and text."""
        return frozenset((*self.title_run.split(), *self._tokens))

    @cached_property
    def title_run(self) -> str:
        """Words of the title in order, each between spaces."""
        return padded_words(self.title)

    @cached_property
    def run(self) -> str:
        """Words of the text in order, each between spaces."""
        return f" {' '.join(self._tokens)} "

    @cached_property
    def padded_stems(self) -> str:
        """Stems of title and text, in order."""
        return f"{padded_stems(self.title)}| {' '.join(map(stem, self._tokens))} "

    @cached_property
    def subject(self) -> str:
        """The name that other documents use for this document's subject."""
        return bare_title(self.title)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names in title and text that a trail can follow: spelling by normalised words."""
        return _names_in(self.title, self.subject, self.text)

    @cached_property
    def names_by_word(self) -> dict[str, list[str]]:
        """`names`, keyed by first word."""
        return grouped(self.names, lambda name: name.split(" ", 1)[0])


@lru_cache(maxsize=5_000)
def _names_in(title: str, subject: str, text: str) -> Mapping[str, str]:
    """Return the names for `Candidate.names`.

    Cached, since the questions of a run lead to the same passages.
    """
    spellings = dict[str, str]()
    for name in dict.fromkeys([title, subject, *names(text)]):
        for part in (name, *_JOINT.split(name)):
            spellings.setdefault(joined_words(part), part)
    found = dict[str, str]()
    for run, spelling in spellings.items():
        is_generic = run.isdigit() or _NO_NAMES.issuperset(run.split())
        if len(run) >= _SHORTEST_NAME and not is_generic:
            found[run] = spelling
    return found


@lru_cache(maxsize=20_000)
def joined_words(name: str) -> str:
    """Return the words of a name as `tokens` returns them, joined with spaces."""
    return " ".join(tokens(name))


def padded_words(text: str) -> str:
    """Return the words of a text (see `tokens`), each between spaces, so that `in` finds only whole
    words."""
    return f" {' '.join(tokens(text))} "


def padded_stems(text: str) -> str:
    """Return the stems of a text's words, each between spaces, so that `in` finds only whole
    stems."""
    return f" {' '.join(map(stem, tokens(text)))} "


def title_match(title: str, question: str, stems_of_question: str) -> float:
    """Score whether a question names a title: 1 for all of it, 0.7 for its main part (see
    `bare_title`), else 0.

    The main part must have the same capitals, but any form of its last word counts.
    `stems_of_question` is `padded_stems(question)`.
    """

    def is_named(stems: str) -> bool:
        return (
            len(stems) > 3
            and stems in stems_of_question
            and not STOP_WORDS.issuperset(stems.split())
        )

    if is_named(padded_stems(title)):
        return WHOLE_TITLE
    subject = bare_title(title)
    found = is_named(padded_stems(subject)) and re.search(rf"(?<!\w){re.escape(subject)}", question)
    return SUBJECT_ONLY if found else 0.0
