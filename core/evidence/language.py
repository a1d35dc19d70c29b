"""Detects which language a text is written in, offline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from .text.sentences import Section, paragraphs_of, prose_of, sections_of, without_names
from .text.stems import sought_words
from .text.words import WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_APART = frozenset({"de", "en", "es", "fr", "nl"})
"""Languages whose close relatives all have word tables; Russian's relative Bulgarian, for example, has none."""
_WITH_COMMON_WORDS = ("en", "de", "nl", "fr", "es", "it", "pt", "sv", "da", "no", "fi", "ru")
COMMON = "ar bn cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk vi zh"
"""Codes of the languages that most questions are in."""
OTHERS = (
    "af am az be bg ca cy et eu ga gl gu hr hy is ka kk km kn lo lt lv mk ml mn mr ms my ne pa ps si sk sl sq sr sw "
    "ta te tl ur uz"
)
"""Codes of the other detectable languages."""
_OTHERS_WEIGHT = 0.3
"""Prior probability of these languages, relative to common ones."""
_SURE = 0.7
"""Minimum likelihood to accept a question's detected language."""
_FOREIGN = 0.9
"""Minimum likelihood of another language for a text to count as being in the wrong language."""
_LEAST_LETTERS = 60
"""Minimum letters of prose for detection; Chinese, Japanese and Korean characters count three times."""
_KIN = (
    *({"da", "nn", "no"}, {"bs", "hr", "sh", "sr"}, {"id", "ms"}, {"gl", "pt"}, {"cs", "sk"}, {"af", "nl"}),
    *({"bg", "mk"}, {"hi", "mr", "ne"}, {"fa", "ps"}),
)
"""Languages too similar to count as foreign to each other."""
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Threshold(NamedTuple):
    """Requirements for detecting a language by its most common words."""

    fewest: int
    """Minimum number of common words of the language."""
    share: float
    """Minimum share of these among all words."""
    ahead: float
    """Minimum ratio to the number of common words of any other language."""


IN_TEXT = Threshold(4, 0.1, 1.5)
"""For stemming a text, where a mistake costs a few word forms."""
IN_QUESTION = Threshold(2, 0.1, 1.5)
"""For stemming a question, which has few words."""
_BEYOND_DOUBT = Threshold(3, 0.25, 3)
"""For the language of a report, where a mistake spoils the report."""


def language_by_words(words: Sequence[str], threshold: Threshold) -> str:
    """Return the ISO 639-1 code of the language whose common words are most frequent in `words`; empty if unclear."""
    owners = _owners()
    hits = Counter(chain.from_iterable(owners[word] for word in words if word in owners))
    (best, most), (_, next_most) = [*hits.most_common(2), ("", 0), ("", 0)][:2]
    is_clear = most >= max(threshold.fewest, threshold.share * len(words), threshold.ahead * next_most)
    return best if is_clear else ""


def language_beyond_doubt(text: str) -> str:
    """Return the ISO 639-1 code of the text's language if that is certain; else empty."""
    found = language_by_words(sought_words(text), _BEYOND_DOUBT)
    return found if found in _APART else ""


@cache
def common_words() -> Mapping[str, frozenset[str]]:
    """Return the most common words of each language, by code."""
    return {code: frozenset(WORDS[f"common_{code}"].split()) for code in _WITH_COMMON_WORDS}


@cache
def _owners() -> Mapping[str, tuple[str, ...]]:
    lists = common_words()
    words = frozenset(chain.from_iterable(lists.values()))
    return {word: tuple(code for code, common in lists.items() if word in common) for word in words}


def detect_language(question: str) -> str:
    """Return the ISO 639-1 code of a question's language; empty if uncertain, as for a list of names."""
    prose = prose_of(question) or question
    # A few common words tell English from all other languages, but not the others from their relatives.
    if language_beyond_doubt(prose) == "en":
        return "en"
    code, likelihood = _best(_likelihoods(prose.lower() if prose.isupper() else prose, ""))
    return code if likelihood >= _SURE else ""


def is_written_in(passage: str, code: str) -> bool | None:
    """Whether a Markdown text is written in the language with this ISO 639-1 code; None if uncertain."""
    prose = prose_of(passage)
    letters = sum(map(str.isalpha, prose)) + 2 * len(_DENSE.findall(prose))
    if not code or letters < _LEAST_LETTERS:
        return None
    if language_beyond_doubt(prose) == code:
        return True
    likelihoods = _likelihoods(prose, code)
    if code not in likelihoods:
        return None
    best, likelihood = _best(likelihoods)
    if best == code or any({best, code} <= kin for kin in _KIN):
        return True
    return False if likelihood >= _FOREIGN else None


def foreign_sections(markdown: str, code: str) -> list[Section]:
    """Return the sections, or else the paragraphs, that are certainly not in the language with this ISO 639-1 code.

    Short texts and text that is not prose (see `prose_of`) are ignored; if `code` is empty, the result is empty.
    """
    foreign = list[Section]()
    for section in sections_of(markdown):
        parts = [section] if is_written_in(section.text, code) is False else paragraphs_of(section)
        foreign += (part for part in parts if part is section or is_written_in(part.text, code) is False)
    return foreign


def _best(likelihoods: Mapping[str, float]) -> tuple[str, float]:
    return max(likelihoods.items(), key=lambda pair: pair[1])


def _likelihoods(prose: str, code: str) -> dict[str, float]:
    """Return the likelihood of each language: the geometric mean over the text with and without names."""
    whole, bare = _ranked(prose, code), _ranked(without_names(prose), code)
    joint = {language: sqrt(whole[language] * bare[language]) for language in whole}
    total = sum(joint.values())
    return {language: value / total for language, value in joint.items()}


def _ranked(text: str, code: str) -> dict[str, float]:
    weights = {**dict.fromkeys(OTHERS.split(), _OTHERS_WEIGHT), **dict.fromkeys([*COMMON.split(), code], 1.0)}
    known = ((language, value) for language, value in _identifier().rank(text) if language in weights)
    ranked = {language: value * weights[language] for language, value in known}
    total = sum(ranked.values())
    return {language: value / total for language, value in ranked.items()}


@cache
def _identifier() -> LanguageIdentifier:
    # Loading the model takes nearly a second, too long for an import.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
