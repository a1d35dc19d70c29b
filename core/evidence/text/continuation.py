"""Joins a text that was cut off with its continuation; what was written twice is dropped."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from .words import STOP_WORDS

DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of scripts that set no spaces between words."""
_LAST_WORD = re.compile(rf"[^\W_{DENSE}]+$")
_FIRST_WORD = re.compile(rf"[^\W_{DENSE}]+")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?P<mark>[-*+|])\s|\d{1,3}[.)]\s")
_ENDED = re.compile(r"[.!?\])|]$")
_CLOSED = re.compile(r"[\]),;:!?%]$")
LEAST_WORDS = 3
"""Different words that must be repeated for it to be an overlap and not a turn of phrase."""
LEAST_OF_LINE = 2
"""The same where the repetition begins with a line, or completes a word that was cut off."""
LEAST_OF_RESTART = 8
"""Different words from which on a continuation is dropped that repeats the text and never reaches its end."""
_TOKEN = re.compile(rf"[{DENSE}]|[^\W{DENSE}]+|[^\w\s]")
_LINE_MARK = re.compile(r"[\s#>*+\-]*")
_CUT_MARKER = re.compile(r"\[[\d, ]*")


def with_gap(before: str, after: str, known: Container[str]) -> str:
    """Return the second half with the space or line break that belongs between it and the first.

    `known` are the words that may occur, in lower case: they decide whether a word was cut in two or a space was lost.
    """
    if not before:
        return after.lstrip()
    body = after.lstrip()
    gap = after[: len(after) - len(body)]
    if before[-1].isspace():
        return _without_double_gap(before, gap) + body
    if gap:
        return body if gap == " " and _is_one_word(before, body, known) else after
    return _missing_gap(before, body, known) + body


def _without_double_gap(before: str, gap: str) -> str:
    if "\n" not in gap:
        return gap if before.endswith("\n") else ""
    there = len(before) - len(before.rstrip("\n"))
    breaks, indent = gap.count("\n"), gap[gap.rindex("\n") + 1 :]
    return "\n" * max(0, min(breaks, 2 - there)) + indent


def _is_one_word(before: str, body: str, known: Container[str]) -> bool:
    """Whether a word was cut in two, although the continuation begins with a space."""
    one, other = _halves(before, body)
    return bool(one and other) and one + other in known and not (one in known and other in known)


def _missing_gap(before: str, body: str, known: Container[str]) -> str:
    if _HEADING.match(body):
        return "\n\n"
    line = before[before.rfind("\n") + 1 :].lstrip()
    if _ITEM.match(body) and _ITEM.match(line) and _ENDED.search(before):
        return "\n"
    one, other = _halves(before, body)
    if one and other:
        return " " if _are_two_words(one, other, body, known) else ""
    is_opened = bool(other) and not other[0].isdigit()
    is_ended = before[-1] in ".…" and body[:1].isupper()
    return " " if is_opened and (is_ended or _CLOSED.search(before)) else ""


def _are_two_words(one: str, other: str, body: str, known: Container[str]) -> bool:
    if one + other in known or (one.isdigit() and other.isdigit()):
        return False
    is_new_kind = one.isdigit() is not other[0].isdigit() or body[0].isupper()
    return one in known and (other in known or is_new_kind)


