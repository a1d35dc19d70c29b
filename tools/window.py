"""The part of a long text that is shown."""

from __future__ import annotations

import re
from itertools import islice

CUT = "[…]"
MARK = len(CUT) + 1

MOST_STRETCHES = 3

_WORD = re.compile(r"\S+")
_LEFT_OUT = re.compile(r"\[…\]|…|\.{3,}")


def window(text: str, excerpt: str, characters: int) -> str:
    """At most this many characters of `text` around `excerpt`, from its head if that is not in it; cuts are marked."""
    if len(text) <= characters:
        return text
    place, length = _find(text, excerpt)
    room = characters - 2 * MARK
    start = max(0, min(place + length // 2 - room // 2, len(text) - room))
    part = text[start : start + room]
    before = f"{CUT} " if start else ""
    after = f" {CUT}" if start + room < len(text) else ""
    return f"{before}{part}{after}"


def _find(text: str, excerpt: str) -> tuple[int, int]:
    """Where the excerpt stands in the text, and its length; search engines put dots where they left something out."""
    stretches = sorted((stretch.split() for stretch in _LEFT_OUT.split(excerpt)), key=len, reverse=True)
    plain = " ".join(text.split())
    # Search engines mend spaces and cut ends, so the words count, and of a long stretch its first ones.
    # Few stretches, and no regular expression: both texts are strangers' words, and may be made to take for ever.
    for count in (len(excerpt), 12, 6):
        for words in filter(None, stretches[:MOST_STRETCHES]):
            wanted = " ".join(words[:count])
            place = plain.find(wanted)
            if place >= 0:
                start, last = (_place_in(text, plain, end) for end in (place, place + len(wanted) - 1))
                return start, last + 1 - start
    return 0, 0


def _place_in(text: str, plain: str, place: int) -> int:
    """Where the character stands in the text that stands here in the text with single spaces."""
    word = next(islice(_WORD.finditer(text), plain.count(" ", 0, place), None))
    return word.start() + place - plain.rfind(" ", 0, place) - 1
