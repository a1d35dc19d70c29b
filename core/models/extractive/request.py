"""Takes a request apart: what is asked, part by part, and what only says how it is to be answered.

No words tell the two apart, but marks do: questions, numbered points, bullets, what is listed behind a colon or in a
row. Whatever is left is asked for only if the documents hold it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, names, tokens
from ..request import Document
from .pool import QUESTION_WORDS, Pool, Sentence, asks
from .units import split_sentences

Look = Callable[[str], Sequence[Document]]
"""Shows what the documents hold for some words."""

PASTED = 100
"""Words from which on a request without numbered points is a text to go by, and no longer taken apart."""
MARKED = 0.5
"""Share of the words of a request that marked points must make up to be what it asks for."""
LONGEST_ITEM, LONGEST_ENUMERATED = 16, 9
"""Words of an item behind a colon, and of one in a row without any."""
FEWEST_ENUMERATED = 4
"""Items of a row that is no list of things, but of subjects."""
SPEAKS = 0.34
"""Share of the words of an item that some unit must hold."""
MOSTLY = 0.6
"""Share of the items behind a colon of which this must hold for all of them to be subjects."""
SURELY, SURE_WORDS = 0.6, 3
"""The same, and their number, of a sentence that says something beside a question or a list."""
_AND = r"(?:and|or|und|oder|et|ou|y|e|as well as|sowie)"
_MARK = re.compile(
    r"(?:(?<=\s)|^)(?:\(?(?P<inner>\d{1,2}|[a-h])\)|(?P<point>\d{1,2})\.)\s+(?=\S)|^\s*[-*•–]\s+", re.MULTILINE
)
_BEFORE = "at|by|for|from|in|of|on|to|until|with|ab|auf|aus|bis|mit|von|à|de|en|con|per"
_ASKING = rf"(?=(?:(?:{_BEFORE}) )?(?:{QUESTION_WORDS})(?!\w))"
_NEXT = re.compile(rf",?\s+(?:but|{_AND})\s+{_ASKING}", re.IGNORECASE)
"""What stands between two questions in one sentence."""
_NEXT_OR_COMMA = re.compile(rf"{_NEXT.pattern}|,\s+{_ASKING}", re.IGNORECASE)
"""The same of three or more; of two, a comma would rather stand before a clause that belongs to the first."""
_LAST = re.compile(rf"\s*,\s*{_AND}\s+|\s+{_AND}\s+", re.IGNORECASE)
_LEADING_AND = re.compile(rf"^\s*{_AND}\s+", re.IGNORECASE)
_TRAILING = re.compile(rf"[\s,;.]+{_AND}?[\s,;.]*$", re.IGNORECASE)
_IS_QUESTION = re.compile(r"[?？]\W*$")
_ENDS = " .,;?？"


class Part(NamedTuple):
    """Something that is asked for."""

    text: str
    """In the asker's words."""
    context: str = ""
    """What it is about, as far as its own words do not say."""
    is_question: bool = True
    """Whether it wants an answer; a topic wants all that tells of it."""


def take_apart(request: str, look: Look | None = None) -> list[Part]:
    """Return what a request asks for, in its order; one part at least."""
    request = request.strip()
    marks = [*_MARK.finditer(request)]
    if len(marks) > 1 and _are_in_sequence(marks):
        parts = _marked(request, marks)
        if sum(len(part.text.split()) for part in parts) > MARKED * len(request.split()):
            return parts
    lines = [" ".join(line.split()) for line in request.splitlines()]
    said = [one for line in lines for one in split_sentences(line) if any(map(str.isalnum, one))] or [request]
    if len(request.split()) > PASTED and not _IS_QUESTION.search(said[-1]):
        return [Part(" ".join(request.split()), is_question=False)]
    asked = [one for one in said if _IS_QUESTION.search(one)]
    others = [one for one in said if one not in asked]
    listed = [part for one in others for part in (_listed(one, look) or _enumerated(one, look))]
    if listed:
        return _about(listed, others)
    if asked:
        parts = [part for one in asked for part in _of_question(one, said, asked, look)]
    else:
        main = _most_telling(others, look)
        parts = _questions(main)
        others = [one for one in others if one != main]
    parts += [_part(one) for one in others if _is_surely_asked(one, look)]
    return _about(parts, others)


def _part(text: str, context: str = "") -> Part:
    return Part((text.strip(_ENDS) if not asks(text) else "") or text.strip(), context, asks(text))


def _about(parts: Sequence[Part], others: Sequence[str]) -> list[Part]:
    """Return the parts, with the names that stand around them."""
    subject = " ".join(name for one in others for name in _inner_names(one))
    return [part._replace(context=f"{part.context} {subject}".strip()) for part in parts]


def _inner_names(sentence: str) -> Iterator[str]:
    """Return names, without words that are capitalized only because they begin the sentence."""
    return (name for name in names(sentence) if " " in name or not sentence.lstrip("\"'“„(¿¡").startswith(name))


