"""Finds the title that a model writes above its report."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..evidence.citations.markers import code_lines

_TITLE = re.compile(
    r"\s*^ {0,3}(?:#[ \t]+(?P<words>\S.*?)[ \t]*#*|(?P<underlined>[^\s#>|*+-].*)\n {0,3}=+)[ \t]*$",
    re.MULTILINE,
)
"""Matches a text that begins with a heading of the first level."""
_SECTION = re.compile(r" {0,3}(?:#[ \t]|=+[ \t]*$)")
"""Matches a line that is, or underlines, a heading of the first level."""
_MARKUP = re.compile(r"\*\*?|__|`|\s*\[\d+(?:[,;-]\s?\d+)*\]|\\(?=\W|_)")
"""Matches emphasis, citations and escapes in a heading."""


class Titled(NamedTuple):
    """A text divided into its title and the rest."""

    title: str
    """Empty if the text has none."""
    body: str


def split_title(text: str) -> Titled:
    """Divide a model's text into its title and the text below it.

    The title is a heading of the first level that begins the text, if no other heading has this
    level: otherwise it belongs to a section.
    """
    heading = _TITLE.match(text)
    if heading is None:
        return Titled("", text)
    body = text[heading.end() :].lstrip("\n")
    lines = body.split("\n")
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if _SECTION.match(line) and not is_code:
            return Titled("", text)
    title = without_markup(heading["words"] or heading["underlined"])
    if not title or not body.strip():
        return Titled("", text)
    return Titled(title, body)


def without_markup(heading: str) -> str:
    """Return the words of a heading without emphasis, citations and escapes."""
    return _MARKUP.sub("", heading).strip()


def may_begin_with_title(text: str) -> bool:
    """Whether the beginning of a text is, or may become, a heading of the first level."""
    first_line, _, rest = text.lstrip().partition("\n")
    if first_line[:2] in ("", "#"):
        return True
    return first_line.startswith("# ") and not rest.strip()
