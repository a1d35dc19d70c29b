"""Joins a text that was cut off with its continuation, of which what repeats the end of the text is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of scripts that set no spaces between words."""
_TOKEN = re.compile(rf"[{_DENSE}]|[^\W{_DENSE}]+|[^\w\s]")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:[-*+|]|\d{1,3}[.)])\s")
_WORD = re.compile(rf"[^\W_{_DENSE}]")
_ENDED = re.compile(rf"[^\W_{_DENSE}]$|[.…!?,;:)\]%]$")
_OPEN_NUMBER = re.compile(r"\d[.,]?$")
OPENING = 60
"""Characters of a continuation that show whether it repeats the text."""
SLACK = 40
"""Characters by which a repetition may be longer than what it repeats, for its spaces."""
LEAST_WORDS = 3
"""Different words that must be repeated for it to be an overlap and not a turn of phrase."""
LEAST_OF_RESTART = 8
"""Different words from which on a continuation is dropped that repeats the text and never reaches its end."""


class Token(NamedTuple):
    """A word, a character of a script without spaces, or a sign."""

    text: str
    """In lower case."""
    start: int
    end: int


class Continuation:
    """Takes the stream of a continuation and passes on what is new, however the stream is cut.

    Its beginning is held back until it is certain how much of it repeats the end of the text.
    """

    def __init__(self, before: str) -> None:
        """Take the text so far."""
        self._before = before
        self._tokens = [*_tokens(before)]
        self._texts = [token.text for token in self._tokens]
        self._held = ""
        self._places: Sequence[int] = range(len(self._texts))
        """Tokens of the text from which on its end may be repeated."""
        self._needed: int | None = None
        """Characters of the continuation that decide; none if that is not known yet."""
        self._is_settled = False

    def feed(self, words: str) -> str:
        """Take the next words; returns those that are certain to be new."""
        if self._is_settled:
            return words
        self._held += words
        if self._needed is None:
            # The last token may still grow.
            beginning = self._held[:OPENING]
            self._look([token.text for token in _tokens(beginning) if token.end < len(beginning)])
        return self._settle() if self._needed is not None and len(self._held) >= self._needed else ""

    def finish(self) -> str:
        """End the continuation; return the rest of what is new, once."""
        if self._is_settled:
            return ""
        texts = [token.text for token in _tokens(self._held)]
        if self._needed is None:
            self._look(texts)
        is_inside = any(self._texts[place : place + len(texts)] == texts for place in self._places)
        if is_inside and _distinct(texts) >= LEAST_OF_RESTART and self._overlap() is None:
            self._held = ""
        return self._settle()

    def _look(self, opening: Sequence[str]) -> None:
        """Look where the text may be repeated by a continuation that opens like this, and how much of it decides."""
        places = [place for place in self._places if opening and self._may_repeat(place, opening)]
        if len(self._held) >= OPENING or (opening and not places):
            self._places = places
            starts = (self._tokens[place].start for place in places)
            self._needed = max((len(self._before) - start + SLACK for start in starts), default=0)

    def _may_repeat(self, place: int, opening: Sequence[str]) -> bool:
        tail = self._texts[place : place + len(opening) + 1]
        if len(tail) > len(opening):
            return tail[:-1] == opening
        *whole, last = tail
        return opening[: len(whole)] == whole and opening[len(whole)].startswith(last)

    def _settle(self) -> str:
        self._is_settled = True
        end = self._overlap()
        rest = self._held[end or 0 :]
        body = rest.lstrip()
        gap = rest[: len(rest) - len(body)]
        there = self._before[len(self._before.rstrip()) :]
        if there or not self._before:
            return (gap.removeprefix(there) if self._before and gap.startswith(there) else "") + body
        return rest if gap or end is not None else _missing_gap(self._before, body) + body

    def _overlap(self) -> int | None:
        """Return where the longest repetition of the end of the text ends in the continuation."""
        tokens = [*_tokens(self._held)]
        texts = [token.text for token in tokens]
        for place in self._places:
            *whole, last = self._texts[place:]
            if len(whole) < len(texts) and texts[: len(whole)] == whole:
                token = tokens[len(whole)]
                if token.text.startswith(last) and self._counts(place, is_longer=token.text != last):
                    return token.start + len(last)
        return None

    def _counts(self, place: int, *, is_longer: bool) -> bool:
        """Whether the tokens from this one on are repeated on purpose, and not by chance."""
        repeated, before = self._texts[place:], self._before
        start = self._tokens[place].start
        if is_longer and before[-1:].isspace():
            return False
        if is_longer and len(repeated) == 1:
            return len(repeated[0]) > 1 and not self._held[:1].isspace()
        return _distinct(repeated) >= LEAST_WORDS or repeated[0] == "[" or before[start - 1 : start] in ("", "\n")


def join_continuation(before: str, after: str) -> str:
    """Return the text with its continuation."""
    continuation = Continuation(before)
    return before + continuation.feed(after) + continuation.finish()


def _missing_gap(before: str, body: str) -> str:
    """Return what belongs between a text and a continuation that repeats nothing and begins without a space."""
    if _HEADING.match(body):
        return "\n\n"
    if _ITEM.match(body) and before[-1] in ".!?])|":
        return "\n"
    is_number = bool(_OPEN_NUMBER.search(before)) and body[:1].isdigit()
    return " " if _ENDED.search(before) and _WORD.match(body) and not is_number else ""


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tokens, but for dots at the beginning."""
    start = len(text) - len(text.lstrip(" \t\n.…"))
    return (Token(match[0].casefold(), *match.span()) for match in _TOKEN.finditer(text, start))


def _distinct(texts: Sequence[str]) -> int:
    return len({text for text in texts if text[0].isalnum()})
