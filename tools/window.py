"""Selects the parts of a long text that a model is shown."""

from __future__ import annotations

import re
from itertools import islice

from ..core.evidence.checking.source_text import Windows

CUT = "[…]"
"""Marks where a text was cut."""
_MARK = len(CUT) + 1
_MOST_STRETCHES = 3
"""Maximum number of parts of an excerpt to look for, the longest first."""
_WORD = re.compile(r"\S+")
_OMISSION = re.compile(r"\[…(?: \d+)?\]|…|\.{3,}")


def passages(text: str, wanted: str, excerpt: str, characters: int, *, has_offsets: bool = True) -> str:
    """Return about `characters` of `text`: its beginning, the search `excerpt`, passages on the topic `wanted`, others.

    Each passage after a cut starts with its offset, `[… 12000]`, or with `[…]` if not `has_offsets`.
    """
    if len(text) <= characters:
        return text
    windows = Windows(text)
    start, length = _find(text, excerpt) if excerpt else (0, 0)
    spans = enumerate(windows.windows)
    shown = [number for number, span in spans if span.start < start + length and start < span.end]
    best = windows.best(f"{wanted} {excerpt}", len(windows.windows))
    chosen, room = set[int](), characters
    everything = range(len(windows.windows))
    for number in (*everything[:1], *shown, *best, *everything):
        span = windows.windows[number]
        length = span.end - span.start + len(span.head)
        if number not in chosen and length <= room:
            chosen.add(number)
            room -= length
    if not chosen:
        return window(text, excerpt, characters)
    mark = "[… {}]" if has_offsets else CUT
    joined = windows.joined(chosen)
    parts = "\n".join(f"{mark.format(start)} {words}" if start else words for start, words in joined)
    return parts if max(chosen) == len(windows.windows) - 1 else f"{parts}\n{CUT}"


def read_on(text: str, start: int, characters: int) -> str:
    """Return at most this many characters of `text` from offset `start` on; cuts are marked."""
    part = text[start : start + characters]
    after = f" {CUT}" if start + characters < len(text) else ""
    return f"[… {start}] {part}{after}" if start else f"{part}{after}"


def window(text: str, excerpt: str, characters: int) -> str:
    """Return at most this many characters of `text` around `excerpt`, or from its head; cuts are marked."""
    if len(text) <= characters:
        return text
    found, length = _find(text, excerpt)
    room = characters - 2 * _MARK
    start = max(0, min(found + length // 2 - room // 2, len(text) - room))
    part = text[start : start + room]
    before = f"{CUT} " if start else ""
    after = f" {CUT}" if start + room < len(text) else ""
    return f"{before}{part}{after}"


def _find(text: str, excerpt: str) -> tuple[int, int]:
    """Return offset and length of the excerpt in the text, (0, 0) if not found; engines mark omissions with dots."""
    stretches = sorted((stretch.split() for stretch in _OMISSION.split(excerpt)), key=len, reverse=True)
    plain = " ".join(text.split())
    # Engines change spaces and cut ends, so only words are compared (the first ones of long stretches).
    # Few stretches and no regular expression: both texts are untrusted and could be crafted to take forever.
    for count in (len(excerpt), 12, 6):
        for words in filter(None, stretches[:_MOST_STRETCHES]):
            wanted = " ".join(words[:count])
            found = plain.find(wanted)
            if found >= 0:
                start, last = (_offset_in(text, plain, end) for end in (found, found + len(wanted) - 1))
                return start, last + 1 - start
    return 0, 0


def _offset_in(text: str, plain: str, offset: int) -> int:
    """Return the offset in `text` of the character at `offset` in `plain`, the text with single spaces."""
    word = next(islice(_WORD.finditer(text), plain.count(" ", 0, offset), None))
    return word.start() + offset - plain.rfind(" ", 0, offset) - 1
