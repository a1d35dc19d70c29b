"""Takes a request apart: its parts, and the words of each that carry meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...evidence.language import IN_QUESTION, common_words, language_by_words
from ...evidence.text.stems import bare, sought_words
from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, names, stem, tokens
from .units import split_sentences

PASTED = 100
"""Words above which a request without points is a text to go by, and is not taken apart."""
LONGEST_ITEM, FEWEST_ITEMS = 16, 4
"""Words of an item of a list at most, and items of a list without a colon at least."""
AMOUNTS = frozenset({"many", "much", "long", "often", "viele", "viel", "lange"})
"""Words that only say that an amount is wanted."""
_ASKS = (
    r"(?:how|what|when|where|which|who(?:m|se)?|why|wann|warum|was|we[rmn]|welche\w?|wie\w*|wo\w{0,3}|combien|comment|"
    r"o[uù]|pourquoi|quand|quel\w*|qui|c[oó]mo|cu[aá]\w+|d[oó]nde|qué|qui[eé]n\w*)(?!\w)"
)
"""The words that ask."""
_AND = r"(?:and|or|but|und|oder|et|ou|y|e|sowie)"
_BEFORE = "at|by|for|from|in|of|on|to|until|with|ab|auf|aus|bis|mit|von|à|de|en|con|per"
_NEXT = re.compile(rf"(?:,?\s+{_AND}|,)\s+(?=(?:(?:{_BEFORE})\s+)?{_ASKS})", re.IGNORECASE)
_MARK = re.compile(r"(?:(?<=\s)|^)\(?(\d{1,2}|[a-h])[).]\s+(?=\S)|^\s*[-*•–]\s+", re.MULTILINE)
_LAST = re.compile(rf"\s+{_AND}\s+", re.IGNORECASE)
_OUTER_AND = re.compile(rf"^\s*{_AND}\s+|[\s,;.]+{_AND}[\s,;.]*$", re.IGNORECASE)
_ENDS = " .,;?？"
_IS_QUESTION = re.compile(r"[?？]\W*$")


class Part(NamedTuple):
    """Something that is asked for."""

    text: str
    """In the asker's words; a question, which wants an answer, ends in a question mark; a topic does not."""
    context: str = ""
    """What it is about, as far as its own words do not say."""
    place: int = 1
    """Its place among the parts of the request."""
    total: int = 1
    """How many parts the request has."""

    @property
    def is_question(self) -> bool:
        """Whether it wants an answer rather than all that tells of it."""
        return _IS_QUESTION.search(self.text) is not None


def split(request: str) -> list[Part]:
    """Return what a request asks for, in its order: its points, the items of its list, or its questions."""
    request, marks = request.strip(), list(_MARK.finditer(request.strip()))
    is_long = len(request.split()) > PASTED
    if len(marks) > 1 and marks[0][1] in (None, "1", "a"):
        ends = [*(mark.start() for mark in marks[1:]), len(request)]
        points = [" ".join(request[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=True)]
        # Behind the last point the request goes on.
        points[-1] = next(iter(split_sentences(points[-1])), "")
        if not is_long or 2 * len(" ".join(points).split()) > len(request.split()):
            *before, last = split_sentences(request[: marks[0].start()]) or [""]
            context = f"{last.rstrip(' :')} {_names_in(before)}".strip()
            return [Part(text, context) for text in map(_item, points) if text]
    said = [one for one in split_sentences(request) if any(map(str.isalnum, one))] or [request]
    asked = [one for one in said if _IS_QUESTION.search(one) and content_words(one)]
    if is_long and said[-1] not in asked:
        return [Part(" ".join(request.split()))]
    for one in said:
        head, colon, tail = one.partition(":") if ":" in one else ("", "", one)
        items = _items(tail) if colon or not asked else []
        if len(items) >= FEWEST_ITEMS - bool(colon) and max(len(item.split()) for item in items) <= LONGEST_ITEM:
            if not colon:
                # Before the first item stands what is to be done.
                words = items[0].split()
                start = max((place for place, word in enumerate(words, 1) if word in STOP_WORDS), default=0)
                items[0] = " ".join(words[start:])
            context = f"{head} {_names_in([other for other in said if other != one])}".strip()
            return [Part(item, context) for item in items if item]
    if not asked:
        main = max(said, key=lambda one: len(content_words(one)))
        asked = [f"{main.strip(_ENDS)}?" if re.match(_ASKS, main, re.IGNORECASE) else main]
    others = [one for one in said if one not in asked]
    # A question of one word is not understood without what is said beside it, as in the reply to a question back.
    around = _names_in(others) if len(content_words(" ".join(asked))) > 1 else " ".join(others)
    pieces = [piece.strip(" ,;") for one in asked for piece in _NEXT.split(one) if content_words(piece)]
    if len(pieces) < 2:
        main = next(iter(pieces), asked[0])
        return [Part(main if _IS_QUESTION.search(main) else main.strip(_ENDS) or main, around)]
    return [Part(f"{piece.strip(_ENDS)}?", " ".join([*asked, around]).strip()) for piece in pieces]


def _item(text: str) -> str:
    return _OUTER_AND.sub("", text.strip(_ENDS)).strip(_ENDS)


def _items(text: str) -> list[str]:
    """Return the items of a list: between semicolons, or between commas outside brackets."""
    for mark in ("[;；]", r"[,，、](?![^(]*\))"):
        items = [one for one in re.split(mark, text) if one.strip(_ENDS)]
        if len(items) > 1:
            if not re.match(rf"\s*{_AND}\s", items[-1], re.IGNORECASE):
                items[-1:] = _LAST.split(items[-1], maxsplit=1)
            return [item for one in items if (item := _item(one))]
    return []


def _names_in(sentences: Sequence[str]) -> str:
    """Return the names in sentences, without words that are capitalized only because they begin one."""
    found = ((one.lstrip("\"'“„(¿¡"), name) for one in sentences for name in names(one))
    return " ".join(dict.fromkeys(name for one, name in found if " " in name or not one.startswith(name)))


def content_words(text: str, generic: frozenset[str] = GENERIC_WORDS) -> dict[str, str]:
    """Return the words of a request that carry meaning, by their stems."""
    words = sought_words(text)
    common = STOP_WORDS | frozenset(map(bare, common_words().get(language_by_words(words, IN_QUESTION), ()))) | AMOUNTS
    in_names = {word for name in names(text) for word in tokens(name)}
    uncommon = (word for word in words if common.isdisjoint((bare(word), stem(bare(word)))))
    kept = (word for word in uncommon if word not in generic or bare(word) in in_names)
    return {stem(bare(word)): word for word in kept}
