"""Splits a request into its parts, questions or topics, and gives the report its title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, tokens
from ._units import split_sentences

PASTED = 100
"""A longer request (in words) without points or a final question is one topic, such as a pasted
abstract."""
_CONTEXT_CHARACTERS = 200
"""Maximum characters of the request that a question keeps as its context."""
_LONGEST_ITEM, _FEWEST_ITEMS = 16, 3
"""Maximum words of an item behind a colon, and minimum number of such items."""
_MOST_QUESTIONS = 4
"""With more questions than that, each one is a topic."""
_TITLE_WORDS = 10
_ASKS = (
    r"(?:how|what|when|where|which|who(?:m|se)?|why|wann|warum|was|we[rmn]|welche\w*|wie|wo|"
    r"combien|comment|o[uù]|pourquoi|quand|quel\w*|qu[ei]|c[oó]mo|cu[aá]\w+|d[oó]nde|"
    r"qué|qui[eé]n\w*)"
)
"""Pattern of a question word."""
_AND = r"(?:and|or|but|und|oder|et|ou|y|e)"
_NEXT = re.compile(rf"(?:,?\s+{_AND}|,)\s+(?=(?:\w+\s+)?{_ASKS}\b)", re.IGNORECASE)
"""Matches what separates two questions in a sentence."""
_MARK = re.compile(r"(?:(?<=\s)|^)\(?(?:\d{1,2}|[a-h])[).]\s+(?=\S)|^\s*[-*•–]\s+", re.MULTILINE)
"""Matches the number, letter or bullet of a point."""
_ITEM_END = re.compile(r"[,;，；、]")
_LAST = re.compile(rf"\s+{_AND}\s+", re.IGNORECASE)
"""Matches what separates the last two items of a list."""
_FIRST_AND = re.compile(rf"^{_AND}\s+", re.IGNORECASE)
_ENDS = " .,;?？"
"""Characters that are removed from the ends of items and questions."""
_IS_QUESTION = re.compile(r"[?？]\W*$")
_OVERVIEW = re.compile(r"summar|sum up|overview|zusammenfass|résum", re.IGNORECASE)
"""Matches a request for an overview, which is a topic."""


class Part(NamedTuple):
    """A question or topic of a request."""

    text: str
    """The user's words; one of several questions ends in a question mark, a topic does not."""
    context: str = ""
    """The request around it, or the previous one, without which it would be unclear."""
    position: int = 1
    """Position among the parts of the request, from 1."""
    total: int = 1
    """Number of parts of the request."""

    @property
    def is_pasted(self) -> bool:
        """Whether it is a long text, to which the documents on its topic are wanted."""
        return len(self.text.split()) > PASTED

    @property
    def is_topic(self) -> bool:
        """Whether everything about it is wanted; otherwise it is a question."""
        if self.total > 1:
            return not _IS_QUESTION.search(self.text)
        return self.is_pasted or _OVERVIEW.search(self.text) is not None


def split_request(request: str) -> list[Part]:
    """Return the parts of a request in order: its points, the items behind a colon, its questions
    or main sentence.

    The context of points and items is what precedes their list; that of questions is the beginning
    of the request.
    """
    request = request.strip()
    sentences = _sentences(request)
    points = _points(request)
    if points:
        return _parts(points, _above_points(request))
    asked = _asked(sentences)
    if len(request.split()) > PASTED and sentences[-1] not in asked:
        return [Part(" ".join(request.split()))]
    for sentence in sentences:
        items = _items_behind_colon(sentence)
        if items:
            return _parts(items, sentence.partition(":")[0])
    questions = list[str]()
    for sentence in asked or [_main(sentences)]:
        questions += _questions_in(sentence)
    if len(questions) == 1:
        return _parts(questions, request)
    # Without a question mark, each is a topic.
    mark = "?" if len(questions) <= _MOST_QUESTIONS else ""
    texts = [question.rstrip(_ENDS) + mark for question in questions]
    return _parts(texts, request)


