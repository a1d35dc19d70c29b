"""Index terms of documents and questions: the stems of words, by the rules of the text's
language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from threading import Lock
from zlib import crc32

from ..evidence.text.words import (
    STOP_WORDS,
    is_unspaced,
    sought_words,
    stem,
    stems,
    tokens,
    unaccented,
    words_and_pieces,
)

STEMMED = frozenset((
    "ar", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fa", "fi", "fr", "ga", "hi", "hr",
    "hu", "hy", "id", "it", "lt", "ne", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sr", "sv", "ta",
    "tr",
))  # fmt: skip
"""ISO 639-1 codes of languages with a Snowball stemmer; others use the English one, since English
names are common."""
_RELATIVES = {"bs": "sr", "hr": "sr", "nn": "no"}
"""Languages without a stemmer of their own, and the related language whose stemmer they use."""
LANGUAGE_SEPARATOR = "_"
"""Separates language code and stem in an index term (`de_turm`), so that languages never mix; no
word contains it."""
_CACHED = 60_000
"""Maximum number of cached stems per language."""
_IN_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")


def index_terms(text: str, language: str) -> list[str]:
    """Return the index terms of a text: stems in its language (ISO 639-1).

    Parts in unspaced scripts give characters and pairs of characters.
    """
    words, pieces = words_and_pieces(text)
    terms = _stems_of(language)
    return [terms[word] for word in words] + pieces


def forms_of(words: Iterable[str], languages: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the index terms that each word of a question may have in texts in these languages and
    in English."""
    codes = ("", *languages)
    forms = list[tuple[str, ...]]()
    for word in words:
        terms = dict[str, None]()
        # Without its accents, a word means the same but may have another stem.
        for spelling in (word, unaccented(word)):
            for code in codes:
                terms[index_term(spelling, code)] = None
        forms.append(tuple(terms))
    return forms


def index_term(word: str, language: str) -> str:
    """Return the index term of a lower-case word in texts in this language."""
    return _stems_of(language)[word]


def stemmer_version() -> int:
    """Return a checksum of the versions of the stemmer and of Unicode.

    Other versions may give other stems.
    """
    import Stemmer

    return crc32(f"{Stemmer.version()} {unicodedata.unidata_version}".encode())


class _Stems(dict[str, str]):
    """The index terms of words in one language, computed on first access.

    At most `_CACHED` are kept.
    """

    def __init__(self, language: str) -> None:
        import Stemmer

        super().__init__()
        self._tag = f"{language}{LANGUAGE_SEPARATOR}" if language else ""
        # The stemmer's own cache is off (0), since it would duplicate this one.
        self._stemmer = Stemmer.Stemmer(_RELATIVES.get(language, language or "en"), 0)
        self._lock = Lock()

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED:
            self.clear()
        is_plain = word.isascii() and word.isalpha()
        if not is_plain and (is_unspaced(word) or any(map(str.isdigit, word))):
            term = unaccented(word)
        else:
            with self._lock:
                stem: str = self._stemmer.stemWord(word)
            if not stem.isascii():
                stem = unaccented(stem)
            term = self._tag + stem
        self[word] = term
        return term


@cache
def _stems_of(language: str) -> _Stems:
    """Return the index terms of a language.

    Languages without a stemmer share those of the code "".
    """
    if language and language not in STEMMED:
        return _stems_of("")
    return _Stems(language)


def unaccented_words(text: str) -> list[str]:
    """Return `sought_words` of a question or title, without accents."""
    return [unaccented(word) for word in sought_words(text)]


def title_key(title: str) -> str:
    """Return the words of a title by which questions that name it can be found.

    They have no accents, and the final brackets are left out.
    """
    bare = _IN_BRACKETS.sub("", title)
    return " ".join(unaccented_words(bare) or unaccented_words(title))


class QuestionWords:
    """Recognises the words of a question in texts of any language."""

    def __init__(self, words: Iterable[str]) -> None:
        """`words`: the words of the question (see `sought_words`); stop words are ignored."""
        self._words = tuple(dict.fromkeys(words))
        self._roots: dict[str, Mapping[str, str]] = {}

    def stems(self, text: str, language: str) -> frozenset[str]:
        """Return the stems of a text's words, and of the question's words that the text has in any
        form."""
        return frozenset((*stems(text), *self.counted(text, language)))

    def counted(self, text: str, language: str) -> Counter[str]:
        """Count the forms of each word of the question in a text, by the stem (`words.stem`) of
        that word.

        `language` is the ISO 639-1 code of the text's language. For English and languages without a
        stemmer, the result is empty, since `words.stem` covers their forms.
        """
        counts = Counter[str]()
        if language not in STEMMED:
            return counts
        if language not in self._roots:
            self._roots[language] = self._roots_in(language)
        roots = self._roots[language]
        for word in sought_words(text):
            term = index_term(word, language)
            if term in roots:
                counts[roots[term]] += 1
        return counts

    def _roots_in(self, language: str) -> Mapping[str, str]:
        """Return the stem of each word of the question by its index term in a language."""
        roots = dict[str, str]()
        for word in self._words:
            plain = tokens(word)
            if len(plain) == 1 and plain[0] not in STOP_WORDS:
                roots[index_term(word, language)] = stem(plain[0])
        return roots
