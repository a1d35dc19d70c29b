"""Splits texts and questions into the words that the index uses: stems by the rules of their language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import add
from threading import Lock
from zlib import crc32

from .words import STOP_WORDS, UNSPACED, marks, stem, stems, tokens

STEMMED = frozenset((
    "ar", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fa", "fi", "fr", "ga", "hi", "hr", "hu", "hy", "id",
    "it", "lt", "ne", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sr", "sv", "ta", "tr",
))  # fmt: skip
"""Languages with a Snowball algorithm; all others use the English one, as English names are everywhere."""
_RELATIVES = {"bs": "sr", "hr": "sr", "nn": "no"}
"""Languages whose words are cut by the algorithm of another one."""
TAG = "_"
"""Stands between a language and a stem of it, so that words of two languages never count as one; in no word."""
CACHED = 60_000
"""Words of one language whose stems are cached."""
_ACCENTS = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
# Characters of these scripts take the marks above, below and beside them along.
_FIRST = re.compile(f"[{UNSPACED}]")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")


def tokens_of(text: str, language: str) -> list[str]:
    """Return the index terms of a text in this language: stems, or pieces of words in scripts without spaces."""
    words, pieces = words_and_pieces(text)
    return [*map(_stems_of(language).__getitem__, words), *pieces]


def forms_of(words: Iterable[str], languages: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the index terms that each word of a question may have, in these languages and in English."""
    codes = ("", *languages)
    # A word without its accents means the same, but may have another stem.
    return [
        tuple(dict.fromkeys(index_term(one, code) for one in (word, bare(word)) for code in codes)) for word in words
    ]


def index_term(word: str, language: str) -> str:
    """Return what a word of a text in this language is indexed by."""
    return _stems_of(language)[word]


def stemmer_version() -> int:
    """Return a number that changes when the same word may get another stem."""
    import Stemmer

    return crc32(f"{Stemmer.version()} {unicodedata.unidata_version}".encode())


class _Stems(dict[str, str]):
    """A cache of what the words of one language are indexed by."""

    def __init__(self, language: str) -> None:
        import Stemmer

        super().__init__()
        self._tag = f"{language}{TAG}" if language else ""
        # Its own cache would duplicate this one.
        self._stemmer = Stemmer.Stemmer(_RELATIVES.get(language, language or "en"), 0)
        self._lock = Lock()

    def __missing__(self, word: str) -> str:
        if len(self) >= CACHED:
            self.clear()
        self[word] = found = self._cut(word)
        return found

    def _cut(self, word: str) -> str:
        if not (word.isascii() and word.isalpha()) and (is_unspaced(word) or any(map(str.isdigit, word))):
            return bare(word)
        with self._lock:
            stem: str = self._stemmer.stemWord(word)
        return self._tag + (stem if stem.isascii() else bare(stem))


def _stems_of(language: str) -> _Stems:
    return _stems(language if language in STEMMED else "")


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)


def words_and_pieces(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a text in lower case; and of unspaced scripts each character and each pair of neighbours."""
    plain = _plain(text)
    runs = [] if plain.isascii() else _run().findall(plain)
    if not runs:
        return _words(plain), []
    units = map(_units, _words(" ".join(runs)))
    return _words(_run().sub(" ", plain)), [*chain.from_iterable((*of_run, *_pairs(of_run)) for of_run in units)]


def sought_words(question: str) -> list[str]:
    """Return the words of a question in lower case; of unspaced scripts the pairs of neighbouring characters."""
    # Words of other scripts may stand beside unspaced ones without a space.
    return [*chain.from_iterable(map(_sought, _words(_run().sub(r" \g<0> ", _plain(question)))))]


def words_of(text: str) -> list[str]:
    """Return the words of a question or title in order, without accents."""
    return [bare(word) for word in sought_words(text)]


def bare(word: str) -> str:
    """Return the word without accents and vowel points; in unspaced scripts these are part of the letters."""
    if word.isascii() or is_unspaced(word):
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def is_unspaced(word: str) -> bool:
    """Whether the word is in a script without spaces between words."""
    return not word.isascii() and _FIRST.match(word) is not None


def title_key(title: str) -> str:
    """Return the words of a title by which a question mentions it, without a remark in brackets at the end."""
    return " ".join(words_of(_IN_BRACKETS.sub("", title)) or words_of(title))


def _plain(text: str) -> str:
    return (text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()).replace("_", " ")


def _words(plain: str) -> list[str]:
    words: list[str] = _word().findall(plain)
    return words


def _sought(word: str) -> list[str]:
    if not is_unspaced(word):
        return [word]
    units = _units(word)
    return _pairs(units) or units


def _units(run: str) -> list[str]:
    # Without marks, which Chinese, Japanese and Korean have none of, every character is one.
    return _unit().findall(run) if _mark().search(run) else list(run)


def _pairs(units: list[str]) -> list[str]:
    return [*map(add, units, units[1:])]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"\w[\w{marks()}]*")


@cache
def _run() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}][{UNSPACED}{marks()}]*")


@cache
def _unit() -> re.Pattern[str]:
    return re.compile(rf"\w[{marks()}]*")


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{marks()}]")


class QuestionWords:
    """The words of a question, to be recognised in texts of any language."""

    def __init__(self, words: Iterable[str]) -> None:
        """Take the words of the question; function words are ignored."""
        self._words = tuple(dict.fromkeys(words))
        self._roots: dict[str, Mapping[str, str]] = {}

    def stems(self, text: str, language: str) -> frozenset[str]:
        """Return the stems of a text's words; inflected words of the question have the stem of the question's form."""
        return frozenset((*stems(text), *self.counted(text, language)))

    def counted(self, text: str, language: str) -> Counter[str]:
        """Count each word of the question in a text, by its stem (see `words.stem`).

        Args:
            text: A text.
            language: ISO 639-1 code of its language. In English and languages without rules nothing is counted:
                `words.stem` covers these forms.
        """
        if language not in STEMMED:
            return Counter()
        roots = self._roots_in(language)
        return Counter(roots[root] for word in sought_words(text) if (root := index_term(word, language)) in roots)

    def _roots_in(self, language: str) -> Mapping[str, str]:
        if language not in self._roots:
            plain = ((word, tokens(word)) for word in self._words)
            self._roots[language] = {
                index_term(word, language): stem(own[0])
                for word, own in plain
                if len(own) == 1 and own[0] not in STOP_WORDS
            }
        return self._roots[language]
