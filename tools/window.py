"""The part of a long text that is shown."""

from __future__ import annotations

import re

CUT = "[…]"
MARK = len(CUT) + 1

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
    # Search engines mend spaces and cut ends, so the words count, and of a long stretch its first ones.
    for count in (len(excerpt), 12, 6):
        for words in filter(None, stretches):
            found = re.search(r"\s+".join(map(re.escape, words[:count])), text)
            if found:
                return found.start(), found.end() - found.start()
    return 0, 0
