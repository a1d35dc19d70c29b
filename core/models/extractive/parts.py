"""Splits a request into its questions and topics ("parts"), and finds the words that say what they are about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...evidence.language import IN_QUESTION, common_words, language_by_words
from ...evidence.text.stems import sought_words, unaccented
from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, names, stem, tokens
from .units import split_sentences

PASTED = 100
"""A longer request (in words) without numbered points is treated as pasted text and not split."""
_LONGEST_ITEM, _FEWEST_ITEMS = 16, 4
"""Maximum words of a list item, and minimum items of a list that no colon introduces."""
_AMOUNTS = frozenset({"many", "much", "long", "often", "viele", "viel", "lange"})
"""Words that ask for an amount; they say nothing about the subject."""
_ASKS = (
    r"(?:how|what|when|where|which|who(?:m|se)?|why|wann|warum|was|we[rmn]|welche\w?|wie\w*|wo\w{0,3}|combien|comment|"
    r"o[uù]|pourquoi|quand|quel\w*|qui|c[oó]mo|cu[aá]\w+|d[oó]nde|qué|qui[eé]n\w*)(?!\w)"
)
"""Pattern of a question word."""
_AND = r"(?:and|or|but|und|oder|et|ou|y|e|sowie)"
_BEFORE = "at|by|for|from|in|of|on|to|until|with|ab|auf|aus|bis|mit|von|à|de|en|con|per"
_NEXT = re.compile(rf"(?:,?\s+{_AND}|,)\s+(?=(?:(?:{_BEFORE})\s+)?{_ASKS})", re.IGNORECASE)
"""Matches what separates two questions in a sentence."""
_MARK = re.compile(r"(?:(?<=\s)|^)\(?(\d{1,2}|[a-h])[).]\s+(?=\S)|^\s*[-*•–]\s+", re.MULTILINE)
"""Matches the number, letter or bullet of a point in a list."""
_LAST = re.compile(rf"\s+{_AND}\s+", re.IGNORECASE)
"""Matches what separates the last two items of a list."""
_OUTER_AND = re.compile(rf"^\s*{_AND}\s+|[\s,;.]+{_AND}[\s,;.]*$", re.IGNORECASE)
"""Matches a conjunction at the beginning or end of a list item."""
_ENDS = " .,;?？"
"""Characters that are removed from the ends of items and questions."""
_IS_QUESTION = re.compile(r"[?？]\W*$")


class Part(NamedTuple):
    """A question or topic of a request."""

    text: str
    """The user's words; a question ends in a question mark, a topic does not."""
    context: str = ""
    """Words from the rest of the request without which the part would be unclear."""
    position: int = 1
    """Position among the parts of the request, from 1."""
    total: int = 1
    """Number of parts of the request."""

    @property
    def is_question(self) -> bool:
        """Whether the part is a question; otherwise it names a topic, about which everything is wanted."""
        return _IS_QUESTION.search(self.text) is not None


def split_request(request: str) -> list[Part]:
    """Return the parts of a request in order: its numbered points, list items or questions; else the whole request."""
    request = request.strip()
    marks = list(_MARK.finditer(request))
    is_long = len(request.split()) > PASTED
    if len(marks) > 1 and marks[0][1] in (None, "1", "a"):
        ends = [*(mark.start() for mark in marks[1:]), len(request)]
        points = [" ".join(request[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=True)]
        # The last point ends with its sentence: the request may continue after it.
        points[-1] = next(iter(split_sentences(points[-1])), "")
        if not is_long or 2 * len(" ".join(points).split()) > len(request.split()):
            *before, last = split_sentences(request[: marks[0].start()]) or [""]
            context = f"{last.rstrip(' :')} {_names_in(before)}".strip()
            return [Part(text, context) for text in map(_item, points) if text]
    sentences = [text for text in split_sentences(request) if any(map(str.isalnum, text))] or [request]
    asked = [sentence for sentence in sentences if _IS_QUESTION.search(sentence) and content_words(sentence)]
    if is_long and sentences[-1] not in asked:
        return [Part(" ".join(request.split()))]
    for sentence in sentences:
        head, colon, tail = sentence.partition(":") if ":" in sentence else ("", "", sentence)
        items = _items(tail) if colon or not asked else []
        if len(items) >= _FEWEST_ITEMS - bool(colon) and max(len(item.split()) for item in items) <= _LONGEST_ITEM:
            if not colon:
                # The first item begins with the words of the instruction, such as "Compare the".
                words = items[0].split()
                start = max((end for end, word in enumerate(words, 1) if word in STOP_WORDS), default=0)
                items[0] = " ".join(words[start:])
            context = f"{head} {_names_in([other for other in sentences if other != sentence])}".strip()
            return [Part(item, context) for item in items if item]
    if not asked:
        main = max(sentences, key=lambda sentence: len(content_words(sentence)))
        asked = [f"{main.strip(_ENDS)}?" if re.match(_ASKS, main, re.IGNORECASE) else main]
    others = [sentence for sentence in sentences if sentence not in asked]
    # A one-word question, such as a reply to a clarifying question, needs the other sentences.
    around = _names_in(others) if len(content_words(" ".join(asked))) > 1 else " ".join(others)
    pieces = [piece.strip(" ,;") for question in asked for piece in _NEXT.split(question) if content_words(piece)]
    if len(pieces) < 2:
        main = next(iter(pieces), asked[0])
        return [Part(main if _IS_QUESTION.search(main) else main.strip(_ENDS) or main, around)]
    return [Part(f"{piece.strip(_ENDS)}?", " ".join([*asked, around]).strip()) for piece in pieces]


def _item(text: str) -> str:
    """Return a list item without the punctuation and conjunctions around it."""
    return _OUTER_AND.sub("", text.strip(_ENDS)).strip(_ENDS)


def _items(text: str) -> list[str]:
    """Return the items of a list, which semicolons or commas outside brackets separate; empty if it is no list."""
    for mark in ("[;；]", r"[,，、](?![^(]*\))"):
        items = [item for item in re.split(mark, text) if item.strip(_ENDS)]
        if len(items) > 1:
            if not re.match(rf"\s*{_AND}\s", items[-1], re.IGNORECASE):
                items[-1:] = _LAST.split(items[-1], maxsplit=1)
            return [item for item in map(_item, items) if item]
    return []


def _names_in(sentences: Sequence[str]) -> str:
    """Return the names in sentences, except single words that may be capitalized only because they begin a sentence."""
    found = ((sentence.lstrip("\"'“„(¿¡"), name) for sentence in sentences for name in names(sentence))
    return " ".join(dict.fromkeys(name for start, name in found if " " in name or not start.startswith(name)))


def content_words(text: str, generic: frozenset[str] = GENERIC_WORDS) -> dict[str, str]:
    """Return the words that say what a request is about, by their stems; words in `generic` count only within names."""
    words = sought_words(text)
    common = (
        STOP_WORDS
        | frozenset(map(unaccented, common_words().get(language_by_words(words, IN_QUESTION), ())))
        | _AMOUNTS
    )
    in_names = {word for name in names(text) for word in tokens(name)}
    uncommon = (word for word in words if common.isdisjoint((unaccented(word), stem(unaccented(word)))))
    kept = (word for word in uncommon if word not in generic or unaccented(word) in in_names)
    return {stem(unaccented(word)): word for word in kept}
