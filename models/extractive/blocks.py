"""The paragraphs, the items of lists and the records that a text consists of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ...evidence.inflection.wording import sought_words
from ...evidence.months import month_names

_QUOTED = re.compile(r"^(?!\s*>>>)(?:\s*>)+")
_ITEM = re.compile(r"^\s*(?:[-*+•]|(?P<number>\d{1,3})[.)])\s+")
_HEADING = re.compile(r"^\s*#{1,6}\s+(.*?)\s*$")
_NO_PROSE = re.compile(r"^\s*(?:#{1,6}\s|[-=*_]{3,}\s*$|\||>>>|\.\.\.\s)")
_FIELD = re.compile(r"^\s*[^\W_][^:|]{0,40}:\s+\S")
_EMPHASIS = re.compile(r"(?<![\w*])[*_]++(?=\S)|(?<=[^\s*_])[*_]++(?!\w)")
_SENTENCE_ENDS = re.compile(r"[.!?。！？]\W*$")
_LINE_ENDS = re.compile(r"[.!?:;。！？：；]\W*$")
# Only German writes a full stop behind a day, and what is short for a month elsewhere ("set", "out") begins items.
_MONTHS = month_names(["de"], ["de"])
LAST = 20
"""Characters of a line that tell how it ends: a line may be nothing but dots."""
Kind = Literal["paragraph", "item", "numbered item"]


class Block(NamedTuple):
    """Lines that belong together, white space as single spaces."""

    lines: tuple[str, ...]
    kind: Kind = "paragraph"
    heading: str = ""
    """The heading above it, without emphasis."""
    lead: str = ""
    """Of an item the paragraph that leads in its list, without emphasis."""

    @property
    def text(self) -> str:
        """All lines as one."""
        return " ".join(self.lines)

    @property
    def is_record(self) -> bool:
        """Whether each line is a field with its value, and they are no sentences."""
        has_fields = self.kind == "paragraph" and all(map(_FIELD.match, self.lines))
        return has_fields and not all(_SENTENCE_ENDS.search(line[-LAST:]) for line in self.lines)


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text in their order; headings and tables are none, and what leads in a list ends at them."""
    lead = ""
    for block in _cut(text):
        if block.kind == "paragraph":
            plain = _EMPHASIS.sub("", block.text)
            lead = plain if plain.endswith((":", "：")) else ""
        if block.text:
            yield block._replace(lead="" if block.kind == "paragraph" else lead)


def _cut(text: str) -> Iterator[Block]:
    """The blocks, and one without lines in the place of each heading and each line of a table."""
    current, heading, last = Block(()), "", 0
    for line in _unquoted(text):
        mark = _ITEM.match(line)
        if not line.strip() or _NO_PROSE.match(line):
            yield from [current] if current.lines else []
            if found := _HEADING.match(line):
                heading, last = _EMPHASIS.sub("", found.group(1)), 0
            current = Block((), heading=heading)
            yield from [current] if line.strip() else []
        elif mark and not _goes_on(current, last, int(mark.group("number") or 0), line[mark.end() :]):
            yield from [current] if current.lines else []
            last = int(mark.group("number") or last)
            kind: Kind = "numbered item" if mark.group("number") else "item"
            current = Block((_plain(line[mark.end() :]),), kind, heading)
        else:
            current = current._replace(lines=(*current.lines, _plain(line)))
    yield from [current] if current.lines else []


def _unquoted(text: str) -> Iterator[str]:
    """The lines without the marks of quotations, and an empty one where somebody else's words begin."""
    depth = 0
    for line in text.splitlines():
        mark = _QUOTED.match(line)
        before, depth = depth, mark.group().count(">") if mark else 0
        yield from [""] if depth != before else []
        yield line[mark.end() :] if mark else line


def _goes_on(current: Block, last: int, number: int, rest: str) -> bool:
    """Whether a line that begins with a number goes on with the sentence before, as in "am / 3. Mai".

    `last` is the number of the last item; one that follows it, and a first one, begin an item.
    """
    if not number or not current.lines:
        return False
    is_day = any(word in _MONTHS for word in sought_words(rest[:LAST])[:1])
    if number == 1:
        return is_day
    is_open = current.kind != "numbered item" and not _LINE_ENDS.search(current.lines[-1][-LAST:])
    return number != last + 1 and (is_day or is_open)


def _plain(line: str) -> str:
    return " ".join(line.split())
