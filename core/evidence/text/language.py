"""Detects offline in which language a text is written."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from .sentences import Section, paragraphs_of, prose_of, sections_of, without_names
from .words import WORDS, sought_words

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_TOLD_BY_WORDS = frozenset({"de", "en", "es", "fr", "nl"})
"""Languages that common words tell from all close relatives, since those have tables too; Bulgarian
has none."""
_WITH_COMMON_WORDS = ("en", "de", "nl", "fr", "es", "it", "pt", "sv", "da", "no", "fi", "ru")
COMMON = "ar bn cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk vi zh"
"""ISO 639-1 codes of the languages that most questions are in."""
OTHERS = (
    "af am az be bg ca cy et eu ga gl gu hr hy is ka kk km kn lo lt lv mk ml mn mr ms my ne pa ps "
    "si sk sl sq sr sw ta te tl ur uz"
)
"""ISO 639-1 codes of the other languages that can be detected."""
_OTHERS_WEIGHT = 0.3
"""Prior probability of each of these languages, relative to one of the common ones."""
_SURE = 0.7
"""Minimum likelihood of the language that is detected for a question."""
_FOREIGN = 0.9
"""Minimum likelihood of another language if a text is said to be in the wrong one."""
_LEAST_LETTERS = 60
"""Minimum letters of a text whose language is judged; Chinese, Japanese and Korean characters count
three times."""
_SIMILAR = (
    *(
        {"da", "nn", "no"},
        {"bs", "hr", "sh", "sr"},
        {"id", "ms"},
        {"gl", "pt"},
        {"cs", "sk"},
        {"af", "nl"},
    ),
    *({"bg", "mk"}, {"hi", "mr", "ne"}, {"fa", "ps"}),
)
"""Languages that are too similar to tell one from the other for certain."""
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class _Threshold(NamedTuple):
    """How many common words of a language a text needs for that language to be detected."""

    fewest: int
    """Minimum number."""
    share: float
    """Minimum share of all words."""
    ahead: float
    """Minimum ratio to the number of common words of any other language."""


_IN_TEXT = _Threshold(4, 0.1, 1.5)
"""For stemming a text, where a mistake means that some word forms are not found."""
_IN_QUESTION = _Threshold(2, 0.1, 1.5)
"""For stemming a question, which has only few words."""
_BEYOND_DOUBT = _Threshold(3, 0.25, 3)
"""For the language of a report, where a mistake spoils the report."""


def language_of_text(words: Sequence[str]) -> str:
    """Return the ISO 639-1 code of the language of a text with these words; empty if unclear."""
    return _language_by_words(words, _IN_TEXT)


def language_of_question(words: Sequence[str]) -> str:
    """Return the ISO 639-1 code of the language of a question with these words; empty if
    unclear."""
    return _language_by_words(words, _IN_QUESTION)


def _language_by_words(words: Sequence[str], threshold: _Threshold) -> str:
    """Return the ISO 639-1 code of the language with most common words among `words`.

    It is empty if that is not clear.
    """
    owners = _owners()
    hits = Counter[str]()
    for word in words:
        for language in owners.get(word, ()):
            hits[language] += 1
    ranked = [*hits.most_common(2), ("", 0), ("", 0)]
    best, most = ranked[0]
    _, next_most = ranked[1]
    least = max(threshold.fewest, threshold.share * len(words), threshold.ahead * next_most)
    return best if most >= least else ""


def language_beyond_doubt(text: str) -> str:
    """Return the ISO 639-1 code of a text's language if its common words leave no doubt.

    Otherwise it is empty.
    """
    found = _language_by_words(sought_words(text), _BEYOND_DOUBT)
    return found if found in _TOLD_BY_WORDS else ""


@cache
def _common_words() -> Mapping[str, frozenset[str]]:
    """Return the most common words of each language that has a word table, by ISO 639-1 code."""
    return {code: frozenset(WORDS[f"common_{code}"].split()) for code in _WITH_COMMON_WORDS}


def common_words_of(question: Sequence[str]) -> frozenset[str]:
    """Return the most common words of the language of a question, given by its words; empty if it
    is not known."""
    return _common_words().get(language_of_question(question), frozenset())


@cache
def _owners() -> Mapping[str, tuple[str, ...]]:
    """Return the languages in which each common word is common."""
    owners = defaultdict[str, list[str]](list)
    for code, words in _common_words().items():
        for word in words:
            owners[word].append(code)
    return {word: tuple(codes) for word, codes in owners.items()}


def detect_language(question: str) -> str:
    """Return the ISO 639-1 code of a question's language.

    It is empty if uncertain, as for a list of names.
    """
    prose = prose_of(question) or question
    # A few common words tell English from all other languages, but not the others from their
    # relatives.
    if language_beyond_doubt(prose) == "en":
        return "en"
    if prose.isupper():
        prose = prose.lower()
    code, likelihood = _likeliest(_likelihoods(prose, ""))
    return code if likelihood >= _SURE else ""


def is_written_in(passage: str, code: str) -> bool | None:
    """Whether a Markdown text is written in the language with this ISO 639-1 code.

    None if uncertain.
    """
    prose = prose_of(passage)
    letters = sum(map(str.isalpha, prose)) + 2 * len(_DENSE.findall(prose))
    if not code or letters < _LEAST_LETTERS:
        return None
    if language_beyond_doubt(prose) == code:
        return True
    likelihoods = _likelihoods(prose, code)
    if code not in likelihoods:
        return None
    best, likelihood = _likeliest(likelihoods)
    if best == code or any({best, code} <= similar for similar in _SIMILAR):
        return True
    return False if likelihood >= _FOREIGN else None


def foreign_sections(markdown: str, code: str) -> list[Section]:
    """Return the parts of a Markdown text that are certainly not in a language.

    `code` is the ISO 639-1 code of the language; if it is empty, the result is empty. A part is a
    section, or a paragraph of a section that is not in another language as a whole. Short texts and
    text that is not prose (see `prose_of`) do not count.
    """
    foreign = list[Section]()
    for section in sections_of(markdown):
        if is_written_in(section.text, code) is False:
            foreign.append(section)
            continue
        for paragraph in paragraphs_of(section):
            if is_written_in(paragraph.text, code) is False:
                foreign.append(paragraph)
    return foreign


def _likeliest(likelihoods: Mapping[str, float]) -> tuple[str, float]:
    return max(likelihoods.items(), key=lambda pair: pair[1])


def _likelihoods(prose: str, code: str) -> dict[str, float]:
    """Return the likelihood of each language for the prose.

    It is the geometric mean of those with and without names (see `_ranked`).
    """
    whole = _ranked(prose, code)
    nameless = _ranked(without_names(prose), code)
    means = dict[str, float]()
    for language in whole:
        means[language] = sqrt(whole[language] * nameless[language])
    return _scaled(means)


def _ranked(text: str, code: str) -> dict[str, float]:
    """Return the likelihood of each language of a text by our priors.

    The language `code` counts as a common one.
    """
    weights = dict.fromkeys(OTHERS.split(), _OTHERS_WEIGHT)
    weights.update(dict.fromkeys([*COMMON.split(), code], 1.0))
    likelihoods = dict[str, float]()
    for language, likelihood in _identifier().rank(text):
        if language in weights:
            likelihoods[language] = likelihood * weights[language]
    return _scaled(likelihoods)


def _scaled(values: Mapping[str, float]) -> dict[str, float]:
    """Return the values in the same proportions, with a sum of 1."""
    total = sum(values.values())
    return {name: value / total for name, value in values.items()}


@cache
def _identifier() -> LanguageIdentifier:
    # Loading the model takes nearly a second, too long for an import.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
