"""The lines of a page, as they are printed, to paragraphs."""

from __future__ import annotations

import re
from itertools import pairwise

SHORT_LINE = 0.6
"""Share of the width of a page up to which a line surely ends its paragraph."""
ROOM = 0.85
"""The same for a line and the word that follows, which begins no sentence in small letters."""

_MARKER = re.compile(r"(?:\d{1,2}[.)]|\d{1,2}\.\d{1,2}\.?|\([a-z\d]{1,2}\)|[•▪‣◦·\x7f\ue000-\uf8ff])\s+[^\W\d_]")
"""What stands before an item, a section or its title."""
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile(f"[{''.join(_LIGATURES)}]")


def paragraphs(page: str) -> str:
    """Return the lines of a page as paragraphs."""
    lines = [line.strip() for line in _LIGATURE.sub(lambda found: _LIGATURES[found.group()], page).splitlines()]
    width = max(map(len, lines), default=0)
    text = ""
    for line, following in pairwise([*lines, ""]):
        text += line + ("\n\n" if _ends_paragraph(line, following, width) else "\n")
    text = re.sub(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).strip()


def _ends_paragraph(line: str, following: str, width: int) -> bool:
    """Whether a line is the last of its paragraph: the word that follows would still have had room, or is a marker."""
    if not line or not following or len(line) < SHORT_LINE * width:
        return True
    if _MARKER.match(following):
        return True
    has_room = len(line) + len(following.split()[0]) < ROOM * width
    return has_room and not following[0].islower()