def _parts(texts: Sequence[str], context: str) -> list[Part]:
    """Return the parts with these texts; a part that is the whole request needs no context."""
    whole = " ".join(context.split())
    shown = whole[:_CONTEXT_CHARACTERS]
    if texts[0] == whole:
        shown = ""
    return [Part(text, shown, position, len(texts)) for position, text in enumerate(texts, 1)]


def title_of(request: str) -> str:
    """Return the subject of a request in at most ten words.

    This is its first question, or its main sentence from the first word on that says what it is
    about up to a colon. A list of points is not part of it.
    """
    text = request
    if _points(request):
        text = _above_points(request) or request
    sentences = _sentences(text)
    asked = _asked(sentences)
    if asked:
        words = asked[0].split()
    else:
        words = _main(sentences).partition(":")[0].split()
        while len(words) > 1 and _is_unspecific(words[0]):
            words = words[1:]
    is_cut = len(words) > _TITLE_WORDS
    words = words[:_TITLE_WORDS]
    while is_cut and len(words) > 1 and STOP_WORDS.issuperset(tokens(words[-1])):
        words = words[:-1]
    title = " ".join(words).rstrip(" .,;:")
    if is_cut:
        title += "…"
    return title[:1].upper() + title[1:]


def _sentences(request: str) -> list[str]:
    """Return the sentences with words; the whole request if there is none."""
    sentences = list[str]()
    for sentence in split_sentences(request):
        if any(map(str.isalnum, sentence)):
            sentences.append(sentence)
    return sentences or [request]


def _asked(sentences: Sequence[str]) -> list[str]:
    """Return the questions among the sentences, except those that name no subject, such as
    "Compare them?".
    """
    asked = list[str]()
    for sentence in sentences:
        if _IS_QUESTION.search(sentence) and not _is_unspecific(sentence):
            asked.append(sentence)
    return asked


def _main(sentences: Sequence[str]) -> str:
    """Return the sentence with the most content words."""
    return max(sentences, key=lambda sentence: len({*tokens(sentence)} - STOP_WORDS))


def _is_unspecific(text: str) -> bool:
    """Whether no word of a text says anything about a subject."""
    return (STOP_WORDS | GENERIC_WORDS).issuperset(tokens(text))


def _points(request: str) -> list[str]:
    """Return the first sentences of the request's points.

    Empty if it is not mainly a list of points.
    """
    marks = list(_MARK.finditer(request))
    if len(marks) < 2:
        return []
    ends = [mark.start() for mark in marks[1:]]
    ends.append(len(request))
    points = list[str]()
    words_of_points = 0
    for mark, end in zip(marks, ends, strict=True):
        text = " ".join(request[mark.end() : end].split())
        if text:
            point = _item(split_sentences(text)[0])
            words_of_points += len(point.split())
            points.append(point)
    words = len(request.split())
    is_list = words <= PASTED or 2 * words_of_points > words
    return points if is_list else []


def _above_points(request: str) -> str:
    """Return the text before the first point."""
    mark = _MARK.search(request)
    return request[: mark.start()].strip() if mark else request


def _items_behind_colon(sentence: str) -> list[str]:
    """Return the items of a list behind a colon; empty if there is none."""
    _, _, tail = sentence.partition(":")
    pieces = [piece.strip() for piece in _ITEM_END.split(tail) if piece.strip(_ENDS)]
    if len(pieces) < _FEWEST_ITEMS:
        return []
    last = pieces[-1]
    if not _FIRST_AND.match(last):
        pieces[-1:] = _LAST.split(last)
    items = list(filter(None, map(_item, pieces)))
    longest = max(len(item.split()) for item in items)
    return items if longest <= _LONGEST_ITEM else []


def _item(text: str) -> str:
    """Return a point or item without a conjunction before it and punctuation around it."""
    return _FIRST_AND.sub("", text.strip(_ENDS)).strip(_ENDS)


def _questions_in(sentence: str) -> list[str]:
    """Return the questions that a sentence consists of."""
    questions = list[str]()
    for piece in _NEXT.split(sentence):
        question = piece.strip(" ,")
        if not _is_unspecific(question):
            questions.append(question)
    return questions or [sentence]
