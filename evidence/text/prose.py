"""Splits Markdown into sections and paragraphs, and extracts the writer's own prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..citations.markers import Marker, code_lines, settle_fences
from ..citations.scanner import scan

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?P<words>.*?)\s*#*\s*$")
_NO_PROSE = re.compile(r"\s*(?:[>|]|#{1,6}\s|(?:(?:[-*+]|\d+[.)])\s+)?\[\d+\])")
_CODE = re.compile(r"`+[^`\n]*`+")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\n]*\)")
_QUOTE = re.compile(r"[“”„\"][^“”„\"\n]*[“”\"]|«[^«»\n]*»|»[^«»\n]*«|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》")
_SYMBOL = re.compile(r"\b\w*\d\w*\b|\b\w+[A-Z]\w*\b")
_INNER_WORD = re.compile(r"(?<=[\w,;:]\s)[^\W\d_][\w’'-]*")


class Section(NamedTuple):
    """A part of a Markdown text."""

    start: int
    """Where it begins in the text."""
    text: str
    """As written, with its heading."""
    heading: str
    """Words of its heading; empty before the first one."""

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.start + len(self.text)


def sections_of(markdown: str) -> list[Section]:
    """Return the parts from heading to heading; joined, they are the text."""
    sections, place = [Section(0, "", "")], 0
    for line, is_code in zip(_lines(markdown), code_lines(settle_fences(markdown).split("\n")), strict=True):
        heading = None if is_code else _HEADING.match(line)
        if heading:
            sections.append(Section(place, line, heading["words"]))
        else:
            sections[-1] = sections[-1]._replace(text=sections[-1].text + line)
        place += len(line)
    return [section for section in sections if section.text.strip()]


def paragraphs_of(section: Section) -> Iterator[Section]:
    """Yield its paragraphs, separated by blank lines, as sections of their own."""
    for match in re.finditer(r"(?:[^\n]*\S[^\n]*(?:\n|$))+", section.text):
        yield Section(section.start + match.start(), match[0], section.heading)


def prose_of(markdown: str) -> str:
    """Return the text without headings, code, tables, quotations, links, citations and lists of sources."""
    lines = settle_fences(markdown).split("\n")
    own = (line for line, is_code in zip(lines, code_lines(lines), strict=True) if not is_code)
    return "\n".join(_own_words(line) for line in own if not _NO_PROSE.match(line)).strip()


def without_names(prose: str) -> str:
    """Return the text without words that contain figures or capitals, since names come from any language.

    Words that begin a sentence are kept.
    """
    return _INNER_WORD.sub(lambda word: "" if word[0][0].isupper() else word[0], _SYMBOL.sub("", prose))


def _lines(text: str) -> list[str]:
    return re.split(r"(?<=\n)", text)


def _own_words(line: str) -> str:
    line = _QUOTE.sub(" ", _ADDRESS.sub(" ", _LINK.sub(" ", _CODE.sub(" ", line))))
    return "".join(" " if isinstance(part, Marker) else part for part in scan(line))
