"""What stands between the two halves of a text that was cut off and continued."""

from __future__ import annotations

import re
from collections.abc import Container

DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of scripts that set no spaces between words."""
_LAST_WORD = re.compile(rf"[^\W_{DENSE}]+$")
_FIRST_WORD = re.compile(rf"[^\W_{DENSE}]+")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?P<mark>[-*+|])\s|\d{1,3}[.)]\s")
_ENDED = re.compile(r"[.!?\])|]$")
_CLOSED = re.compile(r"[\]),;:!?%]$")


def spaced(before: str, after: str, known: Container[str]) -> str:
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
