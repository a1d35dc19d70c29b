"""Joins a text that was cut off with its continuation; what was written twice is dropped."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator
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


def with_gap(before: str, after: str, known: Container[str]) -> str:
    """The second half with the space, or the line break, that belongs between it and the first.

    `known` holds the words that may occur, without capitals: with these, halves of a word are told from words whose
    space was lost.
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
    """Whether a word was cut in two halves that are no words, though a space stands between them."""
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
    """The last word of the one and the first of the other, without capitals, where these touch; else empty."""
    last, first = _LAST_WORD.search(before[-100:]), _FIRST_WORD.match(body)
    return (last[0].casefold() if last else "", first[0].casefold() if first else "")


LEAST_WORDS = 3
"""Different words that have to be repeated for it to be an overlap, and no turn of phrase."""
LEAST_WHERE_LIKELY = 2
"""The same, where the repetition begins with a line, or completes a word that was cut off."""
LEAST_BEYOND_LINE = 1
"""The same, where the repetition goes from one line into the next, and not in a table."""
LEAST_OF_RESTART = 8
"""Different words from which on a continuation is void that only repeats, and never comes to where the text stopped."""
_TOKEN = re.compile(rf"[{DENSE}]|[^\W{DENSE}]+|[^\w\s]")
_OPENING_HEADING = re.compile(r"\s*#{1,6}\s+\S")
_LINE_MARK = re.compile(r"[\s#>*+\-]*")
_CUT_MARKER = re.compile(r"\[[\d, ]*")


class Token(NamedTuple):
    """A word, a character of a script without spaces, or a sign."""

    text: str
    """Without capitals."""
    start: int
    end: int


class Overlap(NamedTuple):
    """How far a continuation repeats the end of the text."""

    first: int
    """The token of the text that it begins with."""
    end: int
    """Characters of the continuation that repeat."""
    is_word_longer: bool
    """Whether the word that it ends in was cut off, and goes on."""


class Continuation:
    """Takes the stream of one continuation and passes on what is new; the result does not depend on how it was cut.

    Its beginning is held back until it is certain how much of it stands there already.
    """

    def __init__(self, before: str, known: Collection[str] = frozenset()) -> None:
        """`before` is the text so far; `known` are words of what it is about (see `words_in`)."""
        self._before = before
        self._tokens = list(_tokens(before))
        self._known = {*(token.text for token in self._tokens[:-1]), *known, *STOP_WORDS}
        self._is_open = bool(before) and not before[-1].isspace()
        self._held = ""
        self._read, self._count = 0, 0
        self._alive = list(range(len(self._tokens)))
        self._overlaps: list[Overlap] = []
        self._is_settled = False

    def feed(self, words: str) -> str:
        """Take the next words; returns those that are certain to be new."""
        if self._is_settled:
            return words
        self._held += words
        for token in list(_tokens(self._held, self._read)):
            # The last one may still grow.
            if token.end == len(self._held):
                break
            self._take(token)
            if not self._alive:
                return self._settle()
        return ""

    def finish(self) -> str:
        """No more words come; returns the rest of what is new, once."""
        if self._is_settled:
            return ""
        for token in list(_tokens(self._held, self._read)):
            self._take(token)
        is_void = bool(self._alive) and self._count >= LEAST_OF_RESTART and not self._overlaps
        if is_void and _weight(self._tokens[self._alive[0] :][: self._count]) >= LEAST_OF_RESTART:
            self._held = ""
        return self._settle()

    def _take(self, token: Token) -> None:
        self._read = token.end
        if not self._count and token.text in (".", "…"):
            return
        place, last, alive = self._count, len(self._tokens) - 1, list[int]()
        for first in self._alive:
            if first + place < last and self._tokens[first + place].text == token.text:
                alive.append(first)
            elif first + place == last and self._is_last(token.text):
                length = len(self._tokens[last].text)
                self._overlaps.append(Overlap(first, token.start + length, len(token.text) > length))
        self._alive, self._count = alive, place + 1

    def _is_last(self, text: str) -> bool:
        """Whether this is the text's last word; that may have been cut off."""
        last = self._tokens[-1].text
        return text == last or (self._is_open and last[-1].isalnum() and text.startswith(last))

    def _settle(self) -> str:
        self._is_settled = True
        ends = [overlap.end for overlap in self._overlaps if self._counts(overlap)]
        return with_gap(self._before, self._held[max(ends, default=0) :], self._known) if self._held else ""

    def _counts(self, overlap: Overlap) -> bool:
        """Whether this is no chance."""
        repeated, before = self._tokens[overlap.first :], self._before
        if _CUT_MARKER.fullmatch(before, repeated[0].start):
            return True
        if len(repeated) == 1 and overlap.is_word_longer:
            return self._is_half()
        start = before.rfind("\n", 0, repeated[0].start) + 1
        begins_line = bool(_LINE_MARK.fullmatch(before, start, repeated[0].start))
        least = LEAST_WHERE_LIKELY if begins_line or overlap.is_word_longer else LEAST_WORDS
        if "\n" in before[repeated[0].start : repeated[-1].start] and all(token.text != "|" for token in repeated):
            least = LEAST_BEYOND_LINE
        if _weight(repeated) + overlap.is_word_longer >= least:
            return True
        is_heading = begins_line and bool(_OPENING_HEADING.match(before, start))
        return is_heading and self._held[overlap.end :].startswith("\n")

    def _is_half(self) -> bool:
        """Whether the text's last word is none without what the continuation adds to it."""
        last, word = self._tokens[-1].text, next(_tokens(self._held)).text
        is_known = last in self._known or last + word in self._known
        return not is_known and not self._held[0].isspace() and (len(last) > 1 or last.isalpha())


def join_continuation(before: str, after: str, known: Collection[str] = frozenset()) -> str:
    """The text with its continuation."""
    seam = Continuation(before, known)
    return before + seam.feed(after) + seam.finish()


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """The words of these texts, without capitals."""
    return frozenset(token.text for text in texts for token in _tokens(text) if token.text[0].isalnum())


def _tokens(text: str, start: int = 0) -> Iterator[Token]:
    return (Token(match[0].casefold(), *match.span()) for match in _TOKEN.finditer(text, start))


def _weight(tokens: Iterable[Token]) -> float:
    """Different words among the tokens; a character of a script without spaces is half of one."""
    words = {token.text for token in tokens if any(map(str.isalpha, token.text))}
    return sum(0.5 if re.fullmatch(f"[{DENSE}]", word) else 1 for word in words)
