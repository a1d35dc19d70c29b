"""Which words of a question a text holds in another form, by the endings of the text's language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..vocabulary import STOP_WORDS
from ..words import stem, stems, tokens
from .stems import ALGORITHMS, token
from .wording import sought_words


class Inflections:
    """The words of a question, to be found again in texts of any language."""

    def __init__(self, words: Iterable[str]) -> None:
        """Take the words as the question writes them; function words are left out."""
        self._words = tuple(dict.fromkeys(words))
        self._roots: dict[str, Mapping[str, str]] = {}

    def stems(self, text: str, language: str) -> frozenset[str]:
        """The stems of a text's words that carry meaning; those of the question as the question's own words have."""
        return frozenset((*stems(text), *self.counted(text, language)))

    def counted(self, text: str, language: str) -> Counter[str]:
        """How often each word of the question stands in a text, by its stem as `evidence.words` tells it.

        Args:
            text: A text.
            language: ISO 639-1 code of its language. In English, and where no rules are known, nothing is counted:
                `evidence.words.stem` brings these forms together by itself.
        """
        if language not in ALGORITHMS:
            return Counter()
        roots = self._roots_in(language)
        return Counter(roots[root] for word in sought_words(text) if (root := token(word, language)) in roots)

    def _roots_in(self, language: str) -> Mapping[str, str]:
        if language not in self._roots:
            plain = ((word, tokens(word)) for word in self._words)
            self._roots[language] = {
                token(word, language): stem(own[0]) for word, own in plain if len(own) == 1 and own[0] not in STOP_WORDS
            }
        return self._roots[language]
