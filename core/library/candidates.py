"""A question and a passage as they are searched for and compared: terms, titles, names, stems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from ..evidence.language import IN_QUESTION, common_words, language_by_words
from ..evidence.text.similarity import rarity, subject_of
from ..evidence.text.stems import QuestionWords, sought_words, words_of
from ..evidence.text.words import (
    FAMILIES,
    FUNCTION_WORDS,
    GENERIC_WORDS,
    MONTHS,
    STOP_WORDS,
    names,
    plain_run,
    run_of,
    stem,
    stem_run,
    stems,
    tokens,
)

LONGEST_TITLE = 10
"""Words of a title that a question may mention: longer runs cost look-ups and hardly ever are one."""
_ASKING = frozenset({"find", "following", "give", "here", "list", "many", "much", "name", "one", "tell"})
_CONTRACTED = frozenset({"d", "ll", "m", "re", "ve"})
_STOP_WORDS = FUNCTION_WORDS["en"] | _ASKING | _CONTRACTED
"""What an English question is worded with, and what contractions leave behind."""
MEMBERS: dict[str, tuple[str, ...]] = {
    family: tuple(word for word, own in FAMILIES.items() if own == family) for family in set(FAMILIES.values())
}
MOST_STEMS = 40
"""Stems that are sought, the rarest of a question: one that a person asks has fewer, a pasted text has hundreds."""
SHORTEST_NAME = 3
NO_NAMES = STOP_WORDS | MONTHS
"""Words that are no name by themselves."""
_JOINT = re.compile(r"\s+(?:of|the|in|at|de|von|van)\s+")


def terms_of(question: str) -> list[str]:
    """Return the different words of a question that are worth searching for; all of them if none is."""
    words = sought_words(question)
    stop_words = _STOP_WORDS | common_words().get(language_by_words(words, IN_QUESTION), frozenset())
    terms = list(dict.fromkeys(words))
    return [word for word in terms if word not in stop_words] or terms


def mentions(question: str) -> list[str]:
    """Return every run of words in a question that might be a title, as `title_key` would write it."""
    words = words_of(question)
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, start + LONGEST_TITLE + 1))
    return list(dict.fromkeys(" ".join(run) for run in runs if not _STOP_WORDS.issuperset(run)))


class SoughtName(NamedTuple):
    """A name of several words in a question."""

    run: str
    """Its words in their stems, between spaces."""
    stems: tuple[str, ...]


class Query(NamedTuple):
    """A question or a search, taken apart into words, stems and names."""

    text: str
    weights: dict[str, float]
    """The share, from 0 to 1, of the question that each of its rarest stems makes up; together 1."""
    words: dict[str, tuple[str, ...]]
    """For each stem the words to search for."""
    names: tuple[SoughtName, ...]
    run: str
    """All its words in their stems, between spaces."""
    plain: str
    """All its words as they are, between spaces."""
    inflections: QuestionWords
    """Finds its words in other forms."""


def read_query(text: str, total: int, counted: Callable[[Sequence[str]], int]) -> Query:
    """Take a question apart.

    Args:
        text: The question, or the words to search for.
        total: How many passages there are.
        counted: Tells in how many passages each of some words stands, added up, as `IndexShelf.counted` does.
    """
    words = _words(text)
    # A passage that holds several forms of a word is counted for each: to look it up as one costs more than it tells.
    counts = {own: min(total, counted(forms)) for own, forms in words.items()}
    rarities = {own: rarity(total, count) for own, count in counts.items() if count}
    rarities = _rarest(rarities)
    whole = sum(rarities.values()) or 1.0
    weights = {own: weight / whole for own, weight in rarities.items()}
    inflections = QuestionWords(sought_words(text))
    return Query(text, weights, words, tuple(_names(text, weights)), stem_run(text), plain_run(text), inflections)


def _rarest(rarities: Mapping[str, float]) -> dict[str, float]:
    rarest = frozenset(sorted(rarities, key=lambda own: (-rarities[own], own))[:MOST_STEMS])
    return {own: weight for own, weight in rarities.items() if own in rarest}


def _words(text: str) -> dict[str, tuple[str, ...]]:
    content = [token for token in tokens(text) if token not in STOP_WORDS]
    distinctive = [token for token in content if token not in GENERIC_WORDS and stem(token) not in GENERIC_WORDS]
    forms: dict[str, list[str]] = {}
    for token in distinctive or content or tokens(text):
        forms.setdefault(stem(token), []).append(token)
    return {own: tuple(dict.fromkeys((*found, *MEMBERS.get(own, ())))) for own, found in forms.items()}


def _names(text: str, weights: dict[str, float]) -> list[SoughtName]:
    found = ((name, tuple(own for own in dict.fromkeys(stems(name)) if own in weights)) for name in names(text))
    return [SoughtName(stem_run(name), own) for name, own in found if len(own) > 1]


class Candidate:
    """A passage that may be part of a trail; its properties are computed when first asked for."""

    def __init__(self, key: tuple[str, int], document: str, title: str, text: str, language: str) -> None:
        """Take a passage.

        Args:
            key: Document and place in it; of two passages that are equally good, the smaller comes first.
            document: The document that it belongs to.
            title: The document's title.
            text: The passage itself.
            language: ISO 639-1 code of its language; may be empty.
        """
        self.key = key
        self.document = document
        self.title = title
        self.text = text
        self.language = language

    @cached_property
    def title_stems(self) -> frozenset[str]:
        """Stems of the title."""
        return frozenset(stems(self.title))

    @cached_property
    def _tokens(self) -> list[str]:
        return tokens(self.text)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each stem stands in the text."""
        found: Counter[str] = Counter()
        for token, count in Counter(self._tokens).items():
            if token not in STOP_WORDS:
                found[stem(token)] += count
        return found

    @cached_property
    def length(self) -> int:
        """Number of words that carry meaning."""
        return sum(self.counts.values())

    @cached_property
    def words(self) -> frozenset[str]:
        """The different words of title and text."""
        return frozenset((*self.title_run.split(), *self._tokens))

    @cached_property
    def title_run(self) -> str:
        """The title's words, between spaces."""
        return plain_run(self.title)

    @cached_property
    def run(self) -> str:
        """The text's words, between spaces."""
        return f" {' '.join(self._tokens)} "

    @cached_property
    def stem_run(self) -> str:
        """The stems of title and text, in order."""
        return f"{stem_run(self.title)}| {' '.join(map(stem, self._tokens))} "

    @cached_property
    def subject(self) -> str:
        """The name under which others mention its document."""
        return subject_of(self.title)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names in title and text by which a trail can go on: their plain words, and how they are written."""
        return _names_in(self.title, self.subject, self.text)

    @cached_property
    def names_by_word(self) -> dict[str, list[str]]:
        """These names by their first words."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(name.split(" ", 1)[0], []).append(name)
        return found


@lru_cache(maxsize=5_000)
def _names_in(title: str, subject: str, text: str) -> Mapping[str, str]:
    # The questions of one run lead to the same passages.
    written = dict.fromkeys([title, subject, *names(text)])
    parts = dict.fromkeys(part for name in written for part in (name, *_JOINT.split(name)))
    found: dict[str, str] = {}
    for part in parts:
        found.setdefault(run_of(part), part)
    return {run: name for run, name in found.items() if _is_distinctive(run)}


def _is_distinctive(name: str) -> bool:
    return len(name) >= SHORTEST_NAME and not name.isdigit() and not NO_NAMES.issuperset(name.split())
