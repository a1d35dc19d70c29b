"""The parts of a long text that are shown."""

from __future__ import annotations

from ..core.evidence.checking.source_text import Windows

CUT = "[…]"


def passages(text: str, wanted: str, excerpt: str, characters: int, *, has_places: bool = True) -> str:
    """Return at most about so many characters of `text`: its first lines, what a search showed, what bears most on what
    is wanted, and as much as there is room for from its head on.

    Each passage behind a cut begins with its place, `[… 12000]`; with `[…]` where places are not wanted.
    """
    if len(text) <= characters:
        return text
    windows = Windows(text)
    best = windows.best(f"{wanted} {excerpt}", len(windows.windows))
    chosen, room = set[int](), characters
    everything = range(len(windows.windows))
    for number in (*everything[:1], *windows.best(excerpt, 1), *best, *everything):
        one = windows.windows[number]
        length = one.end - one.start + len(one.head)
        if number not in chosen and length <= room:
            chosen.add(number)
            room -= length
    if not chosen:
        return shortened(text, characters)
    runs = windows.runs(chosen)
    mark = "[… {}]" if has_places else CUT
    parts = "\n".join(f"{mark.format(start)} {words}" if start else words for start, words in runs)
    return parts if max(chosen) == len(windows.windows) - 1 else f"{parts}\n{CUT}"


def read_on(text: str, start: int, characters: int) -> str:
    """Return at most this many characters of `text` from a place on; cuts are marked."""
    part = text[start : start + characters]
    after = f" {CUT}" if start + characters < len(text) else ""
    return f"[… {start}] {part}{after}" if start else f"{part}{after}"


def shortened(text: str, characters: int) -> str:
    """Return at most so many characters of `text` from its head on; a cut is marked."""
    return text if len(text) <= characters else f"{text[: characters - len(CUT) - 1]} {CUT}"
