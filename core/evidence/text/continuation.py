"""Joins a text that was cut off with its continuation, of which what repeats the end of the text is dropped."""

from __future__ import annotations

import re

_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of scripts that set no spaces between words."""
_WORD = re.compile(rf"[{_DENSE}]|[^\W_{_DENSE}]+")
_TOKEN = re.compile(rf"[{_DENSE}]|[^\W{_DENSE}]+|[^\w\s]")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:[-*+|]|\d{1,3}[.)])\s")
_ENDED = re.compile(rf"[^\W_{_DENSE}]$|[.…!?,;:)\]%]$")
_OPEN_NUMBER = re.compile(r"\d[.,]?$")
HELD = 400
"""Characters of a continuation that may repeat the end of the text, and are held back until it is known whether so."""
LEAST_WORDS = 3
"""Different words that must be repeated for it to be an overlap and not a turn of phrase."""


class Continuation:
    """Takes the stream of a continuation and passes on what is new, however the stream is cut."""

    def __init__(self, before: str) -> None:
        """Take the text so far."""
        self._before = before
        self._held: str | None = "" if before.strip() else None
        """The beginning, until it is known how much of it repeats the end of the text."""
        self._is_first = not before

    def feed(self, words: str) -> str:
        """Take the next words; returns those that are certain to be new."""
        if self._is_first:
            words = words.lstrip()
            self._is_first = not words
        if self._held is None:
            return words
        self._held += words
        return self.finish() if len(self._held) >= HELD else ""

    def finish(self) -> str:
        """End the continuation; return the rest of what is new, once."""
        held, self._held = self._held, None
        return _new_words(self._before, held) if held else ""


def join_continuation(before: str, after: str) -> str:
    """Return the text with its continuation."""
    continuation = Continuation(before)
    return before + continuation.feed(after) + continuation.finish()


def _new_words(before: str, after: str) -> str:
    """Return what a continuation adds to a text, with the gap that belongs between them."""
    end = _overlap(before, after[:HELD])
    rest = after[end or 0 :]
    body = rest.lstrip()
    gap, there = rest[: len(rest) - len(body)], before[len(before.rstrip()) :]
    if there:
        return (gap.removeprefix(there) if gap.startswith(there) else "") + body
    return rest if gap or end is not None else _missing_gap(before, body) + body


def _overlap(before: str, after: str) -> int | None:
    """Return where the longest repetition of the end of the text ends in the continuation; none if there is none."""
    start = len(after) - len(after.lstrip(" \t\n.…"))
    for token in _TOKEN.finditer(before, max(0, len(before) - HELD)):
        tail = before[token.start() :]
        found = re.compile(r"\s+".join(map(re.escape, tail.split())), re.IGNORECASE).match(after, start)
        if found and _is_meant(before, token.start(), after, found.end()):
            return found.end()
    return None


def _is_meant(before: str, start: int, after: str, end: int) -> bool:
    """Whether the text from `start` on, which the continuation says up to `end`, is repeated on purpose."""
    tail, words = before[start:], _WORD.findall(before[start:].casefold())
    if after[end : end + 1].isalnum() and tail[-1].isspace():
        return False
    if after[end : end + 1].isalnum() and len(words) == 1 and tail.isalnum():
        # A word that was cut in two.
        return len(tail) > 1 and not after[:1].isspace()
    return len({*words}) >= LEAST_WORDS or tail[0] == "[" or before[:start][-1:] in ("", "\n")


def _missing_gap(before: str, body: str) -> str:
    """Return what belongs between a text and a continuation that repeats nothing and begins without a space."""
    if _HEADING.match(body):
        return "\n\n"
    if _ITEM.match(body) and before[-1] in ".!?])|":
        return "\n"
    is_number = bool(_OPEN_NUMBER.search(before)) and body[:1].isdigit()
    return " " if _ENDED.search(before) and re.match(rf"[^\W_{_DENSE}]", body) and not is_number else ""
