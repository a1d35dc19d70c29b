"""Detects which language a text is written in, offline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from .text.sentences import Section, paragraphs_of, prose_of, sections_of, without_names
from .text.stems import sought_words
from .text.words import WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

APART = frozenset({"de", "en", "es", "fr", "nl"})
"""Languages that can be beyond doubt; the others have near relatives that are not in the table, such as Bulgarian."""
_WITH_COMMON_WORDS = ("en", "de", "nl", "fr", "es", "it", "pt", "sv", "da", "no", "fi", "ru")
COMMON = "ar bn cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk vi zh"
"""Codes of the languages that most questions are asked in."""
OTHERS = (
    "af am az be bg ca cy et eu ga gl gu hr hy is ka kk km kn lo lt lv mk ml mn mr ms my ne pa ps si sk sl sq sr sw "
    "ta te tl ur uz"
)
"""Codes of further languages that can be detected."""
OTHERS_WEIGHT = 0.3
"""Prior probability of one of these, relative to a common one."""
SURE = 0.7
"""Likelihood from which on the language of a question counts as known."""
FOREIGN = 0.9
"""Likelihood from which on a text counts as written in another language than it should be."""
LEAST_LETTERS = 60
"""Letters of prose that a language is detected from; Chinese, Japanese and Korean ones count thrice."""
KIN = (
    *({"da", "nn", "no"}, {"bs", "hr", "sh", "sr"}, {"id", "ms"}, {"gl", "pt"}, {"cs", "sk"}, {"af", "nl"}),
    *({"bg", "mk"}, {"hi", "mr", "ne"}, {"fa", "ps"}),
)
"""Languages too similar to call one of them foreign beside the other."""
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Threshold(NamedTuple):
    """What is required for a language to be detected by its commonest words."""

    fewest: int
    """Common words of the language at least."""
    share: float
    """Their share of all words at least."""
    ahead: float
    """How many times as many they must be as those of any other language."""


IN_TEXT = Threshold(4, 0.1, 1.5)
"""For stemming the words of a text: a mistake costs a few forms of words."""
IN_QUESTION = Threshold(2, 0.1, 1.5)
"""The same for a question, which has few words."""
BEYOND_DOUBT = Threshold(3, 0.25, 3)
"""For the language of a report, where nothing else is asked: a mistake spoils the report."""


def language_by_words(words: Sequence[str], lead: Threshold) -> str:
    """Return the ISO 639-1 code of the language whose commonest words are among these; empty if that is not clear."""
    owners = _owners()
    hits = Counter(chain.from_iterable(owners[word] for word in words if word in owners))
    (best, most), (_, next_most) = [*hits.most_common(2), ("", 0), ("", 0)][:2]
    return best if most >= max(lead.fewest, lead.share * len(words), lead.ahead * next_most) else ""


def language_beyond_doubt(text: str) -> str:
    """Return the ISO 639-1 code of a language in which the text certainly is; empty if there is none."""
    found = language_by_words(sought_words(text), BEYOND_DOUBT)
    return found if found in APART else ""


@cache
def common_words() -> Mapping[str, frozenset[str]]:
    """Return the commonest words by the code of their language."""
    return {code: frozenset(WORDS[f"common_{code}"].split()) for code in _WITH_COMMON_WORDS}


@cache
def _owners() -> Mapping[str, tuple[str, ...]]:
    lists = common_words()
    words = frozenset(chain.from_iterable(lists.values()))
    return {word: tuple(code for code, common in lists.items() if word in common) for word in words}


def detect_language(question: str) -> str:
    """Return the ISO 639-1 code of the language of a question; empty if that is not certain, as with names alone."""
    prose = prose_of(question) or question
    # A few words do not distinguish other languages from their relatives.
    if language_beyond_doubt(prose) == "en":
        return "en"
    code, likelihood = _best(_likelihoods(prose.lower() if prose.isupper() else prose, ""))
    return code if likelihood >= SURE else ""


def is_written_in(passage: str, code: str) -> bool | None:
    """Whether a Markdown text is written in the language of this ISO 639-1 code; none if that is not certain."""
    prose = prose_of(passage)
    letters = sum(map(str.isalpha, prose)) + 2 * len(_DENSE.findall(prose))
    if not code or letters < LEAST_LETTERS:
        return None
    if language_beyond_doubt(prose) == code:
        return True
    likelihoods = _likelihoods(prose, code)
    if code not in likelihoods:
        return None
    best, likelihood = _best(likelihoods)
    if best == code or any({best, code} <= kin for kin in KIN):
        return True
    return False if likelihood >= FOREIGN else None


def foreign_sections(markdown: str, code: str) -> list[Section]:
    """Return the sections of a text that are certainly not written in the language of the code, in order.

    Where only paragraphs of a section are not, these are returned. Short texts and what is no prose (see `prose_of`)
    are ignored; without a code, nothing is foreign.
    """
    return [part for section in sections_of(markdown) for part in _foreign_parts(section, code)]


def _foreign_parts(section: Section, code: str) -> Iterator[Section]:
    if is_written_in(section.text, code) is False:
        yield section
    else:
        yield from (part for part in paragraphs_of(section) if is_written_in(part.text, code) is False)


def _best(likelihoods: Mapping[str, float]) -> tuple[str, float]:
    return max(likelihoods.items(), key=lambda pair: pair[1])


def _likelihoods(prose: str, code: str) -> dict[str, float]:
    """Return the likelihood of each language; the text with its names and without them counts equally."""
    whole, bare = _ranked(prose, code), _ranked(without_names(prose), code)
    joint = {language: sqrt(whole[language] * bare[language]) for language in whole}
    total = sum(joint.values())
    return {language: value / total for language, value in joint.items()}


def _ranked(text: str, code: str) -> dict[str, float]:
    weights = {**dict.fromkeys(OTHERS.split(), OTHERS_WEIGHT), **dict.fromkeys([*COMMON.split(), code], 1.0)}
    known = ((language, value) for language, value in _identifier().rank(text) if language in weights)
    ranked = {language: value * weights[language] for language, value in known}
    total = sum(ranked.values())
    return {language: value / total for language, value in ranked.items()}


@cache
def _identifier() -> LanguageIdentifier:
    # Loading it takes most of a second, too long for an import.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