def _of_question(one: str, said: Sequence[str], asked: Sequence[str], look: Look | None) -> list[Part]:
    parts = _listed(one, look) or _questions(one)
    # "What is that?" asks about what was said before.
    before = next((other for other in reversed(said[: said.index(one)]) if other not in asked), "")
    return [
        part._replace(context=f"{part.context} {before}".strip()) if _content(part.text) < 2 else part for part in parts
    ]


def _questions(sentence: str) -> list[Part]:
    if not asks(sentence):
        return [_part(sentence)]
    joint = _NEXT_OR_COMMA if _NEXT.search(sentence) else _NEXT
    pieces = [bare for piece in joint.split(sentence) if (bare := piece.strip(" ,;"))]
    pieces = [piece for piece in pieces if _content(piece) or asks(piece)]
    if len(pieces) < 2 or not asks(pieces[0]):
        return [Part(pieces[0] if len(pieces) == 1 else sentence)]
    return [Part(piece, sentence) for piece in pieces]


def _content(text: str) -> int:
    return len({word for word in tokens(text) if word not in STOP_WORDS and word not in GENERIC_WORDS})


def _are_in_sequence(marks: Sequence[re.Match[str]]) -> bool:
    numbers = [number for mark in marks if (number := mark["inner"] or mark["point"])]
    return not numbers or (numbers[0] in ("1", "a") and len(numbers) > 1)


def _marked(request: str, marks: Sequence[re.Match[str]]) -> list[Part]:
    context = " ".join(_inner_names(request[: marks[0].start()]))
    ends = [*(mark.start() for mark in marks[1:]), None]
    bodies = [" ".join(request[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=True)]
    # Behind the last point the request goes on.
    bodies[-1] = next(iter(split_sentences(bodies[-1])), "")
    return [_part(body, context) for one in bodies if (body := _TRAILING.sub("", one))]


def _listed(sentence: str, look: Look | None) -> list[Part]:
    """Return what stands behind a colon."""
    head, _, tail = sentence.partition(":")
    items = _items(tail) if tail.strip() else []
    if len(items) < 2 or max(len(item.split()) for item in items) > LONGEST_ITEM or (asks(tail) and len(items) < 3):
        return []
    spoken = [item for item in items if asks(item) or look is None or _share(item, look) >= SPEAKS]
    # Where the documents speak of most items, the others are asked for, too, and missing.
    return [_part(item, head) for item in (items if len(spoken) >= MOSTLY * len(items) else spoken)]


def _enumerated(sentence: str, look: Look | None) -> list[Part]:
    """Return what stands in a row without a colon, if different documents speak of it."""
    items = _items(sentence.strip(_ENDS))
    if (
        look is None
        or len(items) < FEWEST_ENUMERATED
        or max(len(item.split()) for item in items[1:]) > LONGEST_ENUMERATED
    ):
        return []
    addresses = {address for item in items if (address := _best_address(item, look))}
    if len(addresses) * 2 <= len(items):
        return []
    words = items[0].split()
    last = max((place for place, word in enumerate(words) if STOP_WORDS.issuperset(tokens(word))), default=-1)
    items[0] = " ".join(words[last + 1 :]) or items[0]
    return [Part(item, sentence, False) for item in items if _share(item, look) >= SPEAKS]


def _items(text: str) -> list[str]:
    """Return the items of a list: between semicolons, or between commas outside brackets."""
    for mark in (";；", ",，、"):
        items = _split(text, mark)
        if len(items) > 1:
            last = _LEADING_AND.sub("", items[-1])
            pair = _LAST.split(last)
            ends = pair if last == items[-1] and mark[0] == "," and len(pair) == 2 else [last]
            return [bare for item in [*items[:-1], *ends] if (bare := item.strip(_ENDS))]
    return [bare for item in _LAST.split(text) if (bare := item.strip(_ENDS))]


def _split(text: str, marks: str) -> list[str]:
    depth, pieces = 0, [""]
    for character in text:
        depth += (character in "([（") - (character in ")]）")
        if character in marks and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece.strip()]


def _most_telling(sentences: Sequence[str], look: Look | None) -> str:
    """Return the sentence of which the documents hold most words; without documents the first."""
    if look is None or len(sentences) < 2:
        return sentences[0]
    return max(sentences, key=lambda one: (_held(one, look), -sentences.index(one)))


def _is_surely_asked(sentence: str, look: Look | None) -> bool:
    return look is not None and _share(sentence, look) >= SURELY and _held(sentence, look) >= SURE_WORDS


def _best(text: str, look: Look) -> tuple[Pool | None, Sentence | None]:
    documents = look(text)
    pool = Pool(documents, text) if documents else None
    return pool, max(pool.sentences, key=lambda one: pool.weight(one.held), default=None) if pool else None


def _best_address(text: str, look: Look) -> str:
    pool, best = _best(text, look)
    return pool.documents[best.number].address if pool and best else ""


def _share(text: str, look: Look) -> float:
    pool, best = _best(text, look)
    return pool.weight(best.held) if pool and best else 0.0


def _held(text: str, look: Look) -> int:
    _, best = _best(text, look)
    return len(best.held) if best else 0
