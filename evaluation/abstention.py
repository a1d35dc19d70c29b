"""Whether a report says that the documents do not answer the question."""

from __future__ import annotations

import re

from deep_research.evaluation.wording import LEAD_WORDS, cited_numbers, words_of

_DOCUMENTS = r"\b(?:documents?|sources?|corpus|material|files?|texts?|passages?|evidence|findings?|research)\b"
_SAY = (
    r"(?:answer|say|state|contain|mention|cover|tell|give|name|identify|provide|specify|establish|include|support|"
    r"indicate|address|show|reveal)"
)
_NOT = r"(?:\s+not|n['’]t)"
_NEAR = r"[^.!?]{0,60}?"
# These speak of the documents, and may well cite one that says too little.
_OF_DOCUMENTS = re.compile(
    rf"{_DOCUMENTS}{_NEAR}\b(?:do|does|did){_NOT}\s+(?:\w+\s+){{0,2}}{_SAY}\b"
    rf"|{_DOCUMENTS}{_NEAR}\b{_SAY}s?\s+(?:no|nothing|neither)\b"
    rf"|\bnot\s+(?:be\s+)?(?:found|answered|stated|mentioned|given|covered)\s+(?:in|by)\s+(?:\w+\s+){{0,2}}{_DOCUMENTS}"
    rf"|\b(?:no|none of the)\s+(?:\w+\s+)?{_DOCUMENTS}{_NEAR}\b(?:answer|say|state|contain|mention|name|give)s?\b",
    re.IGNORECASE,
)
# These may as well be what a document says of its own subject, and then cite it.
_OF_ANYTHING = re.compile(
    r"\bno\s+(?:\w+\s+){0,2}(?:answer|information|evidence|record|mention)\b"
    r"|\bnothing\b[^.!?]{0,40}\b(?:was|is|could be)\s+found\b"
    rf"|\b(?:can|could)(?:{_NOT}|not)\s+be\s+(?:\w+\s+)?(?:found|answered|determined|established|confirmed|identified)\b"
    r"|\b(?:unable|not possible)\s+to\s+(?:find|answer|determine|establish|identify)\b"
    r"|\bunanswerable\b|\binsufficient\s+(?:information|evidence)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?:\s*\[\d[\d, ]*\])*\s+|\n+")


def abstains(text: str) -> bool:
    """Whether the beginning of a report says, in English, that there is no answer in the documents."""
    return any(map(_says_so, _first_sentences(text)))


def _says_so(sentence: str) -> bool:
    if _OF_DOCUMENTS.search(sentence):
        return True
    return not cited_numbers(sentence) and _OF_ANYTHING.search(sentence) is not None


def _first_sentences(text: str) -> list[str]:
    """The sentences that begin within the lead, with the citations behind them; no headings."""
    found, begin, count = [], 0, 0
    ends = [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    for end in ends:
        sentence, begin = text[begin:end], end
        if sentence.lstrip().startswith("#"):
            continue
        if count >= LEAD_WORDS:
            break
        found.append(sentence)
        count += len(words_of(sentence))
    return found
