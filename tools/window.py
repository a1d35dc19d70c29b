"""The parts of a long text that are shown."""

from __future__ import annotations

import re
from itertools import islice

from ..core.evidence.checking.source_text import Windows

CUT = "[…]"
MARK = len(CUT) + 1

MOST_STRETCHES = 3

_WORD = re.compile(r"\S+")
_LEFT_OUT = re.compile(r"\[…(?: \d+)?\]|…|\.{3,}")


def passages(text: str, wanted: str, excerpt: str, characters: int, *, has_places: bool = True) -> str:
    """Return at most about so many characters of `text`: its first lines, what a search showed, what bears most on what
    is wanted, and as much as there is room for from its head on.

    Each passage behind a cut begins with its place, `[… 12000]`; with `[…]` where places are not wanted.
    """
    if len(text) <= characters:
        return text
    windows = Windows(text)
    place, length = _find(text, excerpt) if excerpt else (0, 0)
    shown = [n for n, one in enumerate(windows.windows) if one.start < place + length and place < one.end]
    best = windows.best(f"{wanted} {excerpt}", len(windows.windows))
    chosen, room = set[int](), characters
    everything = range(len(windows.windows))
    for number in (*everything[:1], *shown, *best, *everything):
        one = windows.windows[number]
        length = one.end - one.start + len(one.head)
        if number not in chosen and length <= room:
            chosen.add(number)
            room -= length
    if not chosen:
        return window(text, excerpt, characters)
    runs = windows.runs(chosen)
    mark = "[… {}]" if has_places else CUT
    parts = "\n".join(f"{mark.format(start)} {words}" if start else words for start, words in runs)
    return parts if max(chosen) == len(windows.windows) - 1 else f"{parts}\n{CUT}"


def read_on(text: str, start: int, characters: int) -> str:
    """Return at most this many characters of `text` from a place on; cuts are marked."""
    part = text[start : start + characters]
    after = f" {CUT}" if start + characters < len(text) else ""
    return f"[… {start}] {part}{after}" if start else f"{part}{after}"


def window(text: str, excerpt: str, characters: int) -> str:
    """Return at most so many characters of `text` around `excerpt`, else from its head; cuts are marked."""
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
    """Return place and length of the excerpt in the text; search engines put dots where they left something out."""
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
    """Return where the character stands in the text that stands here in the text with single spaces."""
    word = next(islice(_WORD.finditer(text), plain.count(" ", 0, place), None))
    return word.start() + place - plain.rfind(" ", 0, place) - 1