def _halves(before: str, body: str) -> tuple[str, str]:
    """Return the last word of the one and the first of the other in lower case; empty where there is none."""
    last, first = _LAST_WORD.search(before[-100:]), _FIRST_WORD.match(body)
    return (last[0].casefold() if last else "", first[0].casefold() if first else "")


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

    def __init__(self, before: str, known: Collection[str] = frozenset()) -> None:
        """Take the text so far, and the words of what it is about (see `words_in`)."""
        self._before = before
        self._tokens = list(_tokens(before))
        self._texts = [token.text for token in self._tokens]
        self._known = {*self._texts[:-1], *known, *STOP_WORDS}
        self._held = ""
        self._is_settled = False

    def feed(self, words: str) -> str:
        """Take the next words; returns those that are certain to be new."""
        if self._is_settled:
            return words
        self._held += words
        # The last token may still grow.
        tokens = [token for token in _tokens(self._held) if token.end < len(self._held)]
        return "" if any(self._repeats(_opening(tokens))) or not tokens else self._settle(tokens)

    def finish(self) -> str:
        """End the continuation; return the rest of what is new, once."""
        if self._is_settled:
            return ""
        tokens = list(_tokens(self._held))
        opening = _opening(tokens)
        is_restart = any(self._repeats(opening)) and _weight(opening) >= LEAST_OF_RESTART
        if is_restart and not self._overlaps(opening):
            self._held = ""
        return self._settle(tokens)

    def _repeats(self, opening: Sequence[Token]) -> Iterator[bool]:
        """Yield for each place of the text whether these tokens stand there, before the last one of the text."""
        texts = [token.text for token in opening]
        return (self._texts[first : first + len(texts)] == texts for first in range(len(self._texts) - len(texts)))

    def _settle(self, tokens: Sequence[Token]) -> str:
        self._is_settled = True
        end = max(self._overlaps(_opening(tokens)), default=0)
        return with_gap(self._before, self._held[end:], self._known) if self._held else ""

    def _overlaps(self, opening: Sequence[Token]) -> list[int]:
        """Return where the repetitions of the end of the text end in the continuation."""
        texts, found = [token.text for token in opening], list[int]()
        for first in range(max(0, len(self._texts) - len(texts)), len(self._texts)):
            *whole, last = self._texts[first:]
            token = opening[len(whole)]
            is_longer = token.text != last
            is_cut = is_longer and token.text.startswith(last) and last[-1].isalnum() and self._is_open
            end = token.start + len(last)
            if texts[: len(whole)] == whole and (is_cut or not is_longer) and self._counts(first, end, is_longer):
                found.append(end)
        return found

    @property
    def _is_open(self) -> bool:
        return bool(self._before) and not self._before[-1].isspace()

    def _counts(self, first: int, end: int, is_longer: bool) -> bool:
        """Whether the tokens from this one on are repeated on purpose, and not by chance."""
        repeated, before = self._tokens[first:], self._before
        if _CUT_MARKER.fullmatch(before, repeated[0].start):
            return True
        if len(repeated) == 1 and is_longer:
            return self._is_half()
        start = before.rfind("\n", 0, repeated[0].start) + 1
        begins_line = bool(_LINE_MARK.fullmatch(before, start, repeated[0].start))
        if begins_line and _HEADING.match(before, start) and self._held[end:].startswith("\n"):
            return True
        crosses_lines = "\n" in before[repeated[0].start : repeated[-1].start]
        if crosses_lines and "|" not in self._texts[first:] and _weight(repeated) >= 1:
            return True
        return _weight(repeated) + is_longer >= (LEAST_OF_LINE if begins_line or is_longer else LEAST_WORDS)

    def _is_half(self) -> bool:
        """Whether the last word of the text is none without what the continuation adds to it."""
        last, word = self._texts[-1], next(_tokens(self._held)).text
        is_known = last in self._known or last + word in self._known
        return not is_known and not self._held[0].isspace() and (len(last) > 1 or last.isalpha())


def join_continuation(before: str, after: str, known: Collection[str] = frozenset()) -> str:
    """Return the text with its continuation."""
    continuation = Continuation(before, known)
    return before + continuation.feed(after) + continuation.finish()


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of these texts in lower case."""
    return frozenset(token.text for text in texts for token in _tokens(text) if token.text[0].isalnum())


def _tokens(text: str) -> Iterator[Token]:
    return (Token(match[0].casefold(), *match.span()) for match in _TOKEN.finditer(text))


def _opening(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens without the dots that a continuation may begin with."""
    dots = list(takewhile(lambda token: token.text in (".", "…"), tokens))
    return tokens[len(dots) :]


def _weight(tokens: Iterable[Token]) -> float:
    """Count the different words; a character of a script without spaces is half of one."""
    words = {token.text for token in tokens if any(map(str.isalpha, token.text))}
    return sum(0.5 if re.fullmatch(f"[{DENSE}]", word) else 1 for word in words)
