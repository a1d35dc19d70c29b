"""Takes a request apart: its parts, the words of each that carry meaning, and the kind of thing that it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...evidence.language import IN_QUESTION, common_words, language_by_words
from ...evidence.text.stems import bare, sought_words
from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, names, stem, sure_month_names, tokens
from .units import split_sentences

PASTED = 100
"""Words above which a request without points is a text to go by, and is not taken apart."""
LONGEST_ITEM, FEWEST_ITEMS = 16, 4
"""Words of an item of a list at most, and items of a list without a colon at least."""
AMOUNTS = frozenset({"many", "much", "long", "often", "viele", "viel", "lange"})
"""Words that only say that an amount is wanted."""
_HOW = r"how (?!do|does|did|is|are|was|were|can|could|to|should|will|would|has|have|the)\w+"
_KINDS = {
    "number": rf"{_HOW}|wie ?(?:viel\w*|lange?|hoch|groß|oft|teuer|schnell|weit|alt)|combien|cu[aá]nt[oa]s?|"
    "quant[oaie]|hoeveel|сколько|多少|几",
    "date": "when|(?:what|which) (?:year|date|day|month)|wann|quand|cu[aá]ndo|quando|wanneer|когда|いつ",
    "name": "who|whom|whose|wer|wem|wen|wessen|qui|qui[eé]n(?:es)?|chi|quem|кто|кого|where|woher|wohin|wo|où|d[oó]nde|"
    "dove|onde|waar|где|куда|谁|哪里|だれ|どこ",
    "any": "what|which|why|how|welche[mnrs]?|warum|weshalb|wieso|wie|quel(?:le)?s?|pourquoi|comment|qué|cu[aá]l(?:es)?|"
    "cómo|quale|quali|perch[eé]|quais|wat|welke?|waarom|hoe|что|какой|почему|как|什么|什麼|哪|何",
}
"""The words that ask, by the kind of thing they ask for."""
_ASKING = {kind: re.compile(rf"(?<!\w)(?:{words})(?![^\W\d_一-龥])", re.IGNORECASE) for kind, words in _KINDS.items()}
_AND = r"(?:and|or|but|und|oder|et|ou|y|e|sowie)"
_BEFORE = "at|by|for|from|in|of|on|to|until|with|ab|auf|aus|bis|mit|von|à|de|en|con|per"
_NEXT = re.compile(
    rf"(?:,?\s+{_AND}|,)\s+(?=(?:(?:{_BEFORE})\s+)?(?:{'|'.join(_KINDS.values())})(?!\w))", re.IGNORECASE
)
_MARK = re.compile(r"(?:(?<=\s)|^)\(?(\d{1,2}|[a-h])[).]\s+(?=\S)|^\s*[-*•–]\s+", re.MULTILINE)
_LAST = re.compile(rf"\s+{_AND}\s+", re.IGNORECASE)
_OUTER_AND = re.compile(rf"^\s*{_AND}\s+|[\s,;.]+{_AND}[\s,;.]*$", re.IGNORECASE)
_ENDS = " .,;?？"
_IS_QUESTION = re.compile(r"[?？]\W*$")
_NUMBER = re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|once|twice)\b", re.I)
_TIME = re.compile(r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[./]\d{1,2}\b|\d年|\b\d{1,2}[:.h]\d\d\b")


class Part(NamedTuple):
    """Something that is asked for."""

    text: str
    """In the asker's words; a question, which wants an answer, ends in a question mark; a topic does not."""
    context: str = ""
    """What it is about, as far as its own words do not say."""

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
            return [
                Part(text, f"{last.rstrip(' :')} {_names_in(before)}".strip()) for one in points if (text := _item(one))
            ]
    lines = [" ".join(line.split()) for line in request.splitlines()]
    said = [one for line in lines for one in split_sentences(line) if any(map(str.isalnum, one))] or [request]
    asked = [one for one in said if _IS_QUESTION.search(one)]
    if is_long and said[-1] not in asked:
        return [Part(" ".join(request.split()))]
    for one in said:
        head, colon, tail = one.partition(":")
        items = _items(tail) if colon else [] if asked else _items(one)
        if len(items) < FEWEST_ITEMS - bool(colon) or max(len(item.split()) for item in items) > LONGEST_ITEM:
            continue
        if not colon:
            words = items[0].split()
            items[0] = " ".join(words[max((n for n, word in enumerate(words, 1) if word in STOP_WORDS), default=0) :])
        context = f"{head if colon else ''} {_names_in([other for other in said if other != one])}".strip()
        return [Part(item, context) for item in items if item]
    if not asked:
        main = max(said, key=lambda one: len(content_words(one)))
        asked = [f"{main.strip(_ENDS)}?"] if any(form.match(main) for form in _ASKING.values()) else [main]
    around = _names_in([one for one in said if one not in asked])
    pieces = [piece.strip(" ,;") for one in asked for piece in _NEXT.split(one)]
    pieces = [piece for piece in pieces if content_words(piece)]
    if len(pieces) < 2:
        return [Part(asked[0] if asked[0].endswith(("?", "？")) else asked[0].strip(_ENDS) or asked[0], around)]
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
    kept = (word for word in words if bare(word) not in common and (word not in generic or bare(word) in in_names))
    return {stem(bare(word)): word for word in kept}


def kind_of(question: str) -> str:
    """Return the kind of thing that a question asks for: `number`, `date`, `name` or `any`."""
    return next((kind for kind, form in _ASKING.items() if form.search(question)), "any")


def holds(kind: str, text: str, question: str) -> bool:
    """Return whether a text holds a thing of this kind that the question does not name itself."""
    if kind == "number":
        return _NUMBER.search(text) is not None
    if kind == "date":
        is_new = any(found.group() not in question for found in _TIME.finditer(text))
        return is_new or not sure_month_names().isdisjoint(tokens(text))
    known = {*tokens(question)}
    found = (name for name in names(text) if " " in name or not text.startswith(name))
    return kind == "name" and any(not known.issuperset(tokens(name)) for name in found)
