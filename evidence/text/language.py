"""Tells which language a text is written in, without asking anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

from .inflection.common_words import evident_language, is_evidently
from .prose import Section, paragraphs_of, prose_of, sections_of, without_names

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

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


def language_of(question: str) -> str:
    """ISO 639-1 code of the language that a question is asked in; empty if that is not sure, as with names alone."""
    prose = prose_of(question) or question
    # Other languages have near relations that a few words do not tell apart.
    if evident_language(prose) == "en":
        return "en"
    code, likelihood = _best(_likelihoods(prose.lower() if prose.isupper() else prose, ""))
    return code if likelihood >= SURE else ""


def is_written_in(passage: str, code: str) -> bool | None:
    """Whether a Markdown text is written in the language of this ISO 639-1 code; none where that cannot be told."""
    prose = prose_of(passage)
    if not code or _letters(prose) < LEAST_LETTERS:
        return None
    if is_evidently(prose, code):
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
