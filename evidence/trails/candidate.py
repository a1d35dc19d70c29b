"""A passage as the search for trails reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property, lru_cache

from ..text.titles import subject_of
from ..text.vocabulary import MONTHS, STOP_WORDS
from ..text.words import names, plain_run, run_of, stem, stem_run, stems, tokens

SHORTEST_NAME = 3
NO_NAMES = STOP_WORDS | MONTHS
"""Words that are no name by themselves."""
_JOINT = re.compile(r"\s+(?:of|the|in|at|de|von|van)\s+")


class Candidate:
    """A passage that may be part of a trail; what is told of it is worked out when first asked for."""

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
    return {run: name for run, name in found.items() if _is_telling(run)}


def _is_telling(name: str) -> bool:
    return len(name) >= SHORTEST_NAME and not name.isdigit() and not NO_NAMES.issuperset(name.split())
