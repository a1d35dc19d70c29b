"""Words without their endings, by the rules of the language that they are written in."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from threading import Lock
from zlib import crc32

from .wording import bare, is_unspaced, words_and_pieces

ALGORITHMS = {
    "ar": "arabic",
    "bs": "serbian",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hr": "serbian",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The languages with rules of their own; all others are taken for English, whose names and loans are everywhere."""
OTHERWISE = "english"
TAG = "_"
"""Stands between a language and a stem of it, so that words of two languages never count as one; in no word."""
CACHED = 60_000
"""Words of one language that are kept with what they are indexed by."""


def tokens_of(text: str, language: str) -> list[str]:
    """What a text in this language is indexed by."""
    words, pieces = words_and_pieces(text)
    return [*map(_stems_of(language).__getitem__, words), *pieces]


def forms_of(words: Iterable[str], languages: Sequence[str]) -> list[tuple[str, ...]]:
    """For each of these words of a question, what it is indexed by in texts of these languages, English among them."""
    codes = ("", *languages)
    # Who leaves out the accents means the same word, but its ending may not be known without them.
    return [tuple(dict.fromkeys(token(one, code) for one in (word, bare(word)) for code in codes)) for word in words]


def token(word: str, language: str) -> str:
    """What a word of a text in this language is indexed by."""
    return _stems_of(language)[word]


def rules() -> int:
    """A number that is another one if the same word may be indexed by something else than before."""
    import Stemmer

    return crc32(f"{Stemmer.version()} {unicodedata.unidata_version}".encode())


class _Stems(dict[str, str]):
    """What the words of one language are indexed by; a plain look-up for those that came before."""

    def __init__(self, language: str) -> None:
        import Stemmer

        super().__init__()
        self._tag = f"{language}{TAG}" if language else ""
        # Its own cache would only hold what this one does.
        self._stemmer = Stemmer.Stemmer(ALGORITHMS.get(language, OTHERWISE), 0)
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
    return _stems(language if language in ALGORITHMS else "")


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)
