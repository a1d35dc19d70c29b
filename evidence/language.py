"""Detects which language a text is written in, offline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from .text.prose import Section, paragraphs_of, prose_of, sections_of, without_names
from .text.stems import sought_words
from .text.words import WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier


class Threshold(NamedTuple):
    """What makes a language evident."""

    fewest: int
    """Common words of the language that there must be,"""
    share: float
    """the share of all words that they must be,"""
    ahead: float
    """and how many times as many they must be as of any other language."""


IN_TEXT = Threshold(4, 0.1, 1.5)
"""By which the words of a text are cut: a mistake costs a few forms of words."""
IN_QUESTION = Threshold(2, 0.1, 1.5)
"""The same for a question, which has few words."""
BEYOND_DOUBT = Threshold(3, 0.25, 3)
"""In which a reader is answered, and where nothing else is asked: a mistake spoils the report."""
AS_EXPECTED = Threshold(2, 0.15, 3)
"""The same where a text should be in a language, and probably is."""
APART = frozenset({"de", "en", "es", "fr", "nl"})
"""Languages that can be beyond doubt: the others have near relations that are not in the table, as Bulgarian is."""
_WITH_COMMON_WORDS = ("en", "de", "nl", "fr", "es", "it", "pt", "sv", "da", "no", "fi", "ru")


def language_by_words(words: Sequence[str], lead: Threshold) -> str:
    """ISO 639-1 code of the language whose commonest words are among these; empty if that is not evident."""
    owners = _owners()
    hits = Counter(chain.from_iterable(owners[word] for word in words if word in owners))
    (best, most), (_, next_most) = [*hits.most_common(2), ("", 0), ("", 0)][:2]
    return best if most >= max(lead.fewest, lead.share * len(words), lead.ahead * next_most) else ""


def language_beyond_doubt(text: str) -> str:
    """ISO 639-1 code of the language in which a text is beyond doubt; empty if there is none."""
    found = language_by_words(sought_words(text), BEYOND_DOUBT)
    return found if found in APART else ""


def is_beyond_doubt(text: str, code: str) -> bool:
    """Whether a text that should be in a language is, beyond doubt.

    A word that several languages share speaks for none of them against another: so few sections of English texts of the
    web (1 in 100 instead of 6) need the large model of `language`.
    """
    words, owners = sought_words(text), _owners()
    common = [owners[word] for word in words if word in owners]
    own = [codes for codes in common if code in codes]
    others = Counter(chain.from_iterable(codes for codes in common if code not in codes))
    alone, most = sum(len(codes) == 1 for codes in own), max(others.values(), default=0)
    lead = AS_EXPECTED
    return (
        code in APART and len(own) >= max(lead.fewest, lead.share * len(words)) and alone >= max(1, lead.ahead * most)
    )


@cache
def common_words() -> Mapping[str, frozenset[str]]:
    """The commonest words by the code of their language."""
    return {code: frozenset(WORDS[f"common_{code}"].split()) for code in _WITH_COMMON_WORDS}


@cache
def _owners() -> Mapping[str, tuple[str, ...]]:
    lists = common_words()
    words = frozenset(chain.from_iterable(lists.values()))
    return {word: tuple(code for code, common in lists.items() if word in common) for word in words}


COMMON = "ar bn cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk vi zh"
"""Codes of the languages that most questions are asked in."""
OTHERS = (
    "af am az be bg ca cy et eu ga gl gu hr hy is ka kk km kn lo lt lv mk ml mn mr ms my ne pa ps si sk sl sq sr sw "
    "ta te tl ur uz"
)
"""Codes of further languages that are told apart."""
OTHERS_WEIGHT = 0.3
"""How likely one of these is beside a common one, before a word was read."""
SURE = 0.7
"""Likelihood from which on the language of a question counts as known."""
FOREIGN = 0.9
"""Likelihood from which on a passage counts as written in another language than it should be."""
LEAST_LETTERS = 60
"""Letters of prose that say anything about the language of a passage; Chinese, Japanese and Korean count thrice."""
KIN = (
    *({"da", "nn", "no"}, {"bs", "hr", "sh", "sr"}, {"id", "ms"}, {"gl", "pt"}, {"cs", "sk"}, {"af", "nl"}),
    *({"bg", "mk"}, {"hi", "mr", "ne"}, {"fa", "ps"}),
)
"""Languages that are too near to each other to call one of them foreign beside the other."""
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def detect_language(question: str) -> str:
    """ISO 639-1 code of the language that a question is asked in; empty if that is not sure, as with names alone."""
    prose = prose_of(question) or question
    # Other languages have near relations that a few words do not tell apart.
    if language_beyond_doubt(prose) == "en":
        return "en"
    code, likelihood = _best(_likelihoods(prose.lower() if prose.isupper() else prose, ""))
    return code if likelihood >= SURE else ""


def is_written_in(passage: str, code: str) -> bool | None:
    """Whether a Markdown text is written in the language of this ISO 639-1 code; none where that cannot be told."""
    prose = prose_of(passage)
    if not code or _letters(prose) < LEAST_LETTERS:
        return None
    if is_beyond_doubt(prose, code):
        return True
    likelihoods = _likelihoods(prose, code)
    if code not in likelihoods:
        return None
    best, likelihood = _best(likelihoods)
    if best == code or any({best, code} <= kin for kin in KIN):
        return True
    return False if likelihood >= FOREIGN else None


def foreign_sections(markdown: str, code: str) -> list[Section]:
    """The sections of a text that are surely written in another language than that of the code, in their order.

    Where only paragraphs of a section are, these stand for it. What is no prose (see `prose_of`) and short passages are
    no evidence; without a code, nothing is foreign.
    """
    return [part for section in sections_of(markdown) for part in _foreign_parts(section, code)]


def _foreign_parts(section: Section, code: str) -> Iterator[Section]:
    if is_written_in(section.text, code) is False:
        yield section
    else:
        yield from (part for part in paragraphs_of(section) if is_written_in(part.text, code) is False)


def _letters(prose: str) -> int:
    return sum(map(str.isalpha, prose)) + 2 * len(_DENSE.findall(prose))


def _best(likelihoods: Mapping[str, float]) -> tuple[str, float]:
    return max(likelihoods.items(), key=lambda pair: pair[1])


def _likelihoods(prose: str, code: str) -> dict[str, float]:
    """How likely each language is, together 1; the text with its names and without them counts alike."""
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
    # Loading it takes most of a second, which no import should.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
